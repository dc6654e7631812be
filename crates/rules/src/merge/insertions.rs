//! The positions of new items in a list.

use std::borrow::Cow;
use std::collections::HashMap;

use vestibule_patch::View;

use super::injected_names::{InjectedNames, RelativePosition};
use super::list_index::ListIndex;
use crate::rule::{ContainerPosition, Injected, Item};
use crate::subject::string_member;
use crate::syntax::variable_references;

/// New items in the order in which they are inserted, each with its index at that moment.
pub(crate) type Insertions<'r> = Vec<(usize, &'r Item)>;

/// Inserts all items at index `at` of the list, in the order of the rule.
pub(crate) fn at<'r>(at: usize, items: Vec<&'r Item>) -> Insertions<'r> {
    items.into_iter().enumerate().map(|(offset, item)| (at + offset, item)).collect()
}

/// Inserts variables before the user's variables, which may refer to them. A variable that refers to a user's variable, directly or
/// through other new variables, goes after that one, because the kubelet expands `$(X)` only if X stands before. `positions` is
/// the index of the existing variables, if it is kept.
pub(crate) fn variables<'r, 'd, I: Iterator<Item = View<'d>>>(
    positions: Option<&ListIndex>,
    existing: impl FnOnce() -> I,
    items: Vec<&'r Item>,
) -> Insertions<'r> {
    let refers = |item: &&Item| item.overlay.text("value").is_some_and(|value| value.contains('$'));
    if !items.iter().any(refers) {
        return at(0, items);
    }
    let needs: Vec<Vec<&str>> = items
        .iter()
        .map(|item| variable_references(item.overlay.text("value").unwrap_or_default()))
        .collect();
    // For each variable that is referred to: how many existing variables it and the ones before it are.
    let mut behind: HashMap<&str, usize> = needs.iter().flatten().map(|name| (*name, 0)).collect();
    if let Some(positions) = positions {
        for (name, place) in &mut behind {
            *place = positions.find(name).map_or(0, |index| index + 1);
        }
    } else if !behind.is_empty() {
        for (index, variable) in existing().enumerate() {
            let name = string_member(variable, "name");
            if let Some(place) = name.and_then(|name| behind.get_mut(&*name)) {
                *place = index + 1;
            }
        }
    }
    let placed = first_indices(&items, &needs, behind);
    let mut ordered: Vec<(usize, &Item)> = placed.into_iter().zip(items).collect();
    ordered.sort_by_key(|(index, _)| *index);
    ordered.into_iter().enumerate().map(|(offset, (index, item))| (index + offset, item)).collect()
}

/// The first index for each of `items` that is after all variables it `needs`, directly or through other items. `behind` has the
/// first index after each existing variable.
fn first_indices<'r>(
    items: &[&'r Item],
    needs: &[Vec<&'r str>],
    behind: HashMap<&'r str, usize>,
) -> Vec<usize> {
    let mut referring: HashMap<&str, Vec<usize>> = HashMap::new();
    for (index, name) in
        needs.iter().enumerate().flat_map(|(index, names)| names.iter().map(move |name| (index, name)))
    {
        referring.entry(name).or_default().push(index);
    }
    let mut last_first: Vec<(&str, usize)> = behind.into_iter().filter(|(_, place)| *place > 0).collect();
    last_first.sort_by_key(|(_, place)| std::cmp::Reverse(*place));
    let mut least = vec![0; items.len()];
    for (name, place) in last_first {
        let mut open = vec![name];
        while let Some(name) = open.pop() {
            // Variables are visited from the last to the first, so an index that is set is larger.
            for index in referring.remove(name).into_iter().flatten() {
                if let (Some(known @ 0), Some(item)) = (least.get_mut(index), items.get(index)) {
                    *known = place;
                    open.push(&item.key);
                }
            }
        }
    }
    least
}

/// Inserts the `new` ones of `containers` at their positions. A container with the position `first` goes after the containers
/// that rules before the `rank`th, or this one (`firsts`), have put first. Containers with positions relative to the new one keep
/// them. `leading` is the number of containers at the beginning that are known to be first; it is updated.
pub(crate) fn containers<'n, 'r: 'n>(
    existing: Vec<Cow<'n, str>>,
    containers: &[&'r Injected],
    new: &[&str],
    firsts: &mut Vec<&'r str>,
    leading: &mut usize,
    injected_names: &InjectedNames<'_>,
    rank: usize,
) -> Insertions<'r> {
    let mut names = existing;
    let mut insertions = Vec::new();
    let mut new = new.iter().peekable();
    for Injected { item, position: place, .. } in containers {
        if new.next_if_eq(&&item.key.as_str()).is_some() {
            let index_of = |anchor: &String| names.iter().position(|name| *name == **anchor);
            // If the anchor is absent, `before` means the beginning and `after` the end.
            let index = match place {
                ContainerPosition::First => {
                    let first = |name: &&Cow<'_, str>| {
                        injected_names.is_first(name, rank) || firsts.contains(&name.as_ref())
                    };
                    *leading += names.iter().skip(*leading).take_while(first).count();
                    *leading
                }
                ContainerPosition::Last => names.len(),
                ContainerPosition::Before(anchor) => index_of(anchor).unwrap_or_default(),
                ContainerPosition::After(anchor) => index_of(anchor).map_or(names.len(), |index| index + 1),
            };
            let index = nearest_allowed(&names, &item.key, index, injected_names);
            *leading = index.min(*leading);
            names.insert(index, Cow::Borrowed(&item.key));
            insertions.push((index, item));
        }
        if *place == ContainerPosition::First {
            firsts.push(&item.key);
        }
    }
    insertions
}

