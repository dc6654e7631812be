//! Which rules of a round depend on the presence of other rules.
//!
//! A rule depends on another rule in two cases: its blocks passed over a container of a name that the other rule injects, or it left
//! an item to the other rule, which overrides it. If both rules fail, the second failure may have caused the first.

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

#[cfg(test)]
mod tests {
    use vestibule_patch::Schema;

    use super::RuleDependencies;
    use crate::RuleSet;
    use crate::rule::Rule;

    /// Four rules, of which each injects a container: `c0` to `c3`.
    fn rules() -> RuleSet {
        let one = |rank: usize| {
            format!(
                "---\napiVersion: vestibule.dev/v1alpha1\nkind: Injection\nmetadata: {{name: r{rank}}}\nspec:\n  match: {{objectSelector: {{matchLabels: {{app: web}}}}}}\n  sidecars: [{{name: c{rank}, image: 'i:1'}}]\n"
            )
        };
        let text: String = (0..4).map(one).collect();
        RuleSet::load([("rules.yaml", &*text)], Schema::unknown()).unwrap()
    }

    type Does = fn(&mut RuleDependencies<'static>);

    /// The ranks of the independent failures, after `does` in a round of four rules.
    fn independent(does: Does, failed: &[usize]) -> Vec<usize> {
        let rules = rules();
        let mut all = RuleDependencies::among(4);
        does(&mut all);
        let failed: Vec<(usize, &Rule)> = failed.iter().map(|rank| (*rank, &rules.rules()[*rank])).collect();
        let mut independent: Vec<usize> = all.independent_failures(&failed).into_iter().collect();
        independent.sort_unstable();
        independent
    }

    #[test]
    fn failures_that_others_depend_on_are_independent_of_those() {
        let chain_of_selections: Does = |all| {
            all.selects(1, "containers", ["c0"].into_iter());
            all.inserted("containers", "c1");
            all.selects(2, "containers", std::iter::empty());
        };
        let chain_of_overrides: Does = |all| {
            all.yields_to(1, 0);
            all.yields_to(2, 1);
            all.yields_to(3, 2);
        };
        let circle: Does = |all| {
            all.yields_to(1, 2);
            all.yields_to(2, 1);
        };
        let own_container: Does = |all| all.selects(1, "initContainers", ["c1"].into_iter());
        let of_one_list: Does = |all| {
            all.selects(1, "initContainers", ["c0"].into_iter());
            all.selects(2, "containers", ["c3"].into_iter());
        };
        for (does, failed, expected) in [
            ((|_| ()) as Does, &[1, 2][..], &[1, 2][..]),
            // Rule 3 depends on no other, but no other depends on it.
            (chain_of_selections, &[0, 1, 2, 3], &[0]),
            (chain_of_selections, &[1, 2], &[1]),
            (chain_of_selections, &[2, 3], &[2, 3]),
            (chain_of_overrides, &[0, 1, 2, 3], &[0]),
            // Rule 1 depends on rule 0, which has not failed.
            (chain_of_overrides, &[1, 2], &[1]),
            (chain_of_overrides, &[1, 2, 3], &[1]),
            (circle, &[1, 2, 3], &[1, 2]),
            (own_container, &[0, 1], &[0, 1]),
            (of_one_list, &[0, 1, 2], &[0]),
            (of_one_list, &[1, 2, 3], &[3]),
        ] {
            assert_eq!(independent(does, failed), expected, "{failed:?}");
        }
    }

    #[test]
    fn the_first_selection_reads_the_containers_that_are_there() {
        let inserted_before: Does = |all| {
            all.inserted("containers", "c0");
            all.selects(1, "containers", std::iter::empty());
        };
        assert_eq!(independent(inserted_before, &[0, 1]), [0, 1]);
    }
}
