//! Checks and restores the `position` of injected containers. Other webhooks may have inserted containers since an earlier call.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use vestibule_patch::Operation;

use super::contains::contains;
use super::draft::Draft;
use crate::decision::Origin;
use crate::diagnostic::printable_short;
use crate::rule::{ContainerPosition, Injected, Rule};
use crate::subject::NamedContainer;

/// Warnings about containers of `rules` that are no longer at their positions.
pub(crate) fn position_warnings(rules: &[&Rule], draft: &Draft<'_>) -> Vec<String> {
    let mut warnings = Vec::new();
    if !rules.iter().flat_map(|rule| &rule.injected).any(|one| one.position_at.is_some()) {
        return warnings;
    }
    let anchored = Anchored::new(rules, draft);
    for rule in rules {
        for one in rule.injected.iter().filter(|one| one.position_at.is_some()) {
            if let Some((other, side)) = anchored.violation(one, draft) {
                warnings.push(format!(
                    "anchor_violated: `{}` stands {side} container `{}` in `{}`, against the position that rule {} \
                     gives it; nothing was moved",
                    printable_short(other),
                    one.item.key,
                    one.list,
                    rule.name,
                ));
            }
        }
    }
    warnings
}

/// Moves containers of `rules` with a `strict` position back to it. Other containers are not moved.
pub(crate) fn restore_strict_positions(rules: &[&Rule], draft: &mut Draft<'_>) {
    if !rules.iter().flat_map(|rule| &rule.injected).any(|one| one.strict) {
        return;
    }
    let mut anchored = Anchored::new(rules, draft);
    for (rule, one) in anchored.strict() {
        let Some((from, to)) = anchored.put_back(one, draft) else { continue };
        let origin = Origin {
            rule: Arc::clone(&rule.name),
            clause: format!("{}.position", one.item.clause.text).into(),
            source: Arc::clone(&rule.source),
            line: one.position_at.unwrap_or(one.item.clause.at).line,
        };
        // Both indices exist, so the operation succeeds.
        let list = draft.layout.list(one.list);
        let _ = draft.apply(Operation::Move { from: list.item(from), path: list.item(to) }, origin);
    }
}

struct Anchored<'a> {
    rules: &'a [&'a Rule],
    lists: [(&'static str, Containers); 2],
}

/// The containers of one list.
struct Containers(Vec<ListedContainer>);

struct ListedContainer {
    name: String,
    /// Whether a rule injects a container of this name.
    is_injected: bool,
}

impl Containers {
    /// The first container from `start` on that no rule injects.
    fn first_foreign(&self, start: usize) -> Option<usize> {
        let found = self.0.iter().skip(start).position(|one| !one.is_injected);
        found.map(|offset| start + offset)
    }

    fn last_foreign(&self) -> Option<usize> {
        self.0.iter().rposition(|one| !one.is_injected)
    }

    fn first(&self, name: &str) -> Option<usize> {
        self.0.iter().position(|one| one.name == name)
    }

    fn last(&self, name: &str) -> Option<usize> {
        self.0.iter().rposition(|one| one.name == name)
    }
}

impl<'a> Anchored<'a> {
    fn new(rules: &'a [&'a Rule], draft: &Draft<'_>) -> Self {
        let injected = rules.iter().flat_map(|rule| &rule.injected);
        let injected: HashSet<&str> = injected.map(|one| one.item.key.as_str()).collect();
        let lists = ["initContainers", "containers"].map(|list| {
            let listed = NamedContainer::all(draft.at(&draft.layout.list(list))).into_iter().map(|one| {
                ListedContainer { is_injected: injected.contains(&*one.name), name: one.name.into_owned() }
            });
            (list, Containers(listed.collect()))
        });
        Self { rules, lists }
    }

    /// A container that is on the wrong side of `one`, and the side. Only the injected containers that are on a wrong side are
    /// compared with their rules.
    fn violation(&self, one: &Injected, draft: &Draft<'_>) -> Option<(&str, &'static str)> {
        let (_, containers) = self.lists.iter().find(|(list, _)| *list == one.list)?;
        let index = containers.first(&one.item.key)?;
        let before = |other: Option<usize>| Some((other.filter(|other| *other < index)?, "before"));
        let behind = |other: Option<usize>| Some((other.filter(|other| *other > index)?, "behind"));
        let (other, side) = match &one.position {
            ContainerPosition::First => before(containers.first_foreign(0)),
            ContainerPosition::Last => behind(containers.first_foreign(index)),
            ContainerPosition::Before(anchor) => before(containers.first(anchor)),
            ContainerPosition::After(anchor) => behind(containers.last(anchor)),
        }?;
        self.has_contents_of_a_rule(one, index, draft).then_some((&containers.0.get(other)?.name, side))
    }

    /// Whether the container at `index` has the contents that a rule with a position gives the container of this name. A container
    /// of the same name that the rules kept is not theirs.
    fn has_contents_of_a_rule(&self, one: &Injected, index: usize, draft: &Draft<'_>) -> bool {
        let found = draft.at(&draft.layout.list(one.list)).and_then(|list| list.item(index));
        let is_same = |other: &&Injected| {
            other.position_at.is_some() && other.list == one.list && other.item.key == one.item.key
        };
        let mut same = self.rules.iter().flat_map(|rule| &rule.injected).filter(is_same);
        found.is_some_and(|found| {
            same.any(|one| contains(found, &one.item.overlay, one.list, draft.shape.container))
        })
    }

    /// Moves `one` in its list to its position. Returns the indices of the move, if it is needed.
    fn put_back(&mut self, one: &Injected, draft: &Draft<'_>) -> Option<(usize, usize)> {
        self.violation(one, draft)?;
        let (_, containers) = self.lists.iter_mut().find(|(list, _)| *list == one.list)?;
        let from = containers.first(&one.item.key)?;
        let moved = containers.0.remove(from);
        let to = match &one.position {
            ContainerPosition::First => containers.first_foreign(0),
            ContainerPosition::Last => containers.last_foreign().map(|last| last + 1),
            ContainerPosition::Before(anchor) => containers.first(anchor),
            ContainerPosition::After(anchor) => containers.first(anchor).map(|index| index + 1),
        };
        let to = to.unwrap_or(from);
        containers.0.insert(to, moved);
        (from != to).then_some((from, to))
    }

    /// The containers with a strict position, each after the container that its position refers to. If several rules inject a
    /// container, the last one counts.
    fn strict(&self) -> Vec<(&'a Rule, &'a Injected)> {
        let all = self.rules.iter().flat_map(|rule| rule.injected.iter().map(|one| (*rule, one)));
        let strict: Vec<_> = all.filter(|(_, one)| one.strict).collect();
        let by_name: HashMap<&str, _> =
            strict.iter().map(|(rule, one)| (one.item.key.as_str(), (*rule, *one))).collect();
        let mut seen = HashSet::new();
        let mut sorted = Vec::new();
        for (_, one) in strict {
            let mut chain = Vec::new();
            let mut name = Some(one.item.key.as_str());
            while let Some(next) = name.and_then(|name| by_name.get(name))
                && seen.insert(next.1.item.key.as_str())
            {
                chain.push(*next);
                name = next.1.position.anchor();
            }
            sorted.extend(chain.into_iter().rev());
        }
        sorted
    }
}
