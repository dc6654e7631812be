//! Reads that the API server can only answer by calling the operator.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use kube::Api;
use kube::api::{DynamicObject, ListParams};
use kube::core::Status;
use tokio::task::JoinSet;

use crate::cluster::Cluster;

/// The time within which the API server has to fill a cache.
const TIMEOUT: Duration = Duration::from_secs(30);

pub(crate) struct Load {
    over: Arc<AtomicBool>,
    readers: JoinSet<(usize, Vec<String>)>,
}

impl Load {
    /// Readers of the version that is not stored, by name and as a list.
    pub(crate) fn start(cluster: &Cluster<'_>) -> Self {
        let over = Arc::new(AtomicBool::new(false));
        let mut readers = JoinSet::new();
        for reader in 0..2 {
            readers.spawn(read(cluster.widgets("v1"), reader == 0, over.clone()));
        }
        Self { over, readers }
    }

    /// The number of reads, and the messages of failed ones.
    pub(crate) async fn end(self) -> (usize, Vec<String>) {
        self.over.store(true, Ordering::Relaxed);
        let all = self.readers.join_all().await;
        let reads = all.iter().map(|(reads, _)| reads).sum();
        (reads, all.into_iter().flat_map(|(_, failures)| failures).collect())
    }
}

async fn read(widgets: Api<DynamicObject>, by_name: bool, over: Arc<AtomicBool>) -> (usize, Vec<String>) {
    let (mut reads, mut failures) = (0, Vec::new());
    let mut well = Instant::now();
    while !over.load(Ordering::Relaxed) {
        let outcome = if by_name {
            widgets.get("one").await.map(|object| vec![object])
        } else {
            widgets.list(&ListParams::default()).await.map(|list| list.items)
        };
        match outcome {
            Ok(objects) if objects.iter().all(|one| one.data["spec"]["address"] == "example.org:8080") => {
                reads += 1;
                well = Instant::now();
            }
            Ok(_) => failures.push("an object that is not converted".to_owned()),
            Err(kube::Error::Api(status)) if is_filling(&status) && well.elapsed() < TIMEOUT => {}
            Err(error) => failures.push(error.to_string()),
        }
        // A pause, so that the load leaves CPU time for other processes.
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    (reads, failures)
}

/// Whether the API server fills its cache for lists again, which follows each change of a definition; clients have to retry. It
/// converts objects for that, so without trust it would never finish.
fn is_filling(status: &Status) -> bool {
    status.code == 429 && status.message == "storage is (re)initializing"
}