/// The index nearest to `index` that is after all containers that belong before `name` and before all that belong after it. If there
/// is none, `index`.
fn nearest_allowed(
    names: &[Cow<'_, str>],
    name: &str,
    index: usize,
    injected_names: &InjectedNames<'_>,
) -> usize {
    let (mut least, mut most) = (0, names.len());
    for one in injected_names.relative_to(name) {
        match one {
            RelativePosition::Before(other) => {
                let last = names.iter().rposition(|one| one == other);
                least = least.max(last.map_or(0, |last| last + 1));
            }
            RelativePosition::After(other) => {
                let first = names.iter().position(|one| one == other);
                most = most.min(first.unwrap_or(most));
            }
        }
    }
    if least <= most { index.clamp(least, most) } else { index }
}

#[cfg(test)]
mod tests {
    use std::collections::{HashMap, HashSet};

    use proptest::prelude::*;

    use super::first_indices;
    use crate::diagnostic::Position;
    use crate::overlay::Overlay;
    use crate::rule::{Clause, Item, OnConflict};

    /// Six new variables in the order of the rule, three of the pod, and one that does not exist.
    const NAMES: [&str; 10] = ["A", "B", "C", "D", "E", "F", "X", "Y", "Z", "NOWHERE"];

    fn item(name: &str) -> Item {
        let clause = Clause { text: "".into(), at: Position { line: 1, column: 1 } };
        Item::new(clause, name.to_owned(), Overlay::Text(String::new()), OnConflict::Keep)
    }

    proptest! {
        /// Each new variable goes after the last existing variable that it refers to in any number of steps. Circles occur.
        #[test]
        fn a_variable_goes_after_all_that_it_refers_to(
            needs in prop::collection::vec(prop::collection::vec(prop::sample::select(&NAMES[..]), 0..3), 6),
            theirs in prop::collection::vec(prop::sample::select(&NAMES[6..9]), 0..6),
        ) {
            let ours: Vec<Item> = NAMES[..6].iter().map(|name| item(name)).collect();
            let place = |name: &&str| theirs.iter().rposition(|one| one == name).map_or(0, |index| index + 1);
            let behind: HashMap<&str, usize> = needs.iter().flatten().map(|name| (*name, place(name))).collect();
            let wanted: Vec<usize> = needs
                .iter()
                .map(|first| {
                    let mut all: HashSet<&str> = first.iter().copied().collect();
                    loop {
                        let more = ours.iter().zip(&needs).filter(|(one, _)| all.contains(one.key.as_str()));
                        let more: Vec<&str> = more.flat_map(|(_, needs)| needs).copied().collect();
                        let known = all.len();
                        all.extend(more);
                        if all.len() == known {
                            break all.iter().map(place).max().unwrap_or(0);
                        }
                    }
                })
                .collect();
            prop_assert_eq!(first_indices(&ours.iter().collect::<Vec<_>>(), &needs, behind), wanted);
        }
    }
}
