//! A rule as it is used: checked, defaults filled in, every part with its place in the source.

mod item;
mod parts;
mod resource;

use std::sync::Arc;

use crate::diagnostic::{Code, Diagnostic, Position, Source};
use crate::digest;
use crate::logic::Logic;
pub(crate) use item::{
    Block, BlockList, Clause, ContainerPosition, Injected, Item, Part, Policy, Removal, Select, SelectBy,
};
pub(crate) use parts::{Base, PartLocation};
pub use resource::{Resource, Verb};

/// One `Injection`.
#[derive(Clone)]
pub struct Rule {
    pub(crate) name: Arc<str>,
    /// The label or annotation that speaks about this rule alone.
    pub(crate) key: String,
    pub(crate) source: Arc<str>,
    /// The whole name of its document's contents.
    pub(crate) digest: Arc<str>,
    /// For findings about it later on.
    pub(crate) text: Arc<Source>,
    pub(crate) at: Position,
    pub(crate) targets: Vec<Resource>,
    pub(crate) order: i64,
    pub(crate) required: bool,
    pub(crate) on_error: OnError,
    pub(crate) matching: Match,
    pub(crate) opt_in: OptIn,
    pub(crate) opt_in_at: Position,
    pub(crate) compat: Vec<CompatAnnotation>,
    pub(crate) rollout: Option<Rollout>,
    pub(crate) metadata: Vec<Part>,
    /// Of the pod's specification, `imagePullSecrets` among them.
    pub(crate) spec: Vec<Part>,
    pub(crate) volumes: Vec<Item>,
    pub(crate) injected: Vec<Injected>,
    pub(crate) blocks: Vec<Block>,
    pub(crate) removals: Vec<Removal>,
    pub(crate) logic: Arc<Logic>,
}

impl Labels {
    pub(crate) fn pairs(&self) -> impl Iterator<Item = (&str, &str)> {
        self.pairs.iter().map(|label| (label.key.as_str(), label.value.as_str()))
    }
}

impl Rule {
    /// `metadata.name`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The name of its source.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// 12 hexadecimal digits that name the contents of its document.
    pub fn hash(&self) -> &str {
        self.digest.get(..digest::SHORT).unwrap_or_default()
    }

    /// Where its name stands in the source.
    pub fn position(&self) -> Position {
        self.at
    }

    /// Whether pods that it fails to change are denied.
    pub fn required(&self) -> bool {
        self.required
    }

    /// What it changes.
    pub fn targets(&self) -> &[Resource] {
        &self.targets
    }

    /// The namespace labels it asks for: a registration may select by them.
    pub fn namespace_labels(&self) -> impl Iterator<Item = (&str, &str)> {
        self.matching.namespace_labels.pairs()
    }

    /// The object labels it asks for: a registration may select by them.
    pub fn object_labels(&self) -> impl Iterator<Item = (&str, &str)> {
        self.matching.labels.pairs()
    }

    /// The parts that change something, in the order of the format.
    pub(crate) fn clauses(&self) -> Vec<&Clause> {
        let added = self.parts().map(|(_, item)| &item.clause);
        added.chain(self.removals.iter().map(|removal| &removal.clause)).collect()
    }

    /// The namespaces that it is for by name; any where there are none.
    pub fn namespaces(&self) -> &[String] {
        &self.matching.namespaces
    }

    /// The namespaces that it is not for.
    pub fn excluded_namespaces(&self) -> &[String] {
        &self.matching.excluded
    }

    /// Whether it leaves alone what does not ask for it by itself (`optIn: pod`), whatever the namespace says.
    pub fn requires_pod_opt_in(&self) -> bool {
        self.opt_in == OptIn::Pod
    }

    /// Whether only the namespace may ask for it (`optIn: namespace`): an object's yes is none.
    pub fn requires_namespace_opt_in(&self) -> bool {
        self.opt_in == OptIn::Namespace
    }

    /// The operating system that pods must be for, where they say one; any where there is none.
    pub fn os(&self) -> Option<&'static str> {
        self.matching.os
    }

    /// Whether it leaves pods alone that use the network of their node (`hostNetwork: skip`).
    pub fn skips_host_network(&self) -> bool {
        self.matching.skip_host_network.is_some()
    }

    /// The keys of other injectors' annotations that it listens to, in their order.
    pub fn compat_annotations(&self) -> impl Iterator<Item = &str> {
        self.compat.iter().map(|compat| compat.key.as_str())
    }

    /// A finding about whom it is for, with the line of its `match`.
    pub fn finding(&self, code: &'static Code, message: impl Into<String>) -> Diagnostic {
        self.text.error(code, self.matching.at, message)
    }

    /// Whether it asks which workload an object belongs to.
    pub(crate) fn asks_for_workload(&self) -> bool {
        self.rollout.is_some() || !self.matching.owner_kinds.is_empty()
    }

    /// Whether what the owner of a pod is called may decide about what it does.
    pub fn needs_owner_name(&self) -> bool {
        self.logic.reads_owner_name
            || self.rollout.as_ref().is_some_and(|rollout| (1..100).contains(&rollout.percent))
    }

    /// Whether it cannot decide without the namespace's labels and annotations.
    pub fn needs_namespace_facts(&self) -> bool {
        !self.matching.namespace_labels.pairs.is_empty()
            || matches!(self.opt_in, OptIn::Namespace | OptIn::Either)
            || self.logic.reads_namespace
    }
}

/// `match`.
#[derive(Clone)]
pub(crate) struct Match {
    pub(crate) at: Position,
    pub(crate) namespaces: Vec<String>,
    pub(crate) excluded: Vec<String>,
    pub(crate) namespace_labels: Labels,
    pub(crate) labels: Labels,
    /// `None` is any.
    pub(crate) os: Option<&'static str>,
    pub(crate) os_at: Position,
    pub(crate) skip_host_network: Option<Position>,
    /// Empty is any.
    pub(crate) owner_kinds: Vec<String>,
    pub(crate) owner_kinds_at: Position,
}

/// `rollout`.
#[derive(Clone, Copy)]
pub(crate) struct Rollout {
    pub(crate) percent: u8,
    pub(crate) at: Position,
}

/// Labels that must be there.
#[derive(Clone)]
pub(crate) struct Labels {
    pub(crate) at: Position,
    pub(crate) pairs: Vec<Label>,
}

#[derive(Clone)]
pub(crate) struct Label {
    pub(crate) key: String,
    pub(crate) value: String,
    /// What is said of an object without it: said so often that nobody writes it anew.
    pub(crate) missing: Arc<str>,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum OptIn {
    Namespace,
    Pod,
    Either,
    Always,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnError {
    Skip,
    Deny,
}

/// A key of another injector, and the values that mean yes.
#[derive(Clone)]
pub(crate) struct CompatAnnotation {
    pub(crate) key: String,
    pub(crate) accepted: Vec<String>,
}
