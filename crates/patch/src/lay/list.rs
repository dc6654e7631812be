//! Lists: items keep what is their own, wherever they go.

use super::Draft;
use super::align::{align, identities, rising};
use crate::{DocumentError, List, Operation, Pointer, Schema, View};

/// What shall stand at one place of the list.
enum Target<'d> {
    /// The item of `onto` at `home`, with a change from before to after inside it, if anybody knows the item.
    Kept { home: usize, change: Option<(View<'d>, View<'d>)> },
    /// Another value at the place of the item at `home`.
    Replaced { home: usize, value: View<'d> },
    /// A value that is new.
    New(View<'d>),
}

impl Draft {
    pub(super) fn list(
        &mut self,
        place: &Pointer,
        before: View<'_>,
        after: View<'_>,
        onto: View<'_>,
        schema: Schema<'_>,
    ) -> Result<(), DocumentError> {
        let (whole, before, after, onto) = (after, before.items(), after.items(), onto.items());
        let homes = homes(&before, &onto, schema.list());
        let mut targets = targets(&before, &after, onto.len(), &homes, schema.list());
        let new = targets.iter().filter(|target| matches!(target, Target::New(_))).count();
        // Nothing of several items is left: one operation says so.
        if onto.len() > 1 && new == targets.len() && new == after.len() {
            return self.replace(place.clone(), whole);
        }
        let stays = stays(&targets, onto.len());
        let gone = replace_in_place(&mut targets, &stays);

        for index in (0..onto.len()).rev().filter(|&index| gone[index]) {
            self.remove(place.item(index));
        }
        let rest = (0..onto.len()).filter(|&index| !gone[index]).collect();
        self.arrange(place, rest, &targets, &stays)?;
        for (index, target) in targets.iter().enumerate() {
            match *target {
                Target::Kept { home, change: Some((before, after)) }
                    if before.to_json() != after.to_json() =>
                {
                    self.change(&place.item(index), before, after, onto[home], schema.item())?;
                }
                Target::Replaced { home, value } if !onto[home].same_as(value) => {
                    self.replace(place.item(index), value)?;
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Puts new items in and moves those that do not stay in their order. `list` holds the homes of what is there.
    fn arrange(
        &mut self,
        place: &Pointer,
        mut list: Vec<usize>,
        targets: &[Target<'_>],
        stays: &[bool],
    ) -> Result<(), DocumentError> {
        const NEW: usize = usize::MAX;
        let mut at = 0;
        for target in targets {
            match *target {
                Target::New(value) => {
                    self.add(place.item(at), value)?;
                    list.insert(at, NEW);
                }
                Target::Kept { home, .. } if !stays[home] => {
                    let from = list.iter().take_while(|&&other| other != home).count();
                    list.remove(from);
                    at -= usize::from(from < at);
                    list.insert(at, home);
                    let (from, path) = (place.item(from), place.item(at));
                    self.operations.push(Operation::Move { from, path });
                }
                // What is passed over here moves away later.
                Target::Kept { home, .. } | Target::Replaced { home, .. } => {
                    at += list.iter().skip(at).take_while(|&&other| other != home).count();
                }
            }
            at += 1;
        }
        Ok(())
    }
}

/// For each item of `before`, where it stands in `onto`. Decoding keeps the order of a list, if not always its length.
fn homes(before: &[View<'_>], onto: &[View<'_>], how: List) -> Vec<Option<usize>> {
    let by_index = (0..before.len()).map(Some);
    if before.len() == onto.len() && identities(onto, how).is_none() {
        return by_index.collect();
    }
    let homes = align(onto, before, how);
    if before.len() == onto.len() && homes.contains(&None) { by_index.collect() } else { homes }
}

/// The list as it shall be. Items of `onto` that `before` does not show follow the item they follow now.
fn targets<'d>(
    before: &[View<'d>],
    after: &[View<'d>],
    onto: usize,
    homes: &[Option<usize>],
    how: List,
) -> Vec<Target<'d>> {
    let kept = align(before, after, how);
    let mut known = vec![false; onto];
    homes.iter().flatten().for_each(|&home| known[home] = true);
    let mut leaders = vec![false; onto];
    kept.iter().flatten().filter_map(|&old| homes[old]).for_each(|home| leaders[home] = true);
    let followers = |first: usize| {
        let unknown = (first..onto).take_while(|&index| !leaders[index]).filter(|&index| !known[index]);
        unknown.map(|home| Target::Kept { home, change: None }).collect::<Vec<_>>()
    };

    let mut targets = followers(0);
    for (&value, old) in after.iter().zip(&kept) {
        match old.map(|old| (before[old], homes[old])) {
            Some((old, Some(home))) => {
                targets.push(Target::Kept { home, change: Some((old, value)) });
                targets.extend(followers(home + 1));
            }
            // Nobody changed it, and `onto` does not have it: nothing to carry over.
            Some((old, None)) if old.same_as(value) => {}
            _ => targets.push(Target::New(value)),
        }
    }
    targets
}

/// Which items of `onto` stay while others move around them: as many as can.
fn stays(targets: &[Target<'_>], onto: usize) -> Vec<bool> {
    let homes: Vec<usize> = targets
        .iter()
        .filter_map(|target| match *target {
            Target::Kept { home, .. } | Target::Replaced { home, .. } => Some(home),
            Target::New(_) => None,
        })
        .collect();
    let mut stays = vec![false; onto];
    rising(&homes).into_iter().for_each(|index| stays[homes[index]] = true);
    stays
}

/// A new item takes the place of one that goes, where both stand between the same neighbours. What then still goes:
fn replace_in_place(targets: &mut [Target<'_>], stays: &[bool]) -> Vec<bool> {
    let mut gone = vec![true; stays.len()];
    for target in &*targets {
        if let Target::Kept { home, .. } = *target {
            gone[home] = false;
        }
    }
    let mut next = 0;
    for target in targets {
        match *target {
            Target::Kept { home, .. } if stays[home] => next = home + 1,
            Target::New(value) if gone.get(next) == Some(&true) => {
                *target = Target::Replaced { home: next, value };
                gone[next] = false;
                next += 1;
            }
            _ => {}
        }
    }
    gone
}
