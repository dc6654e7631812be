//! Reads that the API server can only answer by asking the operator.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use kube::Api;
use kube::api::{DynamicObject, ListParams};
use kube::core::Status;
use tokio::task::JoinSet;

use crate::cluster::Cluster;

/// How long the API server may take to fill a cache.
const PATIENCE: Duration = Duration::from_secs(30);

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

    /// How many reads there were, and what was said to those that failed.
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
            Err(kube::Error::Api(status)) if is_filling(&status) && well.elapsed() < PATIENCE => {}
            Err(error) => failures.push(error.to_string()),
        }
        // Load, and still a machine for the others.
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    (reads, failures)
}

/// Whatever changes a definition, the API server fills its cache for lists anew, and tells clients to come back, as they
/// do. It converts for that: without trust it would never end.
fn is_filling(status: &Status) -> bool {
    status.code == 429 && status.message == "storage is (re)initializing"
}
