//! Rules of namespaces (`NamespacedInjection`): their bounds, and what they may add to a pod.
//!
//! `load` checks the parts as they are written, by [`part`]. `evaluate` applies each rule alone to the result of the rules of the
//! cluster and compares the pod before and after by [`additions`], since expressions compute parts that no text shows.

mod additions;
mod allowed;
mod bounds;
mod node;
mod protected;

use std::collections::BTreeMap;
use std::sync::Arc;

pub(crate) use additions::additions;
pub(crate) use allowed::part;
pub(crate) use bounds::MAX_NAMESPACED_RULES;
pub use bounds::NamespacedBounds;
pub(crate) use protected::Protected;
use serde_json::Value;

use crate::digest;
use crate::rule::Rule;

/// The longest text of a rule of a namespace, in bytes.
pub const MAX_NAMESPACED_BYTES: usize = 64 * 1024;

/// The rules of namespaces that are in force, with their bounds. A clone is cheap.
#[derive(Clone, Default)]
pub struct NamespacedRules(Arc<Inner>);

#[derive(Default)]
struct Inner {
    /// [`None`] where the settings switch such rules off: then no rule applies.
    bounds: Option<NamespacedBounds>,
    /// In the order in which they are applied.
    by_namespace: BTreeMap<String, Vec<Arc<Rule>>>,
}

impl NamespacedRules {
    /// `rules` under the `bounds` of the settings; [`None`] if these switch such rules off. A rule without a namespace is dropped.
    pub fn new(bounds: Option<&NamespacedBounds>, rules: impl IntoIterator<Item = Arc<Rule>>) -> Self {
        let mut by_namespace: BTreeMap<String, Vec<Arc<Rule>>> = BTreeMap::new();
        for rule in rules {
            if let Some(namespace) = rule.namespace() {
                by_namespace.entry(namespace.to_owned()).or_default().push(rule);
            }
        }
        for rules in by_namespace.values_mut() {
            rules.sort_by(|one, other| (one.order, &one.name).cmp(&(other.order, &other.name)));
        }
        Self(Arc::new(Inner { bounds: bounds.cloned(), by_namespace }))
    }

    /// These rules and `more`, under the same bounds.
    #[must_use]
    pub fn with(&self, more: impl IntoIterator<Item = Arc<Rule>>) -> Self {
        Self::new(self.0.bounds.as_ref(), self.0.by_namespace.values().flatten().cloned().chain(more))
    }

    /// All rules, by namespace.
    pub fn iter(&self) -> impl Iterator<Item = &Rule> {
        self.0.by_namespace.values().flatten().map(|rule| &**rule)
    }

    /// A hash of rules of the cluster and these. Without rules of namespaces it is that of the cluster's.
    pub fn hash_with(&self, cluster: &str) -> String {
        match self.0.by_namespace.is_empty() {
            true => cluster.to_owned(),
            false => digest::short([cluster].into_iter().chain(self.iter().map(|rule| &*rule.digest))),
        }
    }

    /// The rules of `namespace` in their order, and the bounds; [`None`] without such rules, or where they are switched off.
    pub(crate) fn of(&self, namespace: &str) -> Option<(&[Arc<Rule>], &NamespacedBounds)> {
        Some((self.0.by_namespace.get(namespace)?.as_slice(), self.0.bounds.as_ref()?))
    }
}

fn items(list: &Value) -> &[Value] {
    list.as_array().map(Vec::as_slice).unwrap_or_default()
}
