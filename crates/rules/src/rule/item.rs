//! The things that a rule adds or removes, each with its clause and its location in the source.

use std::sync::{Arc, OnceLock};

use serde_json::value::RawValue;

use crate::diagnostic::Position;
use crate::overlay::Overlay;

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
    pub(crate) place: ContainerPosition,
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
pub(crate) enum ContainerPosition {
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

/// SelectBy containers a block is for.
#[derive(Clone)]
pub(crate) struct Select {
    pub(crate) which: SelectBy,
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
pub(crate) enum SelectBy {
    All,
    Names(Vec<String>),
    Images(Vec<String>),
    Index(usize),
}
