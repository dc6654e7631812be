//! The containers that rules bring, by name.

use std::collections::HashSet;

use crate::rule::{Place, Rule};

/// By name alone, because a second evaluation cannot tell who brought a container.
pub(crate) struct Brought<'r> {
    /// By name.
    all: Vec<One<'r>>,
    /// Beside which of them, or of the user's, others are to stand.
    anchors: HashSet<&'r str>,
}

struct One<'r> {
    name: &'r str,
    place: &'r Place,
    rank: usize,
}

impl<'r> Brought<'r> {
    /// By any of `rules`.
    pub(crate) fn by(rules: &[&'r Rule]) -> Self {
        let mut all = Vec::new();
        for (rank, rule) in rules.iter().enumerate() {
            let brought = rule.injected.iter();
            all.extend(brought.map(|one| One { name: &one.item.key, place: &one.place, rank }));
        }
        // Those of one name stay in the order of their rules.
        all.sort_by_key(|one| one.name);
        let anchor = |one: &One<'r>| match one.place {
            Place::Before(anchor) | Place::After(anchor) => Some(anchor.as_str()),
            Place::First | Place::Last => None,
        };
        let anchors = all.iter().filter_map(anchor).collect();
        Self { all, anchors }
    }

    /// A name as the rules spell it, which is `name`.
    pub(crate) fn find(&self, name: &str) -> Option<&'r str> {
        let start = self.all.partition_point(|one| one.name < name);
        self.all.get(start).filter(|one| one.name == name).map(|one| one.name)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// Whether others are to stand before or after `name`.
    pub(super) fn is_anchor(&self, name: &str) -> bool {
        self.anchors.contains(name)
    }

    /// Where the last one of this name is to stand.
    pub(super) fn place(&self, name: &str) -> Option<&'r Place> {
        let end = self.all.partition_point(|one| one.name <= name);
        let last = end.checked_sub(1).and_then(|last| self.all.get(last));
        last.filter(|one| one.name == name).map(|one| one.place)
    }

    /// Whether a rule before the `rank`th puts one of this name first.
    pub(super) fn is_first(&self, name: &str, rank: usize) -> bool {
        let start = self.all.partition_point(|one| one.name < name);
        let mut named = self.all.iter().skip(start).take_while(|one| one.name == name);
        named.any(|one| *one.place == Place::First && one.rank < rank)
    }
}
