//! Items of rules that are known to be in the object, so that later steps do not search for them again.

use std::sync::Arc;

use serde_json::value::RawValue;

use crate::rule::Item;

/// The maximal number of notes, because they are searched one by one. Other items are looked up in the object.
const MAX_NOTES: usize = 64;

/// Items that were found in the object or added to it. Additions keep the notes valid; after every other operation they are
/// cleared.
#[derive(Clone, Default)]
pub(crate) struct KnownPresent {
    notes: Vec<Note>,
}

#[derive(Clone)]
struct Note {
    /// The identity of the item: two items share their JSON text only if one is a clone of the other.
    item: Arc<RawValue>,
    /// The name of the container that the item was found in or added to, for items of blocks.
    container: Option<Arc<str>>,
    /// Whether the rule added the item, so that the object has exactly its text.
    added: bool,
}

impl KnownPresent {
    pub(super) fn note<'i>(
        &mut self,
        items: impl IntoIterator<Item = &'i Item>,
        container: Option<&Arc<str>>,
        added: bool,
    ) {
        let items = items.into_iter().filter_map(Item::json);
        for item in items.take(MAX_NOTES.saturating_sub(self.notes.len())) {
            self.notes.push(Note { item: Arc::clone(item), container: container.cloned(), added });
        }
    }

    /// Whether `item` is known to be in its list: that of the pod, or that of the container of this name.
    pub(super) fn has(&self, item: &Item, container: Option<&str>) -> bool {
        self.find(item, container).is_some()
    }

    /// Whether the pod is known to have exactly the text of `item`.
    pub(super) fn has_as_added(&self, item: &Item) -> bool {
        self.find(item, None).is_some_and(|note| note.added)
    }

    pub(super) fn clear(&mut self) {
        self.notes.clear();
    }

    fn find(&self, item: &Item, container: Option<&str>) -> Option<&Note> {
        // Without notes, the JSON text of the item need not be made.
        let item = item.json().filter(|_| !self.notes.is_empty())?;
        let is_it = |note: &&Note| Arc::ptr_eq(&note.item, item) && note.container.as_deref() == container;
        self.notes.iter().find(is_it)
    }
}

#[cfg(test)]
mod tests {
    use super::KnownPresent;
    use crate::diagnostic::Position;
    use crate::overlay::Overlay;
    use crate::rule::{Clause, Item, OnConflict};

    #[test]
    fn notes_are_cleared() {
        let clause = Clause { text: "".into(), at: Position { line: 1, column: 1 } };
        let item = Item::new(clause, "a".to_owned(), Overlay::Text("a".to_owned()), OnConflict::Keep);
        let mut known = KnownPresent::default();
        known.note([&item], None, false);
        assert!(known.has(&item, None) && !known.has(&item, Some("app")) && !known.has_as_added(&item));
        known.clear();
        assert!(!known.has(&item, None));
        known.note([&item], None, true);
        assert!(known.has_as_added(&item));
    }
}
