//! What the object is known to hold of the items of rules: whoever found or brought them says so, and nobody looks again.

use std::sync::Arc;

use serde_json::value::RawValue;

use crate::rule::Item;

/// So many items are noted; the others are looked for. Notes are read one by one.
const MOST: usize = 64;

/// Items that stand in the object. Additions leave them there; whatever else is done, somebody has to look again.
#[derive(Clone, Default)]
pub(crate) struct KnownPresent {
    notes: Vec<Note>,
}

#[derive(Clone)]
struct Note {
    /// What tells items apart: no two of them share their text, except a copy with its original.
    item: Arc<RawValue>,
    /// The name of the container, for items that are for several.
    container: Option<Arc<str>>,
    /// Whether it stands there as we have brought it.
    brought: bool,
}

impl KnownPresent {
    pub(super) fn note<'i>(
        &mut self,
        items: impl IntoIterator<Item = &'i Item>,
        container: Option<&Arc<str>>,
        brought: bool,
    ) {
        let items = items.into_iter().filter_map(Item::json);
        for item in items.take(MOST.saturating_sub(self.notes.len())) {
            self.notes.push(Note { item: Arc::clone(item), container: container.cloned(), brought });
        }
    }

    /// Whether `item` is known to stand where it belongs, in the container of this name.
    pub(super) fn has(&self, item: &Item, container: Option<&str>) -> bool {
        self.find(item, container).is_some()
    }

    /// Whether the object is known to hold it as it is, with nothing around it.
    pub(super) fn has_as_brought(&self, item: &Item) -> bool {
        self.find(item, None).is_some_and(|note| note.brought)
    }

    pub(super) fn forget(&mut self) {
        self.notes.clear();
    }

    fn find(&self, item: &Item, container: Option<&str>) -> Option<&Note> {
        // Nobody asks before there is anything to find.
        let item = item.json().filter(|_| !self.notes.is_empty())?;
        let is_it = |note: &&Note| Arc::ptr_eq(&note.item, item) && note.container.as_deref() == container;
        self.notes.iter().find(is_it)
    }
}
