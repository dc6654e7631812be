//! Of two rules that override one key the later wins. The earlier one knows it beforehand: otherwise the second
//! evaluation would change the key to and fro.

use std::collections::{HashMap, HashSet};

use vestibule_patch::View;

use super::blocks::selectable;
use crate::rule::{Item, Policy, Rule};

/// A rule's rank among those that apply, and the number of its block.
type Turn = (usize, usize);

/// Who overrides what.
#[derive(Default)]
pub(crate) struct Claims {
    last: HashMap<(String, String), Turn>,
}

impl Claims {
    /// What `rules` override in a pod of the specification `spec`.
    pub(crate) fn of(rules: &[&Rule], spec: Option<View<'_>>, owned: &HashSet<&str>) -> Self {
        let mut claims = Self::default();
        for (rank, rule) in rules.iter().enumerate() {
            claims.add("volumes", &rule.volumes, (rank, 0));
            for one in &rule.injected {
                claims.add(one.list, [&one.item], (rank, 0));
            }
            for part in rule.metadata.iter().chain(&rule.spec) {
                claims.add(&scope("", &part.path), [&part.item], (rank, 0));
            }
            for (number, block) in rule.blocks.iter().enumerate() {
                for list in ["containers", "initContainers"].iter().take(1 + usize::from(block.select.init)) {
                    let containers =
                        spec.and_then(|spec| spec.get(list)).map(View::items).unwrap_or_default();
                    for (_, container) in selectable(&containers, &block.select, owned) {
                        for entry in &block.lists {
                            claims.add(
                                &format!("{container}/{}", entry.member),
                                &entry.items,
                                (rank, number),
                            );
                        }
                        for part in &block.parts {
                            claims.add(&scope(&container, &part.path), [&part.item], (rank, number));
                        }
                    }
                }
            }
        }
        claims
    }

    /// Whether somebody after `turn` overrides `key`.
    pub(crate) fn by_later(&self, scope: &str, key: &str, turn: Turn) -> bool {
        !self.last.is_empty()
            && self.last.get(&(scope.to_owned(), key.to_owned())).is_some_and(|last| *last > turn)
    }

    fn add<'i>(&mut self, scope: &str, items: impl IntoIterator<Item = &'i Item>, turn: Turn) {
        for item in items.into_iter().filter(|item| item.policy == Policy::Override) {
            self.last.insert((scope.to_owned(), item.key.clone()), turn);
        }
    }
}

/// What a path below `scope` is called.
pub(crate) fn scope(scope: &str, path: &[String]) -> String {
    path.iter().fold(scope.to_owned(), |scope, name| format!("{scope}/{name}"))
}
