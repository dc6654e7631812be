//! Rules of a cluster: ConfigMaps of the injector's own namespace, and objects.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::{Instant, sleep_until};
use vestibule::Watched;
use vestibule::identity::with_causes;

use super::config_maps::{all_sources, report};
use super::last_good::{LAST_GOOD, LastGood, StoreError};
use super::objects::{self, RuleObjects};
use super::reloader::Reloader;
use super::rule_object::ObservedObject;
use super::rule_source::{RuleDocument, RuleSource};
use super::snapshot::SnapshotState;
use crate::events::Events;

/// The time for which changes are collected: `kubectl apply` of a folder applies one object after another.
const DEBOUNCE: Duration = Duration::from_millis(200);
/// The time between attempts after the API server refused a request.
const PAUSE: Duration = Duration::from_secs(5);

/// The sources of rules in a cluster, and where the good ones are stored and reported.
pub(crate) struct ClusterRules {
    /// The namespace of the ConfigMaps.
    pub(crate) namespace: String,
    pub(crate) config_maps: Watched<ConfigMap>,
    pub(crate) objects: RuleObjects,
    pub(crate) last_good: LastGood,
    pub(crate) events: Events,
    /// The objects of each reload, for their status.
    pub(crate) observed: watch::Sender<Option<Arc<[ObservedObject]>>>,
    /// Set once rules of namespaces were read that the settings switch on.
    pub(crate) has_read_namespaced: Arc<AtomicBool>,
}

/// Follows the sources until it is dropped. ConfigMaps come before objects: of two documents that contradict each other, the one
/// in the object is wrong.
pub(crate) async fn follow(rules: ClusterRules, reloader: Arc<Reloader>) {
    let ClusterRules { namespace, mut config_maps, mut objects, last_good, events, .. } = rules;
    // Nothing comes into force without both.
    tokio::join!(restore(&last_good, &reloader), objects.changed());
    let (good, to_store) = watch::channel(Vec::new());
    let mut storing = JoinSet::new();
    storing.spawn(keep_stored(last_good, to_store));
    // The time of the next reload.
    let mut due = Some(Instant::now() + DEBOUNCE);
    loop {
        tokio::select! {
            () = config_maps.changed() => {
                due.get_or_insert_with(|| Instant::now() + DEBOUNCE);
            }
            () = objects.changed() => {
                due.get_or_insert_with(|| Instant::now() + DEBOUNCE);
            }
            () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                due = None;
                let listed = config_maps.lookup(Instant::now().into_std()).everywhere().list();
                // The list is part of the objects that are read next.
                let has_namespaced = objects.has_read_namespaced();
                // Without the first lists, rules that are in force elsewhere would be missing.
                if let (Ok(config_maps), Some(mut of_objects)) = (listed, objects.all()) {
                    let mut sources = all_sources(&namespace, &config_maps);
                    sources.extend(objects::rules(&of_objects));
                    if let Some(documents) = reload(&reloader, sources).await {
                        good.send_replace(documents);
                    }
                    let current = reloader.current();
                    // While rules have errors and none are in force, the settings are not known.
                    if current.state() != SnapshotState::Waiting {
                        let are_on = current.rules().settings().namespaced.is_some();
                        objects.follow_namespaced(are_on);
                        if !are_on || has_namespaced {
                            rules.has_read_namespaced.store(true, Ordering::Relaxed);
                        }
                        // Until they were read, nothing is known about these rules.
                        of_objects.retain(|object| !are_on || !object.is_status_only);
                    }
                    report(&namespace, &config_maps, current.findings(), &events);
                    rules.observed.send_replace(objects.are_watched().then(|| of_objects.into()));
                }
            }
        }
    }
}

/// Reads the documents that were good before a restart. Without them, broken rules would leave no rules in force.
async fn restore(last_good: &LastGood, reloader: &Reloader) {
    loop {
        match last_good.read().await {
            Ok(Some(documents)) => return reloader.restore(documents),
            Ok(None) => return,
            Err(error) => {
                let error = with_causes(&error);
                tracing::warn!(error, "the ConfigMap {LAST_GOOD} cannot be read; trying again");
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Compiles and proves on a blocking thread, so that calls are answered meanwhile.
async fn reload(reloader: &Arc<Reloader>, sources: Vec<RuleSource>) -> Option<Vec<RuleDocument>> {
    let reloader = Arc::clone(reloader);
    let reloaded = tokio::task::spawn_blocking(move || reloader.reload(sources)).await;
    reloaded.unwrap_or_else(|_| {
        tracing::error!("reading the rules panicked; those before stay in force until the texts change");
        None
    })
}

/// Stores the newest documents, on a task of its own: an API server that does not answer holds up no reload. The same error of several
/// attempts is logged once.
async fn keep_stored(last_good: LastGood, mut documents: watch::Receiver<Vec<RuleDocument>>) {
    while documents.changed().await.is_ok() {
        let mut logged = String::new();
        loop {
            let newest = documents.borrow_and_update().clone();
            let Err(error) = last_good.write(&newest).await else { break };
            let text = error.to_string();
            if text != logged {
                tracing::warn!(error = text, "the good rules are not stored in the ConfigMap {LAST_GOOD}");
                logged = text;
            }
            if matches!(error, StoreError::TooLarge { .. }) {
                break;
            }
            tokio::time::sleep(PAUSE).await;
        }
    }
}

#[cfg(test)]
mod tests;
