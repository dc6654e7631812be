//! Which rule overrides a key last. If two rules override one key, the later one wins, and the earlier one does not write the key
//! at all: otherwise each evaluation would change the key twice.

use std::cell::LazyCell;
use std::collections::HashMap;

use super::draft::Draft;
use super::injected_names::InjectedNames;
use super::selection::{select_users, users_of};
use crate::pod::CONTAINER_LISTS;
use crate::rule::{Base, Item, OnConflict, PartDestination, Rule};

/// A rule's rank, and the number of its block.
type Precedence = (usize, usize);

/// By scope and key: the last rule and block that override it.
#[derive(Default)]
pub(crate) struct Overrides {
    last: HashMap<(String, String), Precedence>,
}

impl Overrides {
    /// The keys that `rules` override in the pod of `draft`.
    pub(crate) fn of(rules: &[&Rule], draft: &Draft<'_>, injected_names: &InjectedNames<'_>) -> Self {
        let mut overrides = Self::default();
        let named = &|list| users_of(draft.at(&draft.layout.list(list)), injected_names);
        let [others, init] = CONTAINER_LISTS.map(|list| LazyCell::new(move || named(list)));
        for (rank, rule) in rules.iter().enumerate() {
            let mut selected: Option<(usize, Vec<&str>)> = None;
            for (destination, item) in
                rule.parts().filter(|(_, item)| item.on_conflict == OnConflict::Override)
            {
                let Base::Containers(number, select) = destination.base else {
                    overrides.add(scope_in_pod(&destination), item, (rank, 0));
                    continue;
                };
                // The containers of a block are found once for all its parts.
                if selected.as_ref().is_none_or(|(known, _)| *known != number) {
                    let lists = select.lists().map(|list| if list == "containers" { &others } else { &init });
                    let found = lists.flat_map(|users| select_users(users, select));
                    selected = Some((number, found.map(|user| &*user.container.name).collect()));
                }
                for container in selected.iter().flat_map(|(_, containers)| containers) {
                    overrides.add(joined(container, destination.path()), item, (rank, number));
                }
            }
        }
        overrides
    }

    /// The rank of the rule that overrides `key` after `precedence`.
    pub(crate) fn by_later(
        &self,
        scope: impl FnOnce() -> String,
        key: &str,
        precedence: Precedence,
    ) -> Option<usize> {
        if self.last.is_empty() {
            return None;
        }
        let last = self.last.get(&(scope(), key.to_owned()))?;
        (*last > precedence).then_some(last.0)
    }

    fn add(&mut self, scope: String, item: &Item, precedence: Precedence) {
        self.last.insert((scope, item.key.clone()), precedence);
    }
}

fn scope_in_pod(destination: &PartDestination<'_>) -> String {
    destination.list.map_or_else(|| joined("", destination.path()), str::to_owned)
}

/// The name of a path below `scope`.
pub(crate) fn scope(scope: &str, path: &[String]) -> String {
    joined(scope, path.iter().map(String::as_str))
}

fn joined<'p>(scope: &str, path: impl Iterator<Item = &'p str>) -> String {
    path.fold(scope.to_owned(), |scope, name| format!("{scope}/{name}"))
}
