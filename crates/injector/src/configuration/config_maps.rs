//! Rules in ConfigMaps of the injector's own namespace, by their label.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use k8s_openapi::api::core::v1::{ConfigMap, ObjectReference};
use kube::api::Api;
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{Event, watcher};
use tokio::time::{Instant, sleep_until};
use vestibule::tooling::WatchState;
use vestibule_rules::CONFIG_LABEL;

use super::finding::Finding;
use super::last_good::{LastGood, StoreError};
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

/// Follows the ConfigMaps until it is dropped.
pub(crate) async fn follow(
    (config_maps, state): (Api<ConfigMap>, WatchState),
    namespace: String,
    last_good: LastGood,
    reloader: Arc<Reloader>,
    events: Events,
) {
    restore(&last_good, &reloader).await;
    let labelled = vestibule::identity::short_watch().labels(&format!("{CONFIG_LABEL}=true"));
    let mut changes = pin!(watcher(config_maps, labelled).default_backoff());
    let mut seen = Seen { namespace, ..Seen::default() };
    // The time of the next reload, the documents to store, and the time to store them at.
    let (mut due, mut unstored, mut store_at) = (None, None, Instant::now());
    loop {
        tokio::select! {
            event = changes.next() => match event {
                Some(Ok(event)) => if seen.apply(event) {
                    due.get_or_insert_with(|| Instant::now() + DEBOUNCE);
                },
                Some(Err(error)) => {
                    state.failed(&error.to_string());
                    tracing::warn!(%error, "the ConfigMaps with rules cannot be watched; trying again");
                }
                None => return,
            },
            () = sleep_until(due.unwrap_or_else(Instant::now)), if due.is_some() => {
                due = None;
                if let Some(sources) = seen.sources() {
                    if let Some(good) = reload(&reloader, sources).await {
                        (unstored, store_at) = (Some(good), Instant::now());
                    }
                    seen.report(reloader.current().findings(), &events);
                }
            }
            () = sleep_until(store_at), if unstored.is_some() => {
                unstored = store(&last_good, unstored).await;
                store_at = Instant::now() + PAUSE;
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
                let name = &last_good.name;
                tracing::warn!(%error, "the ConfigMap {name} cannot be read; trying again");
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
    tracing::warn!(%error, "the good rules are not stored in the ConfigMap {}", last_good.name);
    (!matches!(error, StoreError::TooLarge { .. })).then_some(documents)
}

/// The ConfigMaps that the watch has reported.
#[derive(Default)]
struct Seen {
    namespace: String,
    is_listed: bool,
    /// By name: the uid and the texts.
    config_maps: BTreeMap<String, (Option<String>, Vec<RuleSource>)>,
}

impl Seen {
    /// Returns whether the ConfigMaps can be reloaded: not while they are being listed.
    fn apply(&mut self, event: Event<ConfigMap>) -> bool {
        match event {
            Event::Init => {
                self.is_listed = false;
                self.config_maps.clear();
            }
            Event::InitApply(config_map) | Event::Apply(config_map) => {
                let name = config_map.metadata.name.clone().unwrap_or_default();
                let sources = sources(&self.namespace, &name, &config_map);
                self.config_maps.insert(name, (config_map.metadata.uid, sources));
            }
            Event::Delete(config_map) => {
                self.config_maps.remove(&config_map.metadata.name.unwrap_or_default());
            }
            Event::InitDone => self.is_listed = true,
        }
        self.is_listed
    }

    /// Writes an Event on every ConfigMap with errors.
    fn report(&self, findings: &[Finding], events: &Events) {
        for (name, (uid, _)) in &self.config_maps {
            let prefix = prefix(&self.namespace, name);
            let is_here = |finding: &&Finding| {
                finding.is_error() && finding.source().is_some_and(|it| it.starts_with(&prefix))
            };
            let errors: Vec<_> = findings.iter().filter(is_here).collect();
            if errors.is_empty() {
                continue;
            }
            let about = ObjectReference {
                api_version: Some("v1".to_owned()),
                kind: Some("ConfigMap".to_owned()),
                namespace: Some(self.namespace.clone()),
                name: Some(name.clone()),
                uid: uid.clone(),
                ..ObjectReference::default()
            };
            events.not_in_force(about, &errors);
        }
    }

    /// All texts; [`None`] while the ConfigMaps are being listed again, when one that is not listed yet is not gone.
    fn sources(&self) -> Option<Vec<RuleSource>> {
        self.is_listed.then(|| self.config_maps.values().flat_map(|(_, sources)| sources).cloned().collect())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config_map(name: &str) -> ConfigMap {
        let data = BTreeMap::from([("rules.yaml".to_owned(), String::new())]);
        let mut config_map = ConfigMap { data: Some(data), ..ConfigMap::default() };
        config_map.metadata.name = Some(name.to_owned());
        config_map
    }

    #[test]
    fn an_incomplete_list_removes_no_config_map() {
        let mut seen = Seen { namespace: "home".to_owned(), ..Seen::default() };
        let number = |seen: &Seen| seen.sources().map(|sources| sources.len());
        assert!(!seen.apply(Event::Init) && !seen.apply(Event::InitApply(config_map("a"))));
        assert_eq!(number(&seen), None);
        assert!(seen.apply(Event::InitDone) && seen.apply(Event::Apply(config_map("b"))));
        assert_eq!(number(&seen), Some(2));
        // The watch ends, and the ConfigMaps are listed again.
        assert!(!seen.apply(Event::Init) && !seen.apply(Event::InitApply(config_map("b"))));
        assert_eq!(number(&seen), None);
        assert!(seen.apply(Event::InitDone));
        assert_eq!(number(&seen), Some(1));
    }
}
