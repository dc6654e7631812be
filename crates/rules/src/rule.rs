//! A compiled rule: validated, defaults filled in, every part with its location in the source.

pub(crate) mod item;
mod parts;
pub(crate) mod resource;

use std::sync::Arc;

use crate::diagnostic::{Code, Diagnostic, Position, Source};
use crate::digest;
use crate::label_selector::LabelSelector;
use crate::logic::Logic;
pub(crate) use item::{
    Block, BlockList, Clause, ContainerPosition, Injected, Item, OnConflict, Part, Removal, Select, SelectBy,
};
pub(crate) use parts::{Base, Copied, PartDestination};
pub use resource::{MetadataOf, Resource, Verb};

/// One `Injection` or `NamespacedInjection` document.
#[derive(Clone)]
pub struct Rule {
    pub(crate) name: Arc<str>,
    /// The namespace of a rule of a namespace. The name then is `NAMESPACE/NAME`.
    pub(crate) namespace: Option<Arc<str>>,
    /// The label or annotation that opts in or out of this rule alone.
    pub(crate) key: String,
    pub(crate) source: Arc<str>,
    /// The full SHA-256 of the contents of its document.
    pub(crate) digest: Arc<str>,
    /// The source text, for findings that are made after loading.
    pub(crate) text: Arc<Source>,
    pub(crate) at: Position,
    pub(crate) targets: Vec<Resource>,
    pub(crate) metadata_of: MetadataOf,
    pub(crate) order: i64,
    pub(crate) required: bool,
    pub(crate) on_error: OnError,
    pub(crate) matching: Match,
    pub(crate) opt_in: OptIn,
    pub(crate) opt_in_at: Position,
    pub(crate) compat: Vec<CompatAnnotation>,
    pub(crate) rollout: Option<Rollout>,
    pub(crate) metadata: Vec<Part>,
    /// Parts of the pod's specification, including `imagePullSecrets`.
    pub(crate) spec: Vec<Part>,
    pub(crate) volumes: Vec<Item>,
    pub(crate) injected: Vec<Injected>,
    pub(crate) blocks: Vec<Block>,
    pub(crate) removals: Vec<Removal>,
    pub(crate) rewrite_probes: Option<ProbeRewrite>,
    pub(crate) logic: Arc<Logic>,
}

impl Rule {
    /// `metadata.name`; of a rule of a namespace `NAMESPACE/NAME`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The namespace of a rule of a namespace, a `NamespacedInjection`.
    pub fn namespace(&self) -> Option<&str> {
        self.namespace.as_deref()
    }

    /// The name of the source that holds its document.
    pub fn source(&self) -> &str {
        &self.source
    }

    /// The first 12 hexadecimal digits of the digest of its document.
    pub fn hash(&self) -> &str {
        self.digest.get(..digest::SHORT).unwrap_or_default()
    }

    /// The start of [`hash`](Self::hash) that the status annotation of pods has.
    pub fn version(&self) -> &str {
        self.digest.get(..4).unwrap_or_default()
    }

    /// The location of its name in the source.
    pub fn position(&self) -> Position {
        self.at
    }

    /// Whether a pod that the rule fails to change is denied.
    pub fn required(&self) -> bool {
        self.required
    }

    /// The resources that the rule changes.
    pub fn targets(&self) -> &[Resource] {
        &self.targets
    }

    /// `match.namespaceSelector`.
    pub fn namespace_selector(&self) -> &LabelSelector {
        &self.matching.namespaces
    }

    /// `match.objectSelector`. See [`Rule::metadata_of`].
    pub fn object_selector(&self) -> &LabelSelector {
        &self.matching.objects
    }

    /// `metadataOf`: the labels and annotations of a workload that `match`, the opt-in and parameters read.
    pub fn metadata_of(&self) -> MetadataOf {
        self.metadata_of
    }

    /// The clauses of all parts that add, remove or rewrite something, in the order of the format.
    pub(crate) fn clauses(&self) -> Vec<&Clause> {
        let added = self.parts().map(|(_, item)| &item.clause);
        let removed = self.removals.iter().map(|removal| &removal.clause);
        let rewrite = self.rewrite_probes.iter().map(|rewrite| &rewrite.clause);
        added.chain(removed).chain(rewrite).collect()
    }

