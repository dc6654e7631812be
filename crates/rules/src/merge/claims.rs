//! Of two rules that override one key the later wins. The earlier one knows it beforehand: otherwise the second
//! evaluation would change the key to and fro.

use std::cell::LazyCell;
use std::collections::HashMap;

use vestibule_patch::View;

use super::Brought;
use super::blocks::selectable;
use crate::rule::{Block, Item, Policy, Rule};
use crate::subject::NamedContainer;

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
        let named = &|list| NamedContainer::all(spec().and_then(|spec| spec.get(list)));
        let [others, init] = ["containers", "initContainers"].map(|list| LazyCell::new(move || named(list)));
        for (rank, rule) in rules.iter().enumerate() {
            claims.add(&rule.volumes, (rank, 0), || "volumes".to_owned());
            for one in &rule.injected {
                claims.add([&one.item], (rank, 0), || one.list.to_owned());
            }
            for part in rule.metadata.iter().chain(&rule.spec) {
                claims.add([&part.item], (rank, 0), || scope("", &part.path));
            }
            for (number, block) in rule.blocks.iter().enumerate().filter(|(_, block)| overrides(block)) {
                for list in block.select.lists() {
                    let containers = if list == "containers" { &others } else { &init };
                    for (_, container) in selectable(containers, &block.select, brought) {
                        for entry in &block.lists {
                            claims.add(&entry.items, (rank, number), || {
                                format!("{container}/{}", entry.member)
                            });
                        }
                        for part in &block.parts {
                            claims.add([&part.item], (rank, number), || scope(container, &part.path));
                        }
                    }
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

    fn add<'i>(&mut self, items: impl IntoIterator<Item = &'i Item>, turn: Turn, scope: impl Fn() -> String) {
        for item in items.into_iter().filter(|item| item.policy == Policy::Override) {
            self.last.insert((scope(), item.key.clone()), turn);
        }
    }
}

fn overrides(block: &Block) -> bool {
    let items = block.lists.iter().flat_map(|list| &list.items);
    items.chain(block.parts.iter().map(|part| &part.item)).any(|item| item.policy == Policy::Override)
}

/// What a path below `scope` is called.
pub(crate) fn scope(scope: &str, path: &[String]) -> String {
    path.iter().fold(scope.to_owned(), |scope, name| format!("{scope}/{name}"))
}
