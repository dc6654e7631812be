//! Where the items of lists stand, by what tells them apart. Rules that add to one list would look through it one after the
//! other, in a time that grows with the square of their number; those behind the first few find an index, kept while items
//! come and go.

mod index_key;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::ops::{Bound, Range};
use std::sync::Arc;

use vestibule_patch::{Operation, Pointer, View};

pub(super) use index_key::IndexKey;

use crate::overlay::Overlay;
use crate::rule::Item;

/// So many rules look through a list themselves, which takes them less time.
pub(super) const FEW: usize = 8;

/// By so many shapes the items of one list are kept; whoever brings another one looks through it.
const SHAPES: usize = 4;

/// The lists that were looked into so often, by their pointers: what stands in one place stands together.
#[derive(Clone, Default)]
pub(super) struct ListIndexes(BTreeMap<String, ListIndex>);

/// All that is kept of one list, which is something.
#[derive(Clone, Default)]
pub(super) struct ListIndex(Vec<Kept>);

#[derive(Clone)]
struct Kept {
    places: Positions,
    /// How many operations had been carried out when this was made.
    since: usize,
    /// The keys of the items that went since, for who goes back.
    gone: Vec<Arc<str>>,
}

/// Where the items of one list stand.
#[derive(Clone)]
pub(super) struct Positions {
    by: IndexKey,
    keys: VecDeque<Arc<str>>,
    /// Items are numbered in their order, and only those on the shorter side are numbered anew when one comes between or goes. Of
    /// doubled keys the last counts.
    numbers: HashMap<Arc<str>, i64>,
    /// The number of the first item.
    first: i64,
}

impl ListIndexes {
    /// Whether anything is kept.
    pub(super) fn is_some(&self) -> bool {
        !self.0.is_empty()
    }

    pub(super) fn get(&self, list: &Pointer) -> Option<&ListIndex> {
        if self.0.is_empty() { None } else { self.0.get(list.as_str()) }
    }

    pub(super) fn put(&mut self, list: &Pointer, places: Positions, since: usize) {
        self.0.entry(list.as_str().to_owned()).or_default().0.push(Kept { places, since, gone: Vec::new() });
    }

    /// `item` has come to the place `index` of the list.
    pub(super) fn inserted(&mut self, list: &Pointer, index: usize, item: &Item) {
        if self.0.is_empty() {
            return;
        }
        self.forget_below(list.as_str(), |part, _| !is_in_front(part, list, index));
        for kept in self.0.get_mut(list.as_str()).map(|list| &mut list.0).into_iter().flatten() {
            let key = kept.places.by.of_item(&item.key, &item.overlay);
            kept.places.insert(index, &key);
        }
    }

    /// The item at `index` has gone from the list.
    pub(super) fn removed(&mut self, list: &Pointer, index: usize) {
        let Some(mut kept) = self.0.remove(list.as_str()) else { return self.changed(&list.item(index)) };
        self.changed(&list.item(index));
        kept.0.retain_mut(|kept| {
            let gone = kept.places.remove(index);
            gone.map(|gone| kept.gone.push(gone)).is_some()
        });
        if !kept.0.is_empty() {
            self.0.insert(list.as_str().to_owned(), kept);
        }
    }

    /// Something comes to `place`, goes from there, or becomes something else.
    pub(super) fn changed(&mut self, place: &Pointer) {
        if !self.0.is_empty() {
            self.forget_around(place.as_str(), |_| true);
        }
    }

    /// All operations but the first `count` are forgotten; `undone` are these.
    pub(super) fn go_back(&mut self, count: usize, undone: &[Operation]) {
        for (index, operation) in undone.iter().enumerate().rev() {
            let path = operation.path().as_str();
            // Whoever looked later has seen it already.
            self.forget_around(path, |kept| kept.since > count + index);
            // Of a list of which something is known items have come and gone, and nothing else.
            let Some((list, last)) = path.rsplit_once('/') else { continue };
            self.retain(list, |Kept { places, gone, .. }| {
                let index = last.parse().unwrap_or_else(|_| places.keys.len().saturating_sub(1));
                match operation {
                    Operation::Remove { .. } => gone.pop().map(|key| places.insert(index, &key)).is_some(),
                    _ => places.remove(index).is_some(),
                }
            });
        }
        for kept in self.0.values_mut().flat_map(|list| &mut list.0) {
            kept.since = kept.since.min(count);
        }
    }

