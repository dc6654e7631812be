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
    /// The selections in `initContainers`, and in `containers`.
    selections: [Selections<'s>; 2],
    /// By overriding rule: the rules that left an item to it.
    yielded: HashMap<usize, HashSet<usize>>,
}

/// The selections of containers in one list.
#[derive(Default)]
struct Selections<'s> {
    /// The rules that selected. Rules act one after the other, so the ranks are sorted.
    ranks: Vec<usize>,
    /// By container name: the number of the first selection that passed over an injected container of this name.
    passed_since: HashMap<&'s str, usize>,
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
        let Selections { ranks, passed_since } = self.selections_in(list);
        if ranks.is_empty() {
            passed_since.extend(injected.map(|name| (name, 0)));
        }
        ranks.push(rank);
    }

    /// A rule that succeeded has inserted the container `name` into `list`. Containers of a rule that fails are never seen by other
    /// rules.
    pub(super) fn inserted(&mut self, list: &str, name: &'s str) {
        let Selections { ranks, passed_since } = self.selections_in(list);
        // The first selection reads all names in the list.
        if !ranks.is_empty() {
            passed_since.entry(name).or_insert(ranks.len());
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
        self.selections.iter().any(|selections| selections.ranks.binary_search(&rank).is_ok())
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
        names.flat_map(|name| {
            self.selections
                .iter()
                .filter_map(move |Selections { ranks, passed_since }| ranks.get(*passed_since.get(name)?..))
        })
    }

    fn selections_in(&mut self, list: &str) -> &mut Selections<'s> {
        let [init, others] = &mut self.selections;
        if list == "initContainers" { init } else { others }
    }
}
