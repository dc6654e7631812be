//! The labels and annotations of namespaces, as flags and the objects themselves name them.

use std::collections::BTreeMap;

use vestibule_rules::{NamespaceFacts, Resource};

use crate::objects::Object;
use crate::rules::Labels;

/// Labels and annotations of namespaces.
#[derive(Default)]
pub(crate) struct Facts {
    /// For every namespace.
    everywhere: Option<NamespaceFacts>,
    /// By name, of namespaces among the objects.
    named: BTreeMap<String, NamespaceFacts>,
}

impl Facts {
    /// Facts from `labels` for every namespace, and from the namespaces among `objects`.
    pub(crate) fn new<'o>(labels: Option<&Labels>, objects: impl Iterator<Item = &'o Object>) -> Self {
        let everywhere = labels.map(|labels| NamespaceFacts {
            labels: labels.0.iter().cloned().collect(),
            ..NamespaceFacts::default()
        });
        let named = objects.filter_map(|object| Some((object.name.clone(), object.facts()?))).collect();
        Self { everywhere, named }
    }

    /// The same facts for every namespace.
    pub(crate) fn everywhere(facts: NamespaceFacts) -> Self {
        Self { everywhere: Some(facts), named: BTreeMap::new() }
    }

    /// The first namespace without facts that has an object which rules may be about.
    pub(crate) fn unknown<'o>(
        &self,
        objects: impl Iterator<Item = &'o Object>,
        default_namespace: &'o str,
    ) -> Option<&'o str> {
        let may_match = |object: &&Object| {
            object.workload().is_some() || Resource::of_kind(&object.api_version, &object.kind).is_some()
        };
        let mut namespaces =
            objects.filter(may_match).map(|object| object.namespace.as_deref().unwrap_or(default_namespace));
        namespaces.find(|namespace| self.of(namespace).is_none())
    }

    /// The facts about `namespace`, if they are known.
    pub(crate) fn of(&self, namespace: &str) -> Option<&NamespaceFacts> {
        self.everywhere.as_ref().or_else(|| self.named.get(namespace))
    }
}