    /// Whether the object itself must opt in (`optIn: pod`); an opt-in of the namespace does not count.
    pub fn requires_pod_opt_in(&self) -> bool {
        self.opt_in == OptIn::Pod
    }

    /// Whether the namespace must opt in (`optIn: namespace`); an opt-in of the object does not count.
    pub fn requires_namespace_opt_in(&self) -> bool {
        self.opt_in == OptIn::Namespace
    }

    /// The operating system of the pods that the rule matches. `None` matches any; a pod that names no operating
    /// system always matches.
    pub fn os(&self) -> Option<&'static str> {
        self.matching.os
    }

    /// Whether the rule skips pods that use the network of their node (`hostNetwork: skip`).
    pub fn skips_host_network(&self) -> bool {
        self.matching.skip_host_network.is_some()
    }

    /// The keys of other injectors' annotations that opt in to this rule, in their order.
    pub fn compat_annotations(&self) -> impl Iterator<Item = &str> {
        self.compat.iter().map(|compat| compat.key.as_str())
    }

    /// A finding about the scope of the rule, at the location of its `match`.
    pub fn finding(&self, code: &'static Code, message: impl Into<String>) -> Diagnostic {
        self.text.finding(code, self.matching.at, message)
    }

    /// A finding about the place of the rule, at its name.
    pub fn finding_at_name(&self, code: &'static Code, message: impl Into<String>) -> Diagnostic {
        self.text.finding(code, self.at, message)
    }

    /// Whether the rule has to know the workload that an object belongs to.
    pub(crate) fn asks_for_workload(&self) -> bool {
        self.rollout.is_some() || !self.matching.owner_kinds.is_empty()
    }

    /// Whether the result of the rule may depend on the name of a pod's owner.
    pub fn needs_owner_name(&self) -> bool {
        self.logic.reads.owner_name
            || self.rollout.as_ref().is_some_and(|rollout| (1..100).contains(&rollout.percent))
    }

    /// Whether the result of the rule may depend on the user of the request, which a stored object does not show.
    pub fn reads_user(&self) -> bool {
        self.logic.reads.user
    }

    /// Whether the rule needs the labels or annotations of the namespace.
    pub fn needs_namespace_facts(&self) -> bool {
        self.matching.namespaces.needs_namespace_facts()
            || matches!(self.opt_in, OptIn::Namespace | OptIn::Either)
            || self.logic.reads.namespace
    }
}

/// `match`.
#[derive(Clone)]
pub(crate) struct Match {
    pub(crate) at: Position,
    pub(crate) namespaces: LabelSelector,
    pub(crate) objects: LabelSelector,
    /// `None` matches any.
    pub(crate) os: Option<&'static str>,
    pub(crate) os_at: Position,
    pub(crate) skip_host_network: Option<Position>,
    /// An empty list matches any.
    pub(crate) owner_kinds: Vec<String>,
    pub(crate) owner_kinds_at: Position,
}

/// `rollout`.
#[derive(Clone, Copy)]
pub(crate) struct Rollout {
    pub(crate) percent: u8,
    pub(crate) at: Position,
}

/// `rewriteProbes`.
#[derive(Clone)]
pub(crate) struct ProbeRewrite {
    pub(crate) clause: Clause,
    /// The container that answers.
    pub(crate) container: String,
    pub(crate) port: i64,
    /// The start of the path, without a slash at the end.
    pub(crate) path: String,
    /// The variable of the container that gets the original probes.
    pub(crate) variable: String,
}

impl ProbeRewrite {
    /// The path that the kubelet asks for: `/app-health/CONTAINER/livez`.
    pub(crate) fn url(&self, container: &str, probe: &str) -> String {
        format!("{}/{container}/{probe}", self.path)
    }
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

/// The annotation key of another injector, and the values that opt in.
#[derive(Clone)]
pub(crate) struct CompatAnnotation {
    pub(crate) key: String,
    pub(crate) accepted: Vec<String>,
}
