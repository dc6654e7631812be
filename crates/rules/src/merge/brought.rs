//! The containers that rules bring, by name.

use std::collections::HashMap;

use crate::rule::{ContainerPosition, Rule};

/// By name alone, because a second evaluation cannot tell who brought a container.
pub(crate) struct Brought<'r> {
    /// By name.
    all: Vec<One<'r>>,
    /// Those that are to stand beside another one, or one of the user's, by that one. Of one name the last counts.
    beside: HashMap<&'r str, Vec<Beside<'r>>>,
}

struct One<'r> {
    name: &'r str,
    place: &'r ContainerPosition,
    rank: usize,
}

/// A container that is to stand on one side of another one.
pub(super) enum Beside<'r> {
    Before(&'r str),
    After(&'r str),
}

impl<'r> Brought<'r> {
    /// By any of `rules`.
    pub(crate) fn by(rules: &[&'r Rule]) -> Self {
        let mut all = Vec::new();
        for (rank, rule) in rules.iter().enumerate() {
            let brought = rule.injected.iter();
            all.extend(brought.map(|one| One { name: &one.item.key, place: &one.position, rank }));
        }
        // Those of one name stay in the order of their rules.
        all.sort_by_key(|one| one.name);
        let mut beside: HashMap<_, Vec<_>> = HashMap::new();
        for last in all.chunk_by(|one, next| one.name == next.name).filter_map(<[_]>::last) {
            let (anchor, one) = match last.place {
                ContainerPosition::Before(anchor) => (anchor, Beside::Before(last.name)),
                ContainerPosition::After(anchor) => (anchor, Beside::After(last.name)),
                ContainerPosition::First | ContainerPosition::Last => continue,
            };
            beside.entry(anchor.as_str()).or_default().push(one);
        }
        Self { all, beside }
    }

    /// A name as the rules spell it, which is `name`.
    pub(crate) fn find(&self, name: &str) -> Option<&'r str> {
        let start = self.all.partition_point(|one| one.name < name);
        self.all.get(start).filter(|one| one.name == name).map(|one| one.name)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// Those that are to stand before or after `name`.
    pub(super) fn beside(&self, name: &str) -> &[Beside<'r>] {
        self.beside.get(name).map(Vec::as_slice).unwrap_or_default()
    }

    /// Whether a rule before the `rank`th puts one of this name first.
    pub(super) fn is_first(&self, name: &str, rank: usize) -> bool {
        let start = self.all.partition_point(|one| one.name < name);
        let mut named = self.all.iter().skip(start).take_while(|one| one.name == name);
        named.any(|one| *one.place == ContainerPosition::First && one.rank < rank)
    }
}
