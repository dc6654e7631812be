//! Whether the final object has the parts of a rule. An explanation says with it why a part changed nothing.

use std::collections::HashMap;
use std::sync::Arc;

use vestibule_patch::{List, Pointer, Schema, View};

use super::contains::{contains, find};
use super::draft::Draft;
use super::injected_names::InjectedNames;
use super::selection::select_users;
use crate::key;
use crate::pod::{self, Shape};
use crate::rule::{Base, Item, PartDestination, Policy, Rule, Select};
use crate::subject::{Layout, NamedContainer};

/// By the name of the rule and the text of the clause.
pub(crate) type Standings = HashMap<(Arc<str>, Arc<str>), Standing>;

/// Whether the object has a part of a rule, in all containers that it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// The object has it.
    There,
    /// The object has something else, which the rule keeps.
    Yielded,
    /// The object has something else, which a later rule or block has set.
    Overruled,
    /// The block of the part selects no container.
    Nowhere,
}

/// The standings of the parts of `rules`, which have been applied to `draft`.
pub(crate) fn standings(rules: &[&Rule], layout: &Layout, shape: &Shape, draft: &Draft<'_>) -> Standings {
    let injected_names = InjectedNames::of(rules);
    let users = LISTS.map(|list| {
        let containers = NamedContainer::all(draft.at(&layout.list(list))).into_iter().enumerate();
        containers.filter(|(_, one)| !injected_names.has(&one.name)).collect()
    });
    let mut look = Look { layout, shape, draft, users, keyed: HashMap::new(), found: Standings::new() };
    rules.iter().for_each(|rule| look.at(rule));
    look.found
}

/// The lists with containers that blocks may select, the second only with `init`.
const LISTS: [&str; 2] = ["containers", "initContainers"];

struct Look<'l, 'd> {
    layout: &'l Layout,
    shape: &'l Shape,
    draft: &'l Draft<'d>,
    /// The containers of each of [`LISTS`] that no rule injects, with their indices.
    users: [Vec<(usize, NamedContainer<'l>)>; LISTS.len()],
    /// The items of keyed lists, by their keys.
    keyed: HashMap<Pointer, HashMap<String, View<'l>>>,
    found: Standings,
}

impl Look<'_, '_> {
    fn at(&mut self, rule: &Rule) {
        // The containers that each block selects, found once for all parts of the block.
        let selected: Vec<Vec<Pointer>> =
            rule.blocks.iter().map(|block| self.selected(&block.select)).collect();
        for (destination, item) in rule.parts() {
            let (metadata, spec) = (&self.layout.metadata, &self.layout.spec);
            let bases = match destination.base {
                Base::Metadata => std::slice::from_ref(metadata),
                Base::Spec => std::slice::from_ref(spec),
                Base::Containers(number, _) => selected.get(number).map(Vec::as_slice).unwrap_or_default(),
            };
            let clause = (Arc::clone(&rule.name), Arc::clone(&item.clause.text));
            if bases.is_empty() {
                self.found.insert(clause, Standing::Nowhere);
                continue;
            }
            for base in bases {
                let there = self.is_there(&destination, base, item);
                self.note(clause.clone(), item.policy, there);
            }
        }
    }

    /// The containers that `select` selects.
    fn selected(&self, select: &Select) -> Vec<Pointer> {
        let lists = LISTS.iter().zip(&self.users).take(1 + usize::from(select.init));
        let pointers = lists.flat_map(|(list, users)| {
            let selected = select_users(users.iter().map(|(index, one)| (*index, one)), select);
            selected.into_iter().map(|(index, _)| self.layout.list(list).item(index))
        });
        pointers.collect()
    }

    fn is_there(&mut self, destination: &PartDestination<'_>, base: &Pointer, item: &Item) -> bool {
        let (pointer, schema, name) =
            (destination.pointer(base), destination.schema(self.shape), destination.name());
        if destination.is_item {
            return self.is_in(&pointer, name, schema, item);
        }
        // All entries of maps such as `requests` have the type that the name of the map determines.
        let name = if pod::is_text_map(name) { name } else { &item.key };
        let found = self.draft.at(&pointer.child(&item.key));
        found.is_some_and(|found| contains(found, &item.overlay, name, schema.field(&item.key)))
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

    fn note(&mut self, clause: (Arc<str>, Arc<str>), policy: Policy, there: bool) {
        let standing = match policy {
            _ if there => Standing::There,
            Policy::Override => Standing::Overruled,
            _ => Standing::Yielded,
        };
        let known = self.found.entry(clause).or_insert(standing);
        // A container that differs takes precedence over containers that have the part.
        if matches!(known, Standing::There | Standing::Nowhere) {
            *known = standing;
        }
    }

    fn existing(&self, list: &Pointer) -> Vec<View<'_>> {
        self.draft.at(list).map(View::items).unwrap_or_default()
    }
}
