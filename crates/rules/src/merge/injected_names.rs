//! The names and positions of the containers that rules inject.
//!
//! A container counts as injected if it has one of these names, because a second evaluation cannot know where a container comes
//! from.

use std::collections::HashMap;

use crate::rule::{ContainerPosition, Rule};

pub(crate) struct InjectedNames<'r> {
    /// Sorted by name; entries of one name are in the order of their rules.
    all: Vec<InjectedName<'r>>,
    /// By name of a container: the injected containers that have a position relative to it. If rules inject a name more than
    /// once, the last position counts.
    relative: HashMap<&'r str, Vec<RelativePosition<'r>>>,
}

struct InjectedName<'r> {
    name: &'r str,
    place: &'r ContainerPosition,
    rank: usize,
}

/// The injected container of this name belongs before or after another container.
pub(super) enum RelativePosition<'r> {
    Before(&'r str),
    After(&'r str),
}

impl<'r> InjectedNames<'r> {
    pub(crate) fn of(rules: &[&'r Rule]) -> Self {
        let mut all = Vec::new();
        for (rank, rule) in rules.iter().enumerate() {
            let injected = rule.injected.iter();
            all.extend(injected.map(|one| InjectedName { name: &one.item.key, place: &one.position, rank }));
        }
        all.sort_by_key(|one| one.name);
        let mut relative: HashMap<_, Vec<_>> = HashMap::new();
        for last in all.chunk_by(|one, next| one.name == next.name).filter_map(<[_]>::last) {
            let (anchor, position) = match last.place {
                ContainerPosition::Before(anchor) => (anchor, RelativePosition::Before(last.name)),
                ContainerPosition::After(anchor) => (anchor, RelativePosition::After(last.name)),
                ContainerPosition::First | ContainerPosition::Last => continue,
            };
            relative.entry(anchor.as_str()).or_default().push(position);
        }
        Self { all, relative }
    }

    /// The rule's copy of `name`, if a rule injects a container of this name.
    pub(crate) fn find(&self, name: &str) -> Option<&'r str> {
        self.named(name).next().map(|one| one.name)
    }

    pub(crate) fn has(&self, name: &str) -> bool {
        self.find(name).is_some()
    }

    /// The injected containers that belong before or after the container `name`.
    pub(super) fn relative_to(&self, name: &str) -> &[RelativePosition<'r>] {
        self.relative.get(name).map(Vec::as_slice).unwrap_or_default()
    }

    /// Whether a rule before the `rank`th injects `name` with the position `first`.
    pub(super) fn is_first(&self, name: &str, rank: usize) -> bool {
        self.named(name).any(|one| *one.place == ContainerPosition::First && one.rank < rank)
    }

    fn named<'n>(&'n self, name: &'n str) -> impl Iterator<Item = &'n InjectedName<'r>> {
        let start = self.all.partition_point(|one| one.name < name);
        self.all.iter().skip(start).take_while(move |one| one.name == name)
    }
}
