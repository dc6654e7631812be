//! The items of a list, to find ours among many: pods with thousands of variables exist.

use std::collections::HashMap;

use vestibule_patch::{Key, List, Schema, View};

use super::find;
use super::list_index::{IndexKey, ListIndex};
use crate::key;
use crate::rule::Item;

/// A list that is searched for several items.
pub(super) enum ItemLookup<'e, 'd, 'i> {
    /// How many items it has, and which of them have the keys that are searched.
    Keyed(usize, ByKey<'i, 'd>),
    /// How many items it has, none of which is searched.
    Others(usize),
    /// Items without keys.
    Listed(Vec<View<'d>>),
    /// A list that somebody has indexes of.
    Indexed(View<'d>, &'e ListIndex),
}

/// What stands where in the list; of doubled ones the last.
type Found<'d> = Option<(usize, View<'d>)>;

/// What was found, by key: nothing is hashed for the few items that most rules bring.
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
    /// The items of `list`, to be searched for what is `wanted`.
    pub(super) fn new(
        list: Option<View<'d>>,
        schema: Schema<'_>,
        wanted: impl Iterator<Item = &'i Item> + Clone,
    ) -> Self {
        let Some(list) = list else { return Self::Others(0) };
        let List::Map(keys) = schema.list() else { return Self::Listed(list.items()) };
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
            Self::Listed(items) => items.len(),
            Self::Indexed(_, indexes) => indexes.len(),
        }
    }

    /// The item of the list `name` that `item`, one of those that are wanted, would be.
    pub(super) fn find(&self, item: &Item, name: &str, schema: Schema<'_>) -> Found<'d> {
        match self {
            Self::Keyed(_, by_key) => by_key.get(&item.key),
            Self::Others(_) => None,
            Self::Listed(items) => find(items, &item.overlay, name, schema),
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

/// Whether items of `list` may have one of the keys that are `wanted`: most lists mention none of them anywhere, and nobody has
/// to take those apart.
fn mentions<'i>(list: View<'_>, keys: &[Key], mut wanted: impl Iterator<Item = &'i str> + Clone) -> bool {
    let (Some(text), [Key { default: None, .. }]) = (list.as_written(), keys) else { return true };
    // Each is looked for in all of the text.
    if wanted.clone().count() > FEW {
        return true;
    }
    // Escaped, a key looks otherwise. Whoever need not stop at the first can look at many bytes at once.
    let is_escaped = text.bytes().fold(false, |found, byte| found | (byte == b'\\'));
    // An item without a key has the empty one.
    is_escaped || wanted.any(|key| key.is_empty() || text.contains(key))
}
