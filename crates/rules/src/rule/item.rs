//! The parts that a rule adds or removes, each with its clause and its location in the source.

use std::sync::{Arc, OnceLock};

use serde_json::value::RawValue;

use crate::diagnostic::Position;
use crate::overlay::Overlay;
use crate::pod::CONTAINER_LISTS;

/// The effect of a value that the object has already, and that differs from the one of the rule (`onConflict`).
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum OnConflict {
    Keep,
    /// Keep the value that the container itself has under the key; a value that another container has is a conflict
    /// as with `SkipRule`. This is the default for ports; the format has no word for it.
    KeepOwn,
    Override,
    SkipRule,
    Deny,
}

/// The name and location of a part of a rule, for messages.
#[derive(Clone)]
pub(crate) struct Clause {
    pub(crate) text: Arc<str>,
    pub(crate) at: Position,
}

impl Clause {
    pub(crate) fn new(text: impl Into<Arc<str>>, at: Position) -> Self {
        Self { text: text.into(), at }
    }

    /// The clause of the list that this clause is an item of: `sidecars` for `sidecars[0]`.
    pub(crate) fn list(&self) -> Self {
        let text = self.text.rsplit_once('[').map_or(&*self.text, |(list, _)| list);
        Self::new(text, self.at)
    }

    /// The clause that is `steps` levels further out: `pod.spec` for `pod.spec.hostAliases[0]` and 2.
    pub(crate) fn above(&self, steps: usize) -> Self {
        let mut text = &*self.text;
        for _ in 0..steps {
            let step = if text.ends_with(']') { text.rfind('[') } else { text.rfind('.') };
            text = step.and_then(|end| text.get(..end)).unwrap_or(text);
        }
        Self::new(text, self.at)
    }
}

/// One value to add: an item of a list, or the value of a map's member.
#[derive(Clone)]
pub(crate) struct Item {
    pub(crate) clause: Clause,
    /// The key that identifies it in its list or map: the name, the mount path, the key of the label.
    pub(crate) key: String,
    pub(crate) overlay: Overlay,
    pub(crate) on_conflict: OnConflict,
    written: OnceLock<Option<Arc<RawValue>>>,
}

impl Item {
    pub(crate) fn new(clause: Clause, key: String, overlay: Overlay, on_conflict: OnConflict) -> Self {
        Self { clause, key, overlay, on_conflict, written: OnceLock::new() }
    }

    /// Its value as JSON. It is written once and then shared by all objects.
    pub(crate) fn json(&self) -> Option<&Arc<RawValue>> {
        let write = || RawValue::from_string(self.overlay.to_json()).ok().map(Arc::from);
        self.written.get_or_init(write).as_ref()
    }
}

/// An item for the pod's metadata, its specification or a selected container.
#[derive(Clone)]
pub(crate) struct Part {
    /// The members that lead to the map or list that gets the item.
    pub(crate) path: Vec<String>,
    /// Whether the path leads to a list.
    pub(crate) listed: bool,
    pub(crate) item: Item,
}

/// An injected sidecar or init container.
#[derive(Clone)]
pub(crate) struct Injected {
    pub(crate) item: Item,
    pub(crate) list: &'static str,
    pub(crate) position: ContainerPosition,
    /// The location of `position` in the rule. Without it the position is the default, which the rule does not
    /// enforce.
    pub(crate) position_at: Option<Position>,
    /// Whether the container is moved back when other webhooks have inserted containers.
    pub(crate) strict: bool,
    /// Whether this is a sidecar in `containers`, which keeps a Job from completing.
    pub(crate) regular: bool,
}

/// One item of `remove`.
#[derive(Clone)]
pub(crate) struct Removal {
    pub(crate) clause: Clause,
    /// The list or map that loses an entry.
    pub(crate) list: &'static str,
    /// The containers that lose it; `None` for a removal from the pod itself.
    pub(crate) select: Option<Select>,
    /// The key of the removed entry; empty if the list has no keys.
    pub(crate) key: String,
    /// The members that an item must have to be removed.
    pub(crate) wanted: Overlay,
}

/// The position of an injected container among the others of its list.
#[derive(Clone, PartialEq, Eq)]
pub(crate) enum ContainerPosition {
    First,
    Last,
    Before(String),
    After(String),
}

impl ContainerPosition {
    /// The container that the position refers to.
    pub(crate) fn anchor(&self) -> Option<&str> {
        match self {
            Self::Before(anchor) | Self::After(anchor) => Some(anchor),
            Self::First | Self::Last => None,
        }
    }
}

/// An item of `containerPatches`.
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

/// The containers that a block applies to.
#[derive(Clone)]
pub(crate) struct Select {
    pub(crate) which: SelectBy,
    pub(crate) exclude: Vec<String>,
    pub(crate) init: bool,
}

impl Select {
    /// The lists of containers that it selects from.
    pub(crate) fn lists(&self) -> impl Iterator<Item = &'static str> + use<> {
        CONTAINER_LISTS.into_iter().take(1 + usize::from(self.init))
    }
}

#[derive(Clone)]
pub(crate) enum SelectBy {
    All,
    Names(Vec<String>),
    Images(Vec<String>),
    Index(usize),
}
