//! The items of a list, to find ours among many: pods with thousands of variables exist.

use std::borrow::Cow;
use std::collections::HashMap;

use vestibule_patch::{List, Schema, View};

use super::find;
use crate::key;
use crate::rule::Item;

/// A list that is searched for several items.
pub(super) struct Existing<'d, 'i> {
    items: Vec<View<'d>>,
    /// Index by the key of the items searched for; of doubled ones the last.
    by_key: HashMap<&'i str, usize>,
}

impl<'d, 'i> Existing<'d, 'i> {
    /// The list of `items`, to be searched for what is `wanted`.
    pub(super) fn new(
        items: Vec<View<'d>>,
        schema: Schema<'_>,
        wanted: impl IntoIterator<Item = &'i Item>,
    ) -> Self {
        let List::Map(keys) = schema.list() else {
            return Self { items, by_key: HashMap::new() };
        };
        let mut found: HashMap<&str, Option<usize>> =
            wanted.into_iter().map(|item| (item.key.as_str(), None)).collect();
        for (index, item) in items.iter().enumerate() {
            let key: Cow<'_, str> = key::of_view(*item, keys);
            if let Some(place) = found.get_mut(&*key) {
                *place = Some(index);
            }
        }
        let by_key = found.into_iter().filter_map(|(key, index)| Some((key, index?))).collect();
        Self { items, by_key }
    }

    /// The item of the list `name` that `item`, one of those that are wanted, would be.
    pub(super) fn find(&self, item: &Item, name: &str, schema: Schema<'_>) -> Option<(usize, View<'d>)> {
        match schema.list() {
            List::Map(_) => {
                let index = *self.by_key.get(item.key.as_str())?;
                self.items.get(index).map(|found| (index, *found))
            }
            List::Set | List::Atomic | List::Unknown => find(&self.items, &item.overlay, name, schema),
        }
    }
}
