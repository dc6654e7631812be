//! Finds items of rules in a list of the object. Pods with thousands of variables exist, so a list is searched once for all items.

use std::collections::HashMap;

use vestibule_patch::{Key, List, Schema, View};

use super::contains::find;
use super::list_index::{IndexKey, ListIndex};
use crate::key;
use crate::rule::Item;

/// A list of the object, prepared for lookups of several items.
pub(super) enum ItemLookup<'e, 'd, 'i> {
    /// The number of items, and the items with the wanted keys.
    Keyed(usize, ByKey<'i, 'd>),
    /// The number of items, none of which has a wanted key.
    Others(usize),
    /// The items of a list without keys.
    Unkeyed(Vec<View<'d>>),
    /// A list with indexes.
    Indexed(View<'d>, &'e ListIndex),
}

/// An item and its index; if several have the key, the last one.
type Found<'d> = Option<(usize, View<'d>)>;

/// The items that were found, by key. For up to [`FEW`] keys, which most rules have, a scan is faster than hashing.
pub(super) enum ByKey<'i, 'd> {
    Few(Vec<(&'i str, Found<'d>)>),
    Many(HashMap<&'i str, Found<'d>>),
}

const FEW: usize = 8;

impl<'i, 'd> ByKey<'i, 'd> {
    fn of(wanted: impl Iterator<Item = &'i str>) -> Self {
        let wanted: Vec<_> = wanted.map(|key| (key, None)).collect();
        if wanted.len() > FEW { Self::Many(wanted.into_iter().collect()) } else { Self::Few(wanted) }
    }

    fn get_mut(&mut self, key: &str) -> Option<&mut Found<'d>> {
        match self {
            Self::Few(all) => all.iter_mut().find(|(one, _)| *one == key).map(|(_, found)| found),
            Self::Many(all) => all.get_mut(key),
        }
    }

    fn get(&self, key: &str) -> Found<'d> {
        match self {
            Self::Few(all) => all.iter().find(|(one, _)| *one == key).and_then(|(_, found)| *found),
            Self::Many(all) => all.get(key).copied().flatten(),
        }
    }
}

impl<'d, 'i> ItemLookup<'_, 'd, 'i> {
    /// Prepares `list` for lookups of the `wanted` items.
    pub(super) fn new(
        list: Option<View<'d>>,
        schema: Schema<'_>,
        wanted: impl Iterator<Item = &'i Item> + Clone,
    ) -> Self {
        let Some(list) = list else { return Self::Others(0) };
        let List::Map(keys) = schema.list() else { return Self::Unkeyed(list.items()) };
        let wanted = wanted.map(|item| item.key.as_str());
        if !mentions(list, keys, wanted.clone()) {
            return Self::Others(list.iter().count());
        }
        let mut by_key = ByKey::of(wanted);
        let mut length = 0;
        for item in list.iter() {
            if let Some(found) = by_key.get_mut(&key::of_view(item, keys)) {
                *found = Some((length, item));
            }
            length += 1;
        }
        Self::Keyed(length, by_key)
    }

    pub(super) fn len(&self) -> usize {
        match self {
            Self::Keyed(length, _) | Self::Others(length) => *length,
            Self::Unkeyed(items) => items.len(),
            Self::Indexed(_, indexes) => indexes.len(),
        }
    }

    /// The item of the list `name` that is the same as `item`, one of the wanted items.
    pub(super) fn find(&self, item: &Item, name: &str, schema: Schema<'_>) -> Found<'d> {
        match self {
            Self::Keyed(_, by_key) => by_key.get(&item.key),
            Self::Others(_) => None,
            Self::Unkeyed(items) => find(items, &item.overlay, name, schema),
            Self::Indexed(list, indexes) => {
                match IndexKey::of(schema, name, &item.overlay).and_then(|by| indexes.by(&by)) {
                    Some(places) => {
                        let index = places.find_item(&item.key, &item.overlay)?;
                        list.item(index).map(|found| (index, found))
                    }
                    None => find(&list.items(), &item.overlay, name, schema),
                }
            }
        }
    }
}

/// Whether the text of `list` contains one of the `wanted` keys. Most lists do not, and need not be parsed.
fn mentions<'i>(list: View<'_>, keys: &[Key], mut wanted: impl Iterator<Item = &'i str> + Clone) -> bool {
    let (Some(text), [Key { default: None, .. }]) = (list.as_written(), keys) else { return true };
    // Each key is searched in the whole text.
    if wanted.clone().count() > FEW {
        return true;
    }
    // A key in the text may be escaped. The fold has no early exit, so the compiler can vectorise it.
    let is_escaped = text.bytes().fold(false, |found, byte| found | (byte == b'\\'));
    // An item without a key member has the empty key.
    is_escaped || wanted.any(|key| key.is_empty() || text.contains(key))
}
