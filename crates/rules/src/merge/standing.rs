//! How the parts of a rule stand in the object in the end: for those who ask why one of them changed nothing.

use std::collections::HashMap;
use std::sync::Arc;

use vestibule_patch::{List, Pointer, Schema, View};

use super::blocks::selected_of;
use super::{Brought, Draft, contains, find};
use crate::key;
use crate::pod::{self, Shape};
use crate::rule::{Item, Part, Policy, Rule};
use crate::subject::{Layout, NamedContainer};

/// How the parts of rules stand, by the name of the rule and the text of the clause.
pub(crate) type Standings = HashMap<(Arc<str>, Arc<str>), Standing>;

/// How one part of a rule stands in all the places that it is meant for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// In all of them.
    There,
    /// In one at least, something else is there to which the rule yields.
    Yielded,
    /// In one at least, something else is there that a later rule or block wants.
    Overruled,
    /// It is meant for no place at all: no container is selected.
    Nowhere,
}

/// How the parts of `rules` stand, which are laid into `draft`.
pub(crate) fn standings(rules: &[&Rule], layout: &Layout, shape: &Shape, draft: &Draft<'_>) -> Standings {
    let brought = Brought::by(rules);
    let users = LISTS.map(|list| {
        let containers = NamedContainer::all(draft.at(&layout.list(list))).into_iter().enumerate();
        containers.filter(|(_, one)| !brought.has(&one.name)).collect()
    });
    let mut look = Look { layout, shape, draft, users, keyed: HashMap::new(), found: Standings::new() };
    rules.iter().for_each(|rule| look.at(rule));
    look.found
}

/// Where the containers stand that blocks are for, the second only where a block says so.
const LISTS: [&str; 2] = ["containers", "initContainers"];

struct Look<'l, 'd> {
    layout: &'l Layout,
    shape: &'l Shape,
    draft: &'l Draft<'d>,
    /// Of each of [`LISTS`] the containers that no rule brings, with their indices.
    users: [Vec<(usize, NamedContainer<'l>)>; LISTS.len()],
    /// The items of lists that have keys, by these.
    keyed: HashMap<Pointer, HashMap<String, View<'l>>>,
    found: Standings,
}

impl Look<'_, '_> {
    fn at(&mut self, rule: &Rule) {
        let Shape { metadata, spec, container, .. } = *self.shape;
        let layout = self.layout;
        self.parts(rule, &layout.metadata, metadata, &rule.metadata);
        self.parts(rule, &layout.spec, spec, &rule.spec);
        self.items(rule, &layout.list("volumes"), "volumes", spec, &rule.volumes);
        for one in &rule.injected {
            let list = layout.list(one.list);
            self.items(rule, &list, one.list, spec, std::slice::from_ref(&one.item));
        }
        for block in &rule.blocks {
            let items = block.lists.iter().flat_map(|entry| &entry.items);
            for item in items.chain(block.parts.iter().map(|part| &part.item)) {
                self.found.insert((Arc::clone(&rule.name), Arc::clone(&item.clause.text)), Standing::Nowhere);
            }
            let lists = LISTS.iter().zip(&self.users).take(1 + usize::from(block.select.init));
            let places = lists.flat_map(|(list, users)| {
                let meant = selected_of(users.iter().map(|(index, one)| (*index, one)), &block.select);
                meant.into_iter().map(|(index, _)| layout.list(list).item(index))
            });
            for place in places.collect::<Vec<Pointer>>() {
                for entry in &block.lists {
                    self.items(rule, &place.child(entry.member), entry.member, container, &entry.items);
                }
                self.parts(rule, &place, container, &block.parts);
            }
        }
    }

    fn items(&mut self, rule: &Rule, list: &Pointer, name: &str, above: Schema<'_>, items: &[Item]) {
        for item in items {
            let there = self.is_in(list, name, above.field(name), item);
            self.note(rule, item, there);
        }
    }

    fn parts(&mut self, rule: &Rule, base: &Pointer, schema: Schema<'_>, parts: &[Part]) {
        for Part { path, listed, item } in parts {
            let place = path.iter().fold(base.clone(), |place, name| place.child(name));
            let schema = path.iter().fold(schema, |schema, name| schema.field(name));
            let name = path.last().map_or("", String::as_str);
            let there = if *listed {
                self.is_in(&place, name, schema, item)
            } else {
                // Every entry of `requests` is a quantity, whatever its key.
                let name = if pod::is_text_map(name) { name } else { &item.key };
                let found = self.draft.at(&place.child(&item.key));
                found.is_some_and(|found| contains(found, &item.overlay, name, schema.field(&item.key)))
            };
            self.note(rule, item, there);
        }
    }

    fn is_in(&mut self, list: &Pointer, name: &str, schema: Schema<'_>, item: &Item) -> bool {
        let found = match schema.list() {
            List::Map(keys) => {
                let existing = || self.draft.at(list).map(View::items).unwrap_or_default().into_iter();
                let by_key = || existing().map(|one| (key::of_view(one, keys).into_owned(), one));
                let keyed = self.keyed.entry(list.clone()).or_insert_with(|| by_key().collect());
                keyed.get(&key::of_overlay(&item.overlay, keys)).copied()
            }
            _ => find(&self.existing(list), &item.overlay, name, schema).map(|(_, found)| found),
        };
        found.is_some_and(|found| contains(found, &item.overlay, name, schema.item()))
    }

    fn note(&mut self, rule: &Rule, item: &Item, there: bool) {
        let standing = match item.policy {
            _ if there => Standing::There,
            Policy::Override => Standing::Overruled,
            _ => Standing::Yielded,
        };
        let known = self.found.entry((Arc::clone(&rule.name), Arc::clone(&item.clause.text)));
        let known = known.or_insert(standing);
        // Where it differs is what is asked about.
        if matches!(known, Standing::There | Standing::Nowhere) {
            *known = standing;
        }
    }

    fn existing(&self, list: &Pointer) -> Vec<View<'_>> {
        self.draft.at(list).map(View::items).unwrap_or_default()
    }
}
