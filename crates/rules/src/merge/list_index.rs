//! Indexes of lists of the object: the positions of the items by their keys.
//!
//! If many rules add to one list, a search by each of them would take time that grows with the square of their number. An index
//! is built when a list is searched often, and is updated with each operation. A roll back undoes the updates, because a new
//! index after each rule that fails would take quadratic time as well. An operation that an index cannot follow discards it.
//! Without need there is no index: indexes of all lists would make the evaluation of a single rule 1.7 times as long.

mod index_key;
mod one_list;

use std::collections::BTreeMap;
use std::ops::Bound;

use vestibule_patch::{Operation, Pointer};

pub(super) use index_key::IndexKey;
pub(super) use one_list::ListIndex;

use crate::rule::Item;

/// Up to this number of lookups, a search of the list takes less time than an index.
pub(super) const FEW: usize = 8;

/// The maximal number of indexes of one list. Lookups by further keys search the list.
const MAX_INDEXES: usize = 4;

/// The indexes of lists, by the pointers of the lists. The map is sorted, so that the lists below a pointer are adjacent.
#[derive(Clone, Default)]
pub(super) struct ListIndexes(BTreeMap<String, Vec<ListIndex>>);

impl ListIndexes {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The indexes of `list`; none if the list is not indexed.
    pub(super) fn get(&self, list: &Pointer) -> &[ListIndex] {
        self.0.get(list.as_str()).map(Vec::as_slice).unwrap_or_default()
    }

    /// Whether an index of `list` by `key` exists, or no further index of it is allowed.
    pub(super) fn are_enough(&self, list: &Pointer, key: &IndexKey) -> bool {
        let indexes = self.get(list);
        indexes.len() >= MAX_INDEXES || indexes.iter().any(|positions| positions.by == *key)
    }

    pub(super) fn add(&mut self, list: &Pointer, positions: ListIndex) {
        self.0.entry(list.as_str().to_owned()).or_default().push(positions);
    }

    /// `item` was inserted into `list` at the position `index`.
    pub(super) fn inserted(&mut self, list: &Pointer, index: usize, item: &Item) {
        if self.0.is_empty() {
            return;
        }
        self.discard_below(list.as_str(), |below, _| !is_before(below, list, index));
        for positions in self.0.get_mut(list.as_str()).into_iter().flatten() {
            let key = positions.by.of_item(&item.key, &item.overlay);
            positions.insert(index, &key);
        }
    }

    /// `operation` was applied. It inserts no item of a rule.
    pub(super) fn applied(&mut self, operation: &Operation) {
        let path = operation.path();
        let item = path.split_last().and_then(|(list, last)| Some((list, last.parse().ok()?)));
        match (operation, item) {
            _ if self.0.is_empty() => {}
            (Operation::Remove { .. }, Some((list, index))) => self.removed(&list, index),
            _ => self.changed(path),
        }
    }

    /// The item at `index` was removed from `list`.
    pub(super) fn removed(&mut self, list: &Pointer, index: usize) {
        let Some(mut indexes) = self.0.remove(list.as_str()) else { return self.changed(&list.item(index)) };
        self.changed(&list.item(index));
        indexes.retain_mut(|one| {
            let key = one.remove(index);
            key.map(|key| one.removed_keys.push(key)).is_some()
        });
        if !indexes.is_empty() {
            self.0.insert(list.as_str().to_owned(), indexes);
        }
    }

    /// The value at `place` was added, removed or replaced.
    pub(super) fn changed(&mut self, place: &Pointer) {
        if !self.0.is_empty() {
            self.discard_around(place.as_str(), |_| true);
        }
    }

    /// The operations after the first `count` were rolled back; `undone` are these operations.
    pub(super) fn roll_back(&mut self, count: usize, undone: &[Operation]) {
        for (index, operation) in undone.iter().enumerate().rev() {
            let path = operation.path().as_str();
            // An index that was built later has the operation in it from the start.
            self.discard_around(path, |one| one.since > count + index);
            // A list that still has an index has had insertions and removals only.
            let Some((list, last)) = path.rsplit_once('/') else { continue };
            self.retain(list, |one| {
                let index = last.parse().unwrap_or_else(|_| one.keys().len().saturating_sub(1));
                match operation {
                    Operation::Remove { .. } => {
                        one.removed_keys.pop().map(|key| one.insert(index, &key)).is_some()
                    }
                    _ => one.remove(index).is_some(),
                }
            });
        }
        for index in self.0.values_mut().flatten() {
            index.since = index.since.min(count);
        }
    }

    /// Discards the indexes that a change at `place` invalidates, if they are `affected`.
    fn discard_around(&mut self, place: &str, affected: impl Fn(&ListIndex) -> bool) {
        let (above, last) = place.rsplit_once('/').unwrap_or_default();
        // If the place is an item of a list, the items after it get other pointers.
        let is_item = last == "-" || last.bytes().all(|byte| byte.is_ascii_digit());
        let changed = if is_item { above } else { place };
        self.retain(changed, |one| !affected(one));
        self.discard_below(changed, |_, one| affected(one));
        let mut list = place;
        while let Some((above, _)) = list.rsplit_once('/') {
            list = above;
            // The merge keys of an item do not change, whatever else of it does.
            self.retain(list, |one| matches!(one.by, IndexKey::Keys(_)) || !affected(one));
        }
    }

    /// Discards the indexes of lists below `place` for which `affected` holds. It gets the pointer of the list.
    fn discard_below(&mut self, place: &str, affected: impl Fn(&str, &ListIndex) -> bool) {
        let start = format!("{place}/");
        let below = self.0.range::<str, _>((Bound::Included(&*start), Bound::Unbounded));
        let below = below.take_while(|(list, _)| list.starts_with(&start));
        let below = below.filter(|(list, indexes)| indexes.iter().any(|one| affected(list, one)));
        for list in below.map(|(list, _)| list.clone()).collect::<Vec<_>>() {
            self.retain(&list, |one| !affected(&list, one));
        }
    }

    fn retain(&mut self, list: &str, keep: impl FnMut(&mut ListIndex) -> bool) {
        let Some(indexes) = self.0.get_mut(list) else { return };
        indexes.retain_mut(keep);
        if indexes.is_empty() {
            self.0.remove(list);
        }
    }
}

/// Whether the pointer `below` leads into an item of `list` before the position `index`.
fn is_before(below: &str, list: &Pointer, index: usize) -> bool {
    let rest = below.strip_prefix(list.as_str()).and_then(|rest| rest.strip_prefix('/'));
    let item = rest.and_then(|rest| rest.split('/').next()?.parse::<usize>().ok());
    item.is_some_and(|item| item < index)
}

#[cfg(test)]
mod tests;
