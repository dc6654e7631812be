//! Which rules have made a difference to others by being there at all: by the names of their containers, which blocks pass
//! over, and by what they override.

use std::collections::{HashMap, HashSet};

use super::Brought;
use crate::rule::Rule;
use crate::subject::Named;

/// Who has heeded whom, by rank.
#[derive(Default)]
pub(super) struct Heeded<'s> {
    /// Who has passed over a container, since rules bring one of its name.
    names: HashMap<&'s str, HashSet<usize>>,
    /// Who has yielded to the rule of a rank.
    claims: HashMap<usize, HashSet<usize>>,
}

impl<'s> Heeded<'s> {
    /// The `rank`th rule passes over those of `containers` whose names are those of `brought` ones.
    pub(super) fn pass_over(&mut self, rank: usize, containers: &[Named<'_>], brought: &Brought<'s>) {
        for name in containers.iter().filter_map(|one| brought.find(&one.name)) {
            self.names.entry(name).or_default().insert(rank);
        }
    }

    pub(super) fn yield_to(&mut self, rank: usize, other: usize) {
        self.claims.entry(other).or_default().insert(rank);
    }

    /// Of rules that `failed` the ranks of those that are out for sure. Who has heeded one of them may not fail without it, and
    /// neither may whoever comes behind that one: so those go first who were heeded, and have heeded none themselves.
    pub(super) fn first_out(&self, failed: &[(usize, &Rule)]) -> HashSet<usize> {
        let others = |rank: usize| failed.iter().filter(move |(other, _)| *other != rank);
        let heeds = |rank: usize| others(rank).any(|(other, rule)| self.heeds(rank, *other, rule));
        let heeded: Vec<usize> =
            failed.iter().filter(|(rank, rule)| self.is_heeded(*rank, rule)).map(|(rank, _)| *rank).collect();
        let free: HashSet<usize> = heeded.iter().copied().filter(|rank| !heeds(*rank)).collect();
        if !free.is_empty() {
            free
        } else if heeded.is_empty() {
            failed.iter().map(|(rank, _)| *rank).collect()
        } else {
            heeded.into_iter().collect()
        }
    }

    /// Whether another one has heeded `rule`.
    fn is_heeded(&self, rank: usize, rule: &Rule) -> bool {
        self.by(rank, rule).any(|by| by.iter().any(|other| *other != rank))
    }

    /// Whether the `rank`th rule has heeded `rule`, the `other`th.
    fn heeds(&self, rank: usize, other: usize, rule: &Rule) -> bool {
        self.by(other, rule).any(|by| by.contains(&rank))
    }

    fn by<'h>(&'h self, rank: usize, rule: &'h Rule) -> impl Iterator<Item = &'h HashSet<usize>> {
        let names = rule.injected.iter().filter_map(|one| self.names.get(one.item.key.as_str()));
        names.chain(self.claims.get(&rank))
    }
}
