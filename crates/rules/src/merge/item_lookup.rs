//! Finds items of rules in a list of the object. Pods with thousands of variables exist, so a list is searched once for all items.

use vestibule_patch::{Key, List, Schema, View};

use super::contains::find;
use super::list_index::{IndexKey, ListIndex};
use crate::key;
use crate::pod;
use crate::rule::Item;

/// A list of the object, prepared for lookups of several items.
pub(super) enum ItemLookup<'e, 'd, 'i> {
    /// The number of items, and the items with the wanted keys.
    Keyed(usize, ByKey<'i, 'd>),
    /// The number of items, none of which has a wanted key.
    Others(usize),
    /// The items of a list without merge keys, or of ports.
    Unkeyed(Vec<View<'d>>),
    /// A list with indexes.
    Indexed(View<'d>, &'e [ListIndex]),
}

/// An item and its index; if several have the key, the last one.
type Found<'d> = Option<(usize, View<'d>)>;

/// The wanted keys in their order, each with its item.
type ByKey<'i, 'd> = Vec<(&'i str, Found<'d>)>;

/// Up to this number of keys, each is searched in the whole text of a list.
const FEW: usize = 8;

impl<'e, 'd, 'i> ItemLookup<'e, 'd, 'i> {
    /// Prepares `list` for lookups of the `wanted` items.
    pub(super) fn new(
        list: Option<View<'d>>,
        indexes: &'e [ListIndex],
        schema: Schema<'_>,
        wanted: impl Iterator<Item = &'i Item> + Clone,
    ) -> Self {
        let Some(list) = list else { return Self::Others(0) };
        if !indexes.is_empty() {
            return Self::Indexed(list, indexes);
        }
        let List::Map(keys) = schema.list() else { return Self::Unkeyed(list.items()) };
        if pod::may_repeat(keys) {
            return Self::Unkeyed(list.items());
        }
        let wanted = wanted.map(|item| item.key.as_str());
        if !mentions(list, keys, wanted.clone()) {
            return Self::Others(list.iter().count());
        }
        let mut by_key: ByKey<'_, '_> = wanted.map(|key| (key, None)).collect();
        by_key.sort_unstable_by_key(|(key, _)| *key);
        by_key.dedup_by_key(|(key, _)| *key);
        let mut length = 0;
        for item in list.iter() {
            let key = key::of_view(item, keys);
            let wanted = by_key.binary_search_by(|(wanted, _)| (**wanted).cmp(&*key)).ok();
            if let Some((_, found)) = wanted.and_then(|index| by_key.get_mut(index)) {
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
            Self::Indexed(_, indexes) => indexes.first().map_or(0, |one| one.keys().len()),
        }
    }

    /// The item of the list `name` that is the same as `item`, one of the wanted items.
    pub(super) fn find(&self, item: &Item, name: &str, schema: Schema<'_>) -> Found<'d> {
        match self {
            Self::Keyed(_, by_key) => {
                let index = by_key.binary_search_by(|(wanted, _)| (**wanted).cmp(item.key.as_str())).ok()?;
                by_key.get(index).and_then(|(_, found)| *found)
            }
            Self::Others(_) => None,
            Self::Unkeyed(items) => find(items, &item.overlay, name, schema),
            Self::Indexed(list, indexes) => {
                let by = IndexKey::of(schema, name, &item.overlay);
                let index = by.and_then(|by| indexes.iter().find(|one| one.by == by));
                // Of items with one key, the index finds the last.
                let may_repeat = || matches!(schema.list(), List::Map(keys) if pod::may_repeat(keys));
                let is_last = || !pod::first_takes_effect(name) && !may_repeat();
                match index.filter(|index| index.are_different() || is_last()) {
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
    if wanted.clone().count() > FEW {
        return true;
    }
    // A key in the text may be escaped. The fold has no early exit, so the compiler can vectorise it.
    let is_escaped = text.bytes().fold(false, |found, byte| found | (byte == b'\\'));
    // An item without a key member has the empty key.
    is_escaped || wanted.any(|key| key.is_empty() || text.contains(key))
}
