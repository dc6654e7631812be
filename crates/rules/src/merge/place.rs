//! Where new items go in a list.

use std::borrow::Cow;
use std::collections::HashMap;

use vestibule_patch::View;

use super::Brought;
use super::brought::Beside;
use super::index::Places;
use crate::rule::{ContainerPosition, Injected, Item};

/// New items with the index of each at the moment it is inserted, one after the other.
pub(crate) type Insertions<'r> = Vec<(usize, &'r Item)>;

/// All before index `at` of the list as it stands, in the order of the rule.
pub(crate) fn at<'r>(at: usize, items: Vec<&'r Item>) -> Insertions<'r> {
    items.into_iter().enumerate().map(|(offset, item)| (at + offset, item)).collect()
}

/// Variables go before the user's, who may refer to them; except those that refer to a user's variable themselves,
/// directly or through each other: the kubelet expands `$(X)` only if X stands before. Who has an index of those that are there
/// says so by `places`.
pub(crate) fn variables<'r, 'd, I: Iterator<Item = View<'d>>>(
    places: Option<&Places>,
    existing: impl FnOnce() -> I,
    items: Vec<&'r Item>,
) -> Insertions<'r> {
    let refers = |item: &&Item| item.overlay.text("value").is_some_and(|value| value.contains('$'));
    if !items.iter().any(refers) {
        return at(0, items);
    }
    let needs: Vec<Vec<&str>> =
        items.iter().map(|item| references(item.overlay.text("value").unwrap_or_default())).collect();
    // Behind how many of the existing variables each of those stands that are needed; looked for once, for all.
    let mut behind: HashMap<&str, usize> = needs.iter().flatten().map(|name| (*name, 0)).collect();
    if let Some(places) = places {
        for (name, place) in &mut behind {
            *place = places.find(name).map_or(0, |index| index + 1);
        }
    } else if !behind.is_empty() {
        for (index, variable) in existing().enumerate() {
            let name = variable.get("name").and_then(View::as_str);
            if let Some(place) = name.and_then(|name| behind.get_mut(&*name)) {
                *place = index + 1;
            }
        }
    }
    let placed = least(&items, &needs, behind);
    let mut ordered: Vec<(usize, &Item)> = placed.into_iter().zip(items).collect();
    ordered.sort_by_key(|(index, _)| *index);
    ordered.into_iter().enumerate().map(|(offset, (index, item))| (index + offset, item)).collect()
}

/// The first place for each of `items`, of which each `needs` those names: behind all that it refers to, directly or through
/// others of them.
fn least<'r>(items: &[&'r Item], needs: &[Vec<&'r str>], behind: HashMap<&'r str, usize>) -> Vec<usize> {
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
            // Whoever was met before stands further behind.
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

/// The names X of every `$(X)`; `$$(X)` is none.
fn references(value: &str) -> Vec<&str> {
    let mut names = Vec::new();
    let mut rest = value;
    while let Some((_, behind)) = rest.split_once('$') {
        rest = match (behind.strip_prefix('$'), behind.strip_prefix('(')) {
            (Some(escaped), _) => escaped,
            (None, Some(open)) => match open.split_once(')') {
                Some((name, behind)) => {
                    names.push(name);
                    behind
                }
                None => return names,
            },
            (None, None) => behind,
        };
    }
    names
}

/// Containers go where their `position` says, as far as they are `new`, which are in their order. `first` stands behind what
/// the rules before the `rank`th put first and what this one put there, whose names are `firsts`; and none comes between what
/// has its place by it already. `brought` is what all rules bring; `lead` is how many stand first for sure, which is found out.
pub(crate) fn containers<'n, 'r: 'n>(
    existing: Vec<Cow<'n, str>>,
    containers: &[&'r Injected],
    new: &[&str],
    firsts: &mut Vec<&'r str>,
    lead: &mut usize,
    brought: &Brought<'_>,
    rank: usize,
) -> Insertions<'r> {
    let mut names = existing;
    let mut insertions = Vec::new();
    let mut new = new.iter().peekable();
    for Injected { item, position: place, .. } in containers {
        if new.next_if_eq(&&item.key.as_str()).is_some() {
            let index_of = |anchor: &String| names.iter().position(|name| *name == **anchor);
            // An anchor that is not there is no reason to leave the container out: at the side it was to stand on.
            let index = match place {
                ContainerPosition::First => {
                    let first = |name: &&Cow<'_, str>| {
                        brought.is_first(name, rank) || firsts.contains(&name.as_ref())
                    };
                    *lead += names.iter().skip(*lead).take_while(first).count();
                    *lead
                }
                ContainerPosition::Last => names.len(),
                ContainerPosition::Before(anchor) => index_of(anchor).unwrap_or_default(),
                ContainerPosition::After(anchor) => index_of(anchor).map_or(names.len(), |index| index + 1),
            };
            let index = between(&names, &item.key, index, brought);
            *lead = index.min(*lead);
            names.insert(index, Cow::Borrowed(&item.key));
            insertions.push((index, item));
        }
        if *place == ContainerPosition::First {
            firsts.push(&item.key);
        }
    }
    insertions
}

/// The place nearest to `index` that is right for those who are to stand before or after `name`.
fn between(names: &[Cow<'_, str>], name: &str, index: usize, brought: &Brought<'_>) -> usize {
    let (mut least, mut most) = (0, names.len());
    for one in brought.beside(name) {
        match one {
            Beside::Before(other) => {
                let last = names.iter().rposition(|one| one == other);
                least = least.max(last.map_or(0, |last| last + 1));
            }
            Beside::After(other) => {
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

    use super::{least, references};
    use crate::diagnostic::Position;
    use crate::overlay::Overlay;
    use crate::rule::{Clause, Item, Policy};

    #[test]
    fn finds_what_the_kubelet_expands() {
        assert_eq!(references("$(A)-$(B) $$(C) $D $(E"), ["A", "B"]);
        assert_eq!(references("$$$(A)"), ["A"]);
        assert!(references("").is_empty());
    }

    /// Ours, in the order of the rule, those of the pod, and one that is nowhere.
    const NAMES: [&str; 10] = ["A", "B", "C", "D", "E", "F", "X", "Y", "Z", "NOWHERE"];

    fn item(name: &str) -> Item {
        let clause = Clause { text: "".into(), at: Position { line: 1, column: 1 } };
        Item::new(clause, name.to_owned(), Overlay::Text(String::new()), Policy::Keep)
    }

    proptest! {
        /// Each stands behind the last of all that it refers to, in however many steps and by whichever way; in circles as well.
        #[test]
        fn each_stands_behind_all_that_it_leads_to(
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
            prop_assert_eq!(least(&ours.iter().collect::<Vec<_>>(), &needs, behind), wanted);
        }
    }
}
