//! Of two rules that override one key the later wins. The earlier one knows it beforehand: otherwise the second
//! evaluation would change the key to and fro.

use std::cell::LazyCell;
use std::collections::HashMap;

use vestibule_patch::View;

use super::Brought;
use super::blocks::selectable;
use crate::rule::{Base, Item, PartDestination, Policy, Rule};
use crate::subject::Named;

/// A rule's rank among those that apply, and the number of its block.
type Turn = (usize, usize);

/// Who overrides what.
#[derive(Default)]
pub(crate) struct Claims {
    last: HashMap<(String, String), Turn>,
}

impl Claims {
    /// What `rules` override in a pod whose specification `spec` finds.
    pub(crate) fn of<'d>(
        rules: &[&Rule],
        spec: impl Fn() -> Option<View<'d>>,
        brought: &Brought<'_>,
    ) -> Self {
        let mut claims = Self::default();
        let named = &|list| Named::all(spec().and_then(|spec| spec.get(list)));
        let [others, init] = ["containers", "initContainers"].map(|list| LazyCell::new(move || named(list)));
        for (rank, rule) in rules.iter().enumerate() {
            let mut selected: Option<(usize, Vec<&str>)> = None;
            for (destination, item) in rule.parts().filter(|(_, item)| item.policy == Policy::Override) {
                let Base::Containers(number, select) = destination.base else {
                    claims.add(scope_in_pod(&destination), item, (rank, 0));
                    continue;
                };
                // The containers of a block are found once for all its parts.
                if selected.as_ref().is_none_or(|(known, _)| *known != number) {
                    let lists = select.lists().map(|list| if list == "containers" { &others } else { &init });
                    let found = lists.flat_map(|containers| selectable(containers, select, brought));
                    selected = Some((number, found.map(|(_, container)| container).collect()));
                }
                for container in selected.iter().flat_map(|(_, containers)| containers) {
                    claims.add(joined(container, destination.path()), item, (rank, number));
                }
            }
        }
        claims
    }

    /// The rank of the rule that overrides `key` after `turn`.
    pub(crate) fn by_later(&self, scope: impl FnOnce() -> String, key: &str, turn: Turn) -> Option<usize> {
        if self.last.is_empty() {
            return None;
        }
        let last = self.last.get(&(scope(), key.to_owned()))?;
        (*last > turn).then_some(last.0)
    }

    fn add(&mut self, scope: String, item: &Item, turn: Turn) {
        self.last.insert((scope, item.key.clone()), turn);
    }
}

fn scope_in_pod(destination: &PartDestination<'_>) -> String {
    destination.list.map_or_else(|| joined("", destination.path()), str::to_owned)
}

/// What a path below `scope` is called.
pub(crate) fn scope(scope: &str, path: &[String]) -> String {
    joined(scope, path.iter().map(String::as_str))
}

fn joined<'p>(scope: &str, path: impl Iterator<Item = &'p str>) -> String {
    path.fold(scope.to_owned(), |scope, name| format!("{scope}/{name}"))
}
