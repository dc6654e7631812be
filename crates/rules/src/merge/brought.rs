//! The containers that rules bring, by name.

use crate::rule::{Place, Rule};

/// By name alone, because a second evaluation cannot tell who brought a container.
pub(crate) struct Brought<'r>(Vec<One<'r>>);

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
        Self(all)
    }

    /// A name as the rules spell it, which is `name`.
    pub(crate) fn find(&self, name: &str) -> Option<&'r str> {
        let start = self.0.partition_point(|one| one.name < name);
        self.0.get(start).filter(|one| one.name == name).map(|one| one.name)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// Where the last one of this name is to stand.
    pub(super) fn place(&self, name: &str) -> Option<&'r Place> {
        let end = self.0.partition_point(|one| one.name <= name);
        let last = end.checked_sub(1).and_then(|last| self.0.get(last));
        last.filter(|one| one.name == name).map(|one| one.place)
    }

    /// Whether a rule before the `rank`th puts one of this name first.
    pub(super) fn is_first(&self, name: &str, rank: usize) -> bool {
        let start = self.0.partition_point(|one| one.name < name);
        let mut named = self.0.iter().skip(start).take_while(|one| one.name == name);
        named.any(|one| *one.place == Place::First && one.rank < rank)
    }
}
