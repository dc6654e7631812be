//! The index of one list: the positions of its items by their keys.

use std::collections::{HashMap, VecDeque};
use std::ops::Range;
use std::sync::Arc;

use vestibule_patch::View;

use super::IndexKey;
use crate::overlay::Overlay;

#[derive(Clone)]
pub(in crate::merge) struct ListIndex {
    pub(in crate::merge) by: IndexKey,
    /// The number of operations that had been applied when the index was built.
    pub(super) since: usize,
    /// The keys of the items that were removed since then, for a roll back.
    pub(super) removed_keys: Vec<Arc<str>>,
    keys: VecDeque<Arc<str>>,
    /// Items have consecutive numbers. An insertion or removal renumbers only the items on its shorter side. If several items have
    /// one key, the map has the number of the last.
    pub(super) numbers: HashMap<Arc<str>, i64>,
    /// The number of the first item.
    first: i64,
}

impl ListIndex {
    /// The index of `items`, the items of a list after `since` operations.
    pub(in crate::merge) fn of(items: &[View<'_>], by: IndexKey, since: usize) -> Self {
        let keys: VecDeque<Arc<str>> = items.iter().map(|item| Arc::from(&*by.of_view(*item))).collect();
        let numbers = keys.iter().map(Arc::clone).zip(0..).collect();
        Self { by, since, removed_keys: Vec::new(), keys, numbers, first: 0 }
    }

    pub(in crate::merge) fn keys(&self) -> impl ExactSizeIterator<Item = &str> {
        self.keys.iter().map(|key| &**key)
    }

    /// The position of the last item that is the same as `overlay`, an item with this key.
    pub(in crate::merge) fn find_item(&self, key: &str, overlay: &Overlay) -> Option<usize> {
        self.find(&self.by.of_item(key, overlay))
    }

    /// The position of the last item with this key.
    pub(in crate::merge) fn find(&self, key: &str) -> Option<usize> {
        self.numbers.get(key).and_then(|number| usize::try_from(number - self.first).ok())
    }

    /// Whether no two items have the same key.
    pub(in crate::merge) fn are_different(&self) -> bool {
        self.numbers.len() == self.keys.len()
    }

    pub(super) fn insert(&mut self, index: usize, key: &str) {
        let length = self.keys.len();
        let index = index.min(length);
        if index <= length / 2 {
            self.renumber(0..index, -1);
            self.first -= 1;
        } else {
            self.renumber(index..length, 1);
        }
        let key: Arc<str> = Arc::from(key);
        let number = self.first + index as i64;
        let last = self.numbers.entry(Arc::clone(&key)).or_insert(number);
        *last = number.max(*last);
        self.keys.insert(index, key);
    }

    /// Removes the item at `index` and returns its key. `None` if two items have the same key, because the map does not have the
    /// number of the earlier one; the index then has to be discarded.
    pub(super) fn remove(&mut self, index: usize) -> Option<Arc<str>> {
        let length = self.keys.len();
        if !self.are_different() || index >= length {
            return None;
        }
        if index <= length / 2 {
            self.renumber(0..index, 1);
            self.first += 1;
        } else {
            self.renumber(index + 1..length, -1);
        }
        let removed = self.keys.remove(index)?;
        self.numbers.remove(&removed)?;
        Some(removed)
    }

    fn renumber(&mut self, positions: Range<usize>, by: i64) {
        for (position, key) in self.keys.iter().enumerate().take(positions.end).skip(positions.start) {
            // If several items have the key, only the last has its number in the map.
            if let Some(number) = self.numbers.get_mut(key)
                && *number == self.first + position as i64
            {
                *number += by;
            }
        }
    }
}
