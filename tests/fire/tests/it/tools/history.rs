//! The versions of a configuration, from a watch.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use futures_util::TryStreamExt;
use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use kube::Api;
use kube::api::{WatchEvent, WatchParams};
use tokio::task::JoinHandle;

use super::fixture::bundles;

/// Every version of one configuration since the start of the watch.
pub(crate) struct History {
    versions: Arc<Mutex<Vec<(Instant, MutatingWebhookConfiguration)>>>,
    watch: JoinHandle<()>,
}

impl History {
    pub(crate) fn of(api: Api<MutatingWebhookConfiguration>, name: &str) -> Self {
        let only = WatchParams::default().fields(&format!("metadata.name={name}"));
        let versions = Arc::<Mutex<Vec<_>>>::default();
        let written = Arc::clone(&versions);
        let watch = tokio::spawn(async move {
            let mut events = std::pin::pin!(api.watch(&only, "0").await.unwrap());
            while let Some(event) = events.try_next().await.unwrap() {
                if let WatchEvent::Added(object) | WatchEvent::Modified(object) = event {
                    written.lock().unwrap().push((Instant::now(), object));
                }
            }
        });
        Self { versions, watch }
    }

    /// The number of versions.
    pub(crate) fn len(&self) -> usize {
        assert!(!self.watch.is_finished(), "the watch ended");
        self.versions.lock().unwrap().len()
    }

    /// Whether the watch has delivered this version.
    pub(crate) fn has(&self, version: Option<&str>) -> bool {
        let versions = self.versions.lock().unwrap();
        versions.iter().any(|(_, object)| object.metadata.resource_version.as_deref() == version)
    }

    /// Versions after the first `start` with an entry that lacks the bundle: the entries, and the duration.
    pub(crate) fn gaps(&self, start: usize, bundle: &str) -> Vec<(Vec<String>, Duration)> {
        let versions = self.versions.lock().unwrap();
        let mut gaps = Vec::new();
        let mut open: Option<(Vec<String>, Instant)> = None;
        for (seen, version) in versions.iter().skip(start) {
            let lacking = bundles(version).into_iter().filter(|(_, held)| held != bundle);
            let lacking: Vec<_> = lacking.map(|(name, _)| name).collect();
            match (&open, lacking.is_empty()) {
                (None, false) => open = Some((lacking, *seen)),
                (Some((names, since)), true) => {
                    gaps.push((names.clone(), seen.duration_since(*since)));
                    open = None;
                }
                _ => {}
            }
        }
        gaps.extend(open.map(|(names, since)| (names, since.elapsed())));
        gaps
    }

    /// The number of versions after the first `start` that added the bundle to an existing entry.
    pub(crate) fn repairs(&self, start: usize, bundle: &str) -> usize {
        let versions = self.versions.lock().unwrap();
        let lacks =
            |version: &MutatingWebhookConfiguration| bundles(version).values().any(|held| held != bundle);
        let pairs = versions.windows(2).skip(start.saturating_sub(1));
        pairs.filter(|pair| lacks(&pair[0].1) && !lacks(&pair[1].1)).count()
    }
}

impl Drop for History {
    fn drop(&mut self) {
        self.watch.abort();
    }
}