    /// Forgets what a change at `place` concerns, as far as it `goes`.
    fn forget_around(&mut self, place: &str, goes: impl Fn(&Kept) -> bool) {
        let (above, last) = place.rsplit_once('/').unwrap_or_default();
        // What stands behind an item of a list moves with it.
        let item = last == "-" || last.bytes().all(|byte| byte.is_ascii_digit());
        let whole = if item { above } else { place };
        self.retain(whole, |kept| !goes(kept));
        self.forget_below(whole, |_, kept| goes(kept));
        let mut list = place;
        while let Some((above, _)) = list.rsplit_once('/') {
            list = above;
            // Keys stay what they are, whatever else becomes of an item.
            self.retain(list, |kept| matches!(kept.places.by, IndexKey::Keys(_)) || !goes(kept));
        }
    }

    fn retain(&mut self, list: &str, stays: impl FnMut(&mut Kept) -> bool) {
        let Some(kept) = self.0.get_mut(list) else { return };
        kept.0.retain_mut(stays);
        if kept.0.is_empty() {
            self.0.remove(list);
        }
    }

    /// Forgets what is kept of the lists below `place` and `is_meant`.
    fn forget_below(&mut self, place: &str, is_meant: impl Fn(&str, &Kept) -> bool) {
        let start = format!("{place}/");
        let below = self.0.range::<str, _>((Bound::Included(&*start), Bound::Unbounded));
        let below = below.take_while(|(list, _)| list.starts_with(&start));
        let below = below.filter(|(list, kept)| kept.0.iter().any(|kept| is_meant(list, kept)));
        for list in below.map(|(list, _)| list.clone()).collect::<Vec<_>>() {
            self.retain(&list, |kept| !is_meant(&list, kept));
        }
    }
}

impl ListIndex {
    /// Whether there is, or may be, no other one by this.
    pub(super) fn are_enough(&self, by: &IndexKey) -> bool {
        self.0.len() >= SHAPES || self.by(by).is_some()
    }

    pub(super) fn by(&self, by: &IndexKey) -> Option<&Positions> {
        self.0.iter().map(|kept| &kept.places).find(|places| places.by == *by)
    }

    /// By the keys that the schema names.
    pub(super) fn by_keys(&self) -> Option<&Positions> {
        self.0.iter().map(|kept| &kept.places).find(|places| matches!(places.by, IndexKey::Keys(_)))
    }

    /// How many items the list has.
    pub(super) fn len(&self) -> usize {
        self.0.first().map_or(0, |kept| kept.places.keys.len())
    }
}

impl Positions {
    pub(super) fn of(items: &[View<'_>], by: IndexKey) -> Self {
        let keys: VecDeque<Arc<str>> = items.iter().map(|item| Arc::from(&*by.of_view(*item))).collect();
        let numbers = keys.iter().map(Arc::clone).zip(0..).collect();
        Self { by, keys, numbers, first: 0 }
    }

    pub(super) fn keys(&self) -> impl ExactSizeIterator<Item = &str> {
        self.keys.iter().map(|key| &**key)
    }

    /// The index of the last item that is the same as `overlay`, one with this key.
    pub(super) fn find_item(&self, key: &str, overlay: &Overlay) -> Option<usize> {
        self.find(&self.by.of_item(key, overlay))
    }

    /// The index of the last item with this key.
    pub(super) fn find(&self, key: &str) -> Option<usize> {
        self.numbers.get(key).and_then(|number| usize::try_from(number - self.first).ok())
    }

    /// Whether no two items have the same key.
    pub(super) fn are_different(&self) -> bool {
        self.numbers.len() == self.keys.len()
    }

    fn insert(&mut self, index: usize, key: &str) {
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

    /// The key of the item that goes, if that could be followed: of doubled keys nobody knows which is the last without it.
    fn remove(&mut self, index: usize) -> Option<Arc<str>> {
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
        let gone = self.keys.remove(index)?;
        self.numbers.remove(&gone)?;
        Some(gone)
    }

    fn renumber(&mut self, places: Range<usize>, by: i64) {
        for (place, key) in self.keys.iter().enumerate().take(places.end).skip(places.start) {
            // An earlier one of doubled keys has no number.
            if let Some(number) = self.numbers.get_mut(key)
                && *number == self.first + place as i64
            {
                *number += by;
            }
        }
    }
}

/// Whether `part` is one of an item of `list` that stands before the place `index`.
fn is_in_front(part: &str, list: &Pointer, index: usize) -> bool {
    let rest = part.strip_prefix(list.as_str()).and_then(|rest| rest.strip_prefix('/'));
    let item = rest.and_then(|rest| rest.split('/').next()?.parse::<usize>().ok());
    item.is_some_and(|item| item < index)
}

#[cfg(test)]
mod tests;
