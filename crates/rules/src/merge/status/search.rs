//! Each list searched once for all rules, where many of them act.

use std::collections::HashMap;

use vestibule_patch::{Pointer, Schema, View};

use super::{Holding, Place, SPEC};
use crate::merge::existing::Existing;
use crate::merge::{find, holds, present};
use crate::pod::Shape;
use crate::rule::{Base, Item, Rule};

impl<'h> Holding<'h> {
    /// Searches the lists that `rules` add to, for all that they add.
    pub(super) fn search(&mut self, rules: &[&'h Rule]) {
        let mut wanted: HashMap<(bool, &'static str), Vec<&'h Item>> = HashMap::new();
        for (destination, item) in rules.iter().flat_map(|rule| rule.parts()) {
            if let Some(list) = destination.list {
                let of_containers = matches!(destination.base, Base::Containers(..));
                wanted.entry((of_containers, list)).or_default().push(item);
            }
        }
        let Shape { spec, container, .. } = *self.shape;
        for ((of_containers, name), wanted) in wanted {
            let search = |base: Option<View<'h>>, above: Schema<'_>| {
                let list = base.and_then(|base| present(base, name));
                Existing::new(list, above.field(name), wanted.iter().copied())
            };
            if !of_containers {
                self.searched.insert((SPEC, name), search(self.spec, spec));
                continue;
            }
            for (list, containers) in
                [("containers", &self.containers), ("initContainers", &self.init_containers)]
            {
                let users = containers.iter().enumerate().filter(|(_, one)| !self.brought.has(&one.name));
                let found =
                    users.map(|(index, one)| (((list, index), name), search(Some(one.view), container)));
                self.searched.extend(found);
            }
        }
    }

    /// Where something stands that has lists.
    pub(super) fn at(&self, place: Place) -> Pointer {
        match place {
            SPEC => self.layout.spec.clone(),
            (list, index) => self.layout.list(list).item(index),
        }
    }

    /// Whether `list`, called `name`, which stands at `at`, holds `item`.
    pub(super) fn is_listed(
        &self,
        list: Option<View<'_>>,
        at: impl Fn() -> Pointer,
        item: &Item,
        name: &str,
        schema: Schema<'_>,
    ) -> bool {
        let indexes = if self.is_of_many { self.draft.indexes(&at()) } else { None };
        let found = match (list, indexes) {
            (Some(list), Some(indexes)) => Existing::Indexed(list, indexes).find(item, name, schema),
            (list, _) => find(&list.map(View::items).unwrap_or_default(), &item.overlay, name, schema),
        };
        found.is_some_and(|(_, found)| holds(found, item, name, schema.item()))
    }
}
