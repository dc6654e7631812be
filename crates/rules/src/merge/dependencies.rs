//! Which rules of a round depend on the presence of other rules.
//!
//! A rule depends on another one if its blocks passed over a container because the other rule injects one of this name, or if it
//! left an item to the other rule because that overrides it. If both fail, the failure of the first may be due to the second.

use std::collections::{HashMap, HashSet};

use crate::rule::Rule;

/// Rules are named by their ranks in the round.
#[derive(Default)]
pub(super) struct RuleDependencies<'s> {
    /// Whether there are several rules. A single rule depends on no other.
    is_of_many: bool,
    /// The rules that selected containers in `initContainers`, and in `containers`. Rules act one after the other, so the ranks
    /// are sorted.
    selections: [Vec<usize>; 2],
    /// By container name: since which selections an injected container of this name is in a list and passed over.
    presences: HashMap<&'s str, Vec<Presence>>,
    /// By overriding rule: the rules that left an item to it.
    yielded: HashMap<usize, HashSet<usize>>,
}

/// A container is in a list since the selection in this list with the number `start`.
struct Presence {
    list: usize,
    start: usize,
}

impl<'s> RuleDependencies<'s> {
    /// For a round of `count` rules.
    pub(super) fn among(count: usize) -> Self {
        Self { is_of_many: count > 1, ..Self::default() }
    }

    /// The `rank`th rule selects containers in `list`. `injected` are the names in the list that rules inject, without those that
    /// the rule itself has inserted; they are read at the first selection only.
    pub(super) fn selects(&mut self, rank: usize, list: &str, injected: impl Iterator<Item = &'s str>) {
        if !self.is_of_many {
            return;
        }
        let list = number(list);
        if self.selections_in(list).is_empty() {
            injected.for_each(|name| self.begin_presence(list, name));
        }
        self.selections.iter_mut().skip(list).take(1).for_each(|selections| selections.push(rank));
    }

    /// A rule that succeeded has inserted the container `name` into `list`. Containers of a rule that fails are never seen by other
    /// rules.
    pub(super) fn inserted(&mut self, list: &str, name: &'s str) {
        let list = number(list);
        if self.is_of_many && !self.selections_in(list).is_empty() {
            self.begin_presence(list, name);
        }
    }

    /// The `rank`th rule leaves an item to the rule `other`, which overrides it.
    pub(super) fn yields_to(&mut self, rank: usize, other: usize) {
        self.yielded.entry(other).or_default().insert(rank);
    }

    /// The ranks of the rules that `failed` independently of other rules that failed. These are excluded first: a rule that
    /// depends on an excluded rule may succeed without it, and so may rules after that one.
    pub(super) fn independent_failures(&self, failed: &[(usize, &Rule)]) -> HashSet<usize> {
        let others = |rank: usize| failed.iter().filter(move |(other, _)| *other != rank);
        let depends_on_failed = |rank: usize| {
            self.has_dependencies(rank)
                && others(rank).any(|(other, rule)| self.depends_on(rank, *other, rule))
        };
        let has_dependents = failed.iter().filter(|(rank, rule)| self.has_dependents(*rank, rule));
        let has_dependents: Vec<usize> = has_dependents.map(|(rank, _)| *rank).collect();
        let independent: HashSet<usize> =
            has_dependents.iter().copied().filter(|rank| !depends_on_failed(*rank)).collect();
        if !independent.is_empty() {
            independent
        } else if has_dependents.is_empty() {
            failed.iter().map(|(rank, _)| *rank).collect()
        } else {
            has_dependents.into_iter().collect()
        }
    }

    /// Whether another rule depends on `rule`.
    fn has_dependents(&self, rank: usize, rule: &Rule) -> bool {
        let yielded = self.yielded.get(&rank).into_iter().flatten();
        self.selections_beside(rule).flatten().chain(yielded).any(|other| *other != rank)
    }

    /// Whether the `rank`th rule may depend on any other.
    fn has_dependencies(&self, rank: usize) -> bool {
        self.selections.iter().any(|selections| selections.binary_search(&rank).is_ok())
            || self.yielded.values().any(|ranks| ranks.contains(&rank))
    }

    /// Whether the `rank`th rule depends on `rule`, the `other`th.
    fn depends_on(&self, rank: usize, other: usize, rule: &Rule) -> bool {
        self.selections_beside(rule).any(|selections| selections.binary_search(&rank).is_ok())
            || self.yielded.get(&other).is_some_and(|ranks| ranks.contains(&rank))
    }

    /// The ranks of the rules that selected containers while a container of `rule` was in the list.
    fn selections_beside<'h>(&'h self, rule: &'h Rule) -> impl Iterator<Item = &'h [usize]> {
        let names = rule.injected.iter().map(|one| one.item.key.as_str());
        names
            .filter_map(|name| self.presences.get(name))
            .flatten()
            .map(|presence| self.selections_in(presence.list).get(presence.start..).unwrap_or_default())
    }

    fn begin_presence(&mut self, list: usize, name: &'s str) {
        let start = self.selections_in(list).len();
        self.presences.entry(name).or_default().push(Presence { list, start });
    }

    fn selections_in(&self, list: usize) -> &[usize] {
        self.selections.get(list).map(Vec::as_slice).unwrap_or_default()
    }
}

/// The index of a list in [`RuleDependencies::selections`].
fn number(list: &str) -> usize {
    usize::from(list != "initContainers")
}
