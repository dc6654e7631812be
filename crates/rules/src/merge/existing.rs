//! The items of a list, to find ours among many: pods with thousands of variables exist.

use std::borrow::Cow;
use std::collections::HashMap;

use vestibule_patch::{List, Schema, View};

use super::find;
use crate::key;
use crate::rule::Item;

/// A list that is searched for several items.
pub(super) struct Existing<'d> {
    items: Vec<View<'d>>,
    /// Index by key; of doubled items the last.
    by_key: HashMap<Cow<'d, str>, usize>,
}

impl<'d> Existing<'d> {
    pub(super) fn new(items: Vec<View<'d>>, schema: Schema<'_>) -> Self {
        let by_key = match schema.list() {
            List::Map(keys) => {
                items.iter().enumerate().map(|(index, item)| (key::of_view(*item, keys), index)).collect()
            }
            List::Set | List::Atomic | List::Unknown => HashMap::new(),
        };
        Self { items, by_key }
    }

    /// The item of the list `name` that `item` would be.
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
