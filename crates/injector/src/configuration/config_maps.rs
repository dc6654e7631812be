//! Rules in ConfigMaps of the injector's own namespace, by their label.

use std::borrow::Borrow;
use std::sync::Arc;

use k8s_openapi::api::core::v1::{ConfigMap, ObjectReference};
use kube::{Resource, ResourceExt};
use vestibule::Watch;
use vestibule_rules::CONFIG_LABEL;

use super::finding::Finding;
use super::rule_source::RuleSource;
use crate::events::Events;

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

/// The texts of all ConfigMaps.
pub(crate) fn all_sources<C: Borrow<ConfigMap>>(namespace: &str, config_maps: &[C]) -> Vec<RuleSource> {
    let config_maps = config_maps.iter().map(Borrow::borrow);
    config_maps.flat_map(|one: &ConfigMap| sources(namespace, &one.name_any(), one)).collect()
}

/// Writes an Event on every ConfigMap with errors.
pub(crate) fn report(namespace: &str, config_maps: &[Arc<ConfigMap>], findings: &[Finding], events: &Events) {
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
