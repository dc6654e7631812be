//! Rules in ConfigMaps of the injector's own namespace, by their label.

use std::borrow::Borrow;
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, ObjectReference};
use kube::{Resource, ResourceExt};
use tokio::time::{Instant, sleep_until};
use vestibule::Watch;
use vestibule::tooling::Watched;
use vestibule_rules::CONFIG_LABEL;

use super::finding::Finding;
use super::last_good::{LAST_GOOD, LastGood, StoreError};
use super::reloader::Reloader;
use super::rule_source::{RuleDocument, RuleSource};
use crate::events::Events;

/// The time for which changes are collected: `kubectl apply` of a folder applies one ConfigMap after another.
const DEBOUNCE: Duration = Duration::from_millis(200);
/// The time between attempts after the API server refused a request.
const PAUSE: Duration = Duration::from_secs(5);

/// The texts of a ConfigMap, each under the name that findings show.
pub(crate) fn sources(namespace: &str, name: &str, config_map: &ConfigMap) -> Vec<RuleSource> {
    let called = |key: &str| format!("{}{key}", prefix(namespace, name));
    let texts = config_map.data.iter().flatten();
    let texts = texts.map(|(key, text)| RuleSource::new(called(key), text));
    let binary = config_map.binary_data.iter().flatten().map(|(key, _)| RuleSource {
        name: called(key),
        text: Err("it is no text: UTF-8 goes into `data`".to_owned()),
    });
    texts.chain(binary).collect()
}

/// The first part of the names of a ConfigMap's texts.
pub(crate) fn prefix(namespace: &str, name: &str) -> String {
    format!("ConfigMap {namespace}/{name}, key ")
}

/// The ConfigMaps with rules in `namespace`.
pub(crate) fn watch(namespace: &str) -> Watch<ConfigMap> {
    Watch::new().namespace(namespace).labels(format!("{CONFIG_LABEL}=true"))
}

/// Follows the ConfigMaps until it is dropped.
pub(crate) async fn follow(
    mut watched: Watched<ConfigMap>,
    namespace: String,
    last_good: LastGood,
    reloader: Arc<Reloader>,
    events: Events,
) {
    restore(&last_good, &reloader).await;
    // The time of the next reload, the documents to store, and the time to store them at.
    let (mut due, mut unstored, mut store_at) = (None, None, Instant::now());
    loop {
        tokio::select! {
            () = watched.changed() => {
                due.get_or_insert_with(|| Instant::now() + DEBOUNCE);
            }
            () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                due = None;
                // Without the first list, rules that are in force elsewhere would be missing.
                if let Ok(config_maps) = watched.lookup(Instant::now().into_std()).everywhere().list() {
                    if let Some(good) = reload(&reloader, all_sources(&namespace, &config_maps)).await {
                        (unstored, store_at) = (Some(good), Instant::now());
                    }
                    report(&namespace, &config_maps, reloader.current().findings(), &events);
                }
            }
            () = sleep_until(store_at), if unstored.is_some() => {
                unstored = store(&last_good, unstored).await;
                store_at = Instant::now() + PAUSE;
            }
        }
    }
}

/// The texts of all ConfigMaps.
pub(crate) fn all_sources<C: Borrow<ConfigMap>>(namespace: &str, config_maps: &[C]) -> Vec<RuleSource> {
    let config_maps = config_maps.iter().map(Borrow::borrow);
    config_maps.flat_map(|one: &ConfigMap| sources(namespace, &one.name_any(), one)).collect()
}

/// Reads the documents that were good before a restart. Without them, broken rules would leave no rules in force.
async fn restore(last_good: &LastGood, reloader: &Reloader) {
    loop {
        match last_good.read().await {
            Ok(Some(documents)) => return reloader.restore(documents),
            Ok(None) => return,
            Err(error) => {
                tracing::warn!(%error, "the ConfigMap {LAST_GOOD} cannot be read; trying again");
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

/// Returns the documents if the attempt has to be repeated.
async fn store(last_good: &LastGood, documents: Option<Vec<RuleDocument>>) -> Option<Vec<RuleDocument>> {
    let documents = documents?;
    let error = last_good.write(&documents).await.err()?;
    tracing::warn!(%error, "the good rules are not stored in the ConfigMap {LAST_GOOD}");
    (!matches!(error, StoreError::TooLarge { .. })).then_some(documents)
}

/// Writes an Event on every ConfigMap with errors.
fn report(namespace: &str, config_maps: &[Arc<ConfigMap>], findings: &[Finding], events: &Events) {
    for config_map in config_maps {
        let prefix = prefix(namespace, &config_map.name_any());
        let is_here = |finding: &&Finding| {
            finding.is_error() && finding.source().is_some_and(|it| it.starts_with(&prefix))
        };
        let errors: Vec<_> = findings.iter().filter(is_here).collect();
        if !errors.is_empty() {
            let about =
                ObjectReference { namespace: Some(namespace.to_owned()), ..config_map.object_ref(&()) };
            events.not_in_force(about, &errors);
        }
    }
}
