//! Which rules have made a difference to others by being there at all: by the names of their containers, which blocks pass
//! over, and by what they override.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::rule::Rule;

/// Who has heeded whom, by rank.
#[derive(Default)]
pub(super) struct Heeded<'s> {
    /// Nobody heeds itself.
    is_of_many: bool,
    /// Who has looked at the init containers, and who at the others, for those that no rule brings: one after the other,
    /// so in the order of their ranks.
    looks: [Vec<usize>; 2],
    /// When a container was there that they passed over, since rules bring one of its name.
    stays: HashMap<&'s str, Vec<Stay>>,
    /// Who was the last to bring containers, and which to which list.
    last: (usize, Vec<(usize, &'s str)>),
    /// Who has yielded to the rule of a rank.
    claims: HashMap<usize, HashSet<usize>>,
}

/// A container that rules bring was in a list, for those looks at it.
struct Stay {
    list: usize,
    looks: Range<usize>,
}

impl<'s> Heeded<'s> {
    /// Among so many rules.
    pub(super) fn among(count: usize) -> Self {
        Self { is_of_many: count > 1, ..Self::default() }
    }

    /// The `rank`th rule looks at `list`, and passes over what rules bring: at first, those of `brought`.
    pub(super) fn pass_over(&mut self, rank: usize, list: &str, brought: impl Iterator<Item = &'s str>) {
        if !self.is_of_many {
            return;
        }
        let list = number(list);
        if self.looks(list).is_empty() {
            brought.for_each(|name| self.stay(list, name));
        }
        self.looks.iter_mut().skip(list).take(1).for_each(|looks| looks.push(rank));
    }

    /// The `rank`th rule brings containers to `list`.
    pub(super) fn come(&mut self, rank: usize, list: &str, names: impl Iterator<Item = &'s str>) {
        if !self.is_of_many {
            return;
        }
        let list = number(list);
        if self.last.0 != rank {
            self.last = (rank, Vec::new());
        }
        for name in names {
            self.last.1.push((list, name));
            if !self.looks(list).is_empty() {
                self.stay(list, name);
            }
        }
    }

    /// What the `rank`th rule has brought, the last to bring anything, is gone.
    pub(super) fn go(&mut self, rank: usize) {
        let gone = if self.last.0 == rank { std::mem::take(&mut self.last.1) } else { Vec::new() };
        for (list, name) in gone {
            let end = self.looks(list).len();
            let stays = self.stays.get_mut(name).into_iter().flatten();
            stays.rev().filter(|stay| stay.list == list).take(1).for_each(|stay| stay.looks.end = end);
        }
    }

    fn stay(&mut self, list: usize, name: &'s str) {
        let looks = self.looks(list).len()..usize::MAX;
        self.stays.entry(name).or_default().push(Stay { list, looks });
    }

    fn looks(&self, list: usize) -> &[usize] {
        self.looks.get(list).map(Vec::as_slice).unwrap_or_default()
    }

    pub(super) fn yield_to(&mut self, rank: usize, other: usize) {
        self.claims.entry(other).or_default().insert(rank);
    }

    /// Of rules that `failed` the ranks of those that are out for sure. Who has heeded one of them may not fail without it, and
    /// neither may whoever comes behind that one: so those go first who were heeded, and have heeded none themselves.
    pub(super) fn first_out(&self, failed: &[(usize, &Rule)]) -> HashSet<usize> {
        let others = |rank: usize| failed.iter().filter(move |(other, _)| *other != rank);
        let heeds = |rank: usize| {
            self.has_heeded(rank) && others(rank).any(|(other, rule)| self.heeds(rank, *other, rule))
        };
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
        let mut looks = self.looks_at(rule).flatten().chain(self.claims.get(&rank).into_iter().flatten());
        looks.any(|other| *other != rank)
    }

    /// Whether the `rank`th rule may have heeded anybody.
    fn has_heeded(&self, rank: usize) -> bool {
        self.looks.iter().any(|looks| looks.binary_search(&rank).is_ok())
            || self.claims.values().any(|ranks| ranks.contains(&rank))
    }

    /// Whether the `rank`th rule has heeded `rule`, the `other`th.
    fn heeds(&self, rank: usize, other: usize, rule: &Rule) -> bool {
        self.looks_at(rule).any(|looks| looks.binary_search(&rank).is_ok())
            || self.claims.get(&other).is_some_and(|ranks| ranks.contains(&rank))
    }

    /// Who has looked while containers of `rule` were there, in order.
    fn looks_at<'h>(&'h self, rule: &'h Rule) -> impl Iterator<Item = &'h [usize]> {
        let stays = rule.injected.iter().filter_map(|one| self.stays.get(one.item.key.as_str())).flatten();
        stays.map(|stay| {
            let looks = self.looks(stay.list);
            looks.get(stay.looks.start..stay.looks.end.min(looks.len())).unwrap_or_default()
        })
    }
}

fn number(list: &str) -> usize {
    usize::from(list != "initContainers")
}
