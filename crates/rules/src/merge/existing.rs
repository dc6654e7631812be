//! The items of a list, to find ours among many: pods with thousands of variables exist.

use std::collections::HashMap;

use vestibule_patch::{List, Schema, View};

use super::find;
use crate::key;
use crate::rule::Item;

/// A list that is searched for several items.
pub(super) struct Existing<'d, 'i> {
    items: Vec<View<'d>>,
    /// Index by the key of the items searched for; of doubled ones the last.
    by_key: Places<'i>,
}

/// Where something stands, by key: nothing is hashed for the few items that most rules bring.
enum Places<'i> {
    Few(Vec<(&'i str, Option<usize>)>),
    Many(HashMap<&'i str, Option<usize>>),
}

const FEW: usize = 8;

impl<'i> Places<'i> {
    fn of(wanted: impl Iterator<Item = &'i str>) -> Self {
        let wanted: Vec<_> = wanted.map(|key| (key, None)).collect();
        if wanted.len() > FEW { Self::Many(wanted.into_iter().collect()) } else { Self::Few(wanted) }
    }

    fn get_mut(&mut self, key: &str) -> Option<&mut Option<usize>> {
        match self {
            Self::Few(places) => places.iter_mut().find(|(one, _)| *one == key).map(|(_, place)| place),
            Self::Many(places) => places.get_mut(key),
        }
    }

    fn get(&self, key: &str) -> Option<usize> {
        match self {
            Self::Few(places) => places.iter().find(|(one, _)| *one == key).and_then(|(_, place)| *place),
            Self::Many(places) => places.get(key).copied().flatten(),
        }
    }
}

impl<'d, 'i> Existing<'d, 'i> {
    /// The list of `items`, to be searched for what is `wanted`.
    pub(super) fn new(
        items: Vec<View<'d>>,
        schema: Schema<'_>,
        wanted: impl IntoIterator<Item = &'i Item>,
    ) -> Self {
        let List::Map(keys) = schema.list() else {
            return Self { items, by_key: Places::Few(Vec::new()) };
        };
        let mut by_key = Places::of(wanted.into_iter().map(|item| item.key.as_str()));
        for (index, item) in items.iter().enumerate() {
            if let Some(place) = by_key.get_mut(&key::of_view(*item, keys)) {
                *place = Some(index);
            }
        }
        Self { items, by_key }
    }

    /// The item of the list `name` that `item`, one of those that are wanted, would be.
    pub(super) fn find(&self, item: &Item, name: &str, schema: Schema<'_>) -> Option<(usize, View<'d>)> {
        match schema.list() {
            List::Map(_) => {
                let index = self.by_key.get(&item.key)?;
                self.items.get(index).map(|found| (index, *found))
            }
            List::Set | List::Atomic | List::Unknown => find(&self.items, &item.overlay, name, schema),
        }
    }
}
