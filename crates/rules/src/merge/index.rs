//! Where the items of lists stand, by their keys. Rules that add to one list would look through it one after the other, in
//! a time that grows with the square of their number; those behind the first few find an index, kept while items come.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use vestibule_patch::{Key, Pointer, View};

use crate::key;

/// So many rules look through a list themselves, which takes them less time.
pub(super) const FEW: usize = 8;

/// The lists that were looked into so often.
#[derive(Clone, Default)]
pub(super) struct Lists(HashMap<Pointer, Kept>);

#[derive(Clone)]
struct Kept {
    places: Places,
    /// How many operations had been carried out when this became what it is.
    since: usize,
}

/// Where the items of one list stand.
#[derive(Clone)]
pub(super) struct Places {
    keys: VecDeque<Arc<str>>,
    /// Items are numbered in their order, and only those on the shorter side are numbered anew when one comes between. Of
    /// doubled keys the last counts.
    numbers: HashMap<Arc<str>, i64>,
    /// The number of the first item.
    first: i64,
}

impl Lists {
    pub(super) fn get(&self, list: &Pointer) -> Option<&Places> {
        if self.0.is_empty() { None } else { self.0.get(list).map(|kept| &kept.places) }
    }

    pub(super) fn put(&mut self, list: Pointer, places: Places, since: usize) {
        self.0.insert(list, Kept { places, since });
    }

    /// An item with this key has come to the place `index` of the list.
    pub(super) fn inserted(&mut self, list: &Pointer, index: usize, key: &str, since: usize) {
        if self.0.is_empty() {
            return;
        }
        self.0.retain(|other, _| other == list || !is_within(other, list.as_str()));
        if let Some(kept) = self.0.get_mut(list) {
            kept.places.insert(index, key);
            kept.since = since;
        }
    }

    /// Something comes to `place`, goes from there, or becomes something else.
    pub(super) fn changed(&mut self, place: &Pointer) {
        if self.0.is_empty() {
            return;
        }
        let place = place.as_str();
        let (above, last) = place.rsplit_once('/').unwrap_or_default();
        // What stands behind an item of a list moves with it.
        let item = last == "-" || last.bytes().all(|byte| byte.is_ascii_digit());
        let place = if item { above } else { place };
        self.0.retain(|list, _| !is_within(list, place));
    }

    /// All operations but the first `count` are forgotten.
    pub(super) fn go_back(&mut self, count: usize) {
        self.0.retain(|_, kept| kept.since <= count);
    }
}

impl Places {
    pub(super) fn of(items: &[View<'_>], keys: &[Key]) -> Self {
        let keys: VecDeque<Arc<str>> =
            items.iter().map(|item| Arc::from(&*key::of_view(*item, keys))).collect();
        let numbers = keys.iter().map(Arc::clone).zip(0..).collect();
        Self { keys, numbers, first: 0 }
    }

    pub(super) fn len(&self) -> usize {
        self.keys.len()
    }

    /// The index of the last item with this key.
    pub(super) fn find(&self, key: &str) -> Option<usize> {
        self.numbers.get(key).and_then(|number| usize::try_from(number - self.first).ok())
    }

    fn insert(&mut self, index: usize, key: &str) {
        let index = index.min(self.keys.len());
        let before = index <= self.keys.len() / 2;
        let mut renumber = |place: usize, key: &Arc<str>, by: i64| {
            // An earlier one of doubled keys has no number.
            if let Some(number) = self.numbers.get_mut(key)
                && *number == self.first + place as i64
            {
                *number += by;
            }
        };
        let keys = self.keys.iter().enumerate();
        if before {
            keys.take(index).for_each(|(place, key)| renumber(place, key, -1));
            self.first -= 1;
        } else {
            keys.skip(index).rev().for_each(|(place, key)| renumber(place, key, 1));
        }
        let key: Arc<str> = Arc::from(key);
        let number = self.first + index as i64;
        let last = self.numbers.entry(Arc::clone(&key)).or_insert(number);
        *last = number.max(*last);
        self.keys.insert(index, key);
    }
}

/// Whether `list` is what stands at `place`, or a part of it.
fn is_within(list: &Pointer, place: &str) -> bool {
    list.as_str().strip_prefix(place).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

#[cfg(test)]
mod tests;
