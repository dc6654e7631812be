//! A rule as it is used: checked, defaults filled in, every part with its place in the source.

mod parts;
mod resource;

use std::sync::{Arc, OnceLock};

use serde_json::value::RawValue;

use crate::diagnostic::{Code, Diagnostic, Position, Source};
use crate::digest;
use crate::logic::Logic;
use crate::overlay::Overlay;
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
    pub fn must_be_asked_for(&self) -> bool {
        self.opt_in == OptIn::Pod
    }

    /// Whether only the namespace may ask for it (`optIn: namespace`): an object's yes is none.
    pub fn must_be_asked_for_by_namespaces(&self) -> bool {
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

#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Policy {
    Keep,
    /// Keep what the container itself has under the key; what another container has is a conflict as with `SkipRule`.
    /// The default for ports, no word of the format.
    KeepOwn,
    Override,
    SkipRule,
    Deny,
}

/// A key of another injector, and the values that mean yes.
#[derive(Clone)]
pub(crate) struct CompatAnnotation {
    pub(crate) key: String,
    pub(crate) accepted: Vec<String>,
}

/// A part of a rule that can be pointed at.
#[derive(Clone)]
pub(crate) struct Clause {
    pub(crate) text: Arc<str>,
    pub(crate) at: Position,
}

impl Clause {
    /// The list this clause is an item of: `sidecars` for `sidecars[0]`.
    pub(crate) fn list(&self) -> Self {
        let text = self.text.rsplit_once('[').map_or(&*self.text, |(list, _)| list);
        Self { text: text.into(), at: self.at }
    }

    /// The clause so many steps further out: `pod.spec` for `pod.spec.hostAliases[0]` and 2.
    pub(crate) fn above(&self, steps: usize) -> Self {
        let mut text = &*self.text;
        for _ in 0..steps {
            let step = if text.ends_with(']') { text.rfind('[') } else { text.rfind('.') };
            text = step.and_then(|end| text.get(..end)).unwrap_or(text);
        }
        Self { text: text.into(), at: self.at }
    }
}

/// One thing to add: a list item, or a map's value.
#[derive(Clone)]
pub(crate) struct Item {
    pub(crate) clause: Clause,
    /// What people call it: the name, the mount path, the label's key.
    pub(crate) key: String,
    pub(crate) overlay: Overlay,
    pub(crate) policy: Policy,
    written: OnceLock<Option<Arc<RawValue>>>,
}

impl Item {
    pub(crate) fn new(clause: Clause, key: String, overlay: Overlay, policy: Policy) -> Self {
        Self { clause, key, overlay, policy, written: OnceLock::new() }
    }

    /// Its value as JSON: written once, not for each object.
    pub(crate) fn json(&self) -> Option<&Arc<RawValue>> {
        let write = || RawValue::from_string(self.overlay.to_json()).ok().map(Arc::from);
        self.written.get_or_init(write).as_ref()
    }

    /// The same item with what `overlay` says.
    pub(crate) fn set(&mut self, overlay: Overlay) {
        self.overlay = overlay;
        self.written = OnceLock::new();
    }
}

/// A part of something that is there: of the pod's metadata, its specification or one of its containers.
#[derive(Clone)]
pub(crate) struct Part {
    /// The members that lead to the map or list it belongs into.
    pub(crate) path: Vec<String>,
    /// Whether that is a list.
    pub(crate) listed: bool,
    pub(crate) item: Item,
}

/// A sidecar or init container.
#[derive(Clone)]
pub(crate) struct Injected {
    pub(crate) item: Item,
    pub(crate) list: &'static str,
    pub(crate) place: Place,
    /// Where the rule says so; the place is the default otherwise, and no promise.
    pub(crate) positioned: Option<Position>,
    /// Whether it goes back there when others have come between.
    pub(crate) strict: bool,
    /// A sidecar that a Job would wait for.
    pub(crate) regular: bool,
}

/// One item of `remove`.
#[derive(Clone)]
pub(crate) struct Removal {
    pub(crate) clause: Clause,
    /// The list or map that it is about.
    pub(crate) list: &'static str,
    /// Of which containers, where it is about containers.
    pub(crate) select: Option<Select>,
    /// The key of what goes; empty where items of the list have none.
    pub(crate) key: String,
    /// What an item has to hold.
    pub(crate) wanted: Overlay,
}

/// Where an injected container goes.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum Place {
    First,
    Last,
    Before(String),
    After(String),
}

/// A `containers` block.
#[derive(Clone)]
pub(crate) struct Block {
    pub(crate) select: Select,
    pub(crate) lists: Vec<BlockList>,
    pub(crate) parts: Vec<Part>,
}

/// Items for one list of the selected containers.
#[derive(Clone)]
pub(crate) struct BlockList {
    pub(crate) member: &'static str,
    pub(crate) items: Vec<Item>,
}

/// Which containers a block is for.
#[derive(Clone)]
pub(crate) struct Select {
    pub(crate) which: Which,
    pub(crate) exclude: Vec<String>,
    pub(crate) init: bool,
}

impl Select {
    /// The lists of the containers that it may mean.
    pub(crate) fn lists(&self) -> impl Iterator<Item = &'static str> + use<> {
        ["containers", "initContainers"].into_iter().take(1 + usize::from(self.init))
    }
}

#[derive(Clone)]
pub(crate) enum Which {
    All,
    Names(Vec<String>),
    Images(Vec<String>),
    Index(usize),
}
