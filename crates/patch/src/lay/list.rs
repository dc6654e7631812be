//! Lists: items keep what is their own, wherever they go.

use super::Draft;
use super::align::{align, identities, rising};
use super::places::Places;
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
        let rest: Vec<usize> = (0..onto.len()).filter(|&index| !gone[index]).collect();
        for step in steps(&targets, &rest, &stays, &mut Places::all(rest.len())) {
            match step {
                Step::Insert { at, value } => self.add(place.item(at), value)?,
                Step::Move { from, to } => {
                    let (from, path) = (place.item(from), place.item(to));
                    self.operations.push(Operation::Move { from, path });
                }
            }
        }
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
}

/// What happens to the list.
enum Step<'d> {
    Insert { at: usize, value: View<'d> },
    Move { from: usize, to: usize },
}

/// Puts new items in and moves those that do not stay in their order, from the front to the back. `rest` holds the homes of what
/// is there, in order, and `places` counts them.
///
/// In front of the current place stand the items that stay, those that were put in, and those that will be moved away later.
/// What is put in goes directly behind an item that stays, or to the front. So the place of an item follows from how many of
/// `rest` still stand before it, and from how many were put in before it.
fn steps<'d>(targets: &[Target<'d>], rest: &[usize], stays: &[bool], places: &mut Places) -> Vec<Step<'d>> {
    let mut ranks = vec![0; stays.len()];
    rest.iter().enumerate().for_each(|(rank, &home)| ranks[home] = rank);
    // For each of `rest` that was passed over, how many were put in before it.
    let mut put_before = vec![0; rest.len()];
    let (mut steps, mut at, mut put, mut passed) = (Vec::new(), 0, 0, 0);
    for target in targets {
        match *target {
            Target::New(value) => {
                steps.push(Step::Insert { at, value });
                put += 1;
            }
            Target::Kept { home, .. } if !stays[home] => {
                let rank = ranks[home];
                let before = if rank < passed { put_before[rank] } else { put };
                let from = before + places.before(rank);
                places.leave(rank);
                at -= usize::from(from < at);
                steps.push(Step::Move { from, to: at });
                put += 1;
            }
            // What is passed over here moves away later.
            Target::Kept { home, .. } | Target::Replaced { home, .. } => {
                let rank = ranks[home];
                put_before.iter_mut().take(rank + 1).skip(passed).for_each(|before| *before = put);
                passed = passed.max(rank + 1);
                at = put + places.before(rank);
            }
        }
        at += 1;
    }
    steps
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

#[cfg(test)]
mod tests {
    use super::{Places, Step, Target, steps};

    fn kept(homes: impl IntoIterator<Item = usize>) -> Vec<Target<'static>> {
        homes.into_iter().map(|home| Target::Kept { home, change: None }).collect()
    }

    /// Looking for each item from the front took as many steps as the square of the list's length.
    #[test]
    fn the_work_of_moves_grows_with_their_number_and_not_with_its_square() {
        let work = |length: usize| {
            let (rest, mut stays) = ((0..length).collect::<Vec<_>>(), vec![false; length]);
            stays[length - 1] = true;
            let mut places = Places::all(length);
            assert_eq!(steps(&kept((0..length).rev()), &rest, &stays, &mut places).len(), length - 1);
            places.steps.get()
        };
        let (some, more) = (work(1 << 10), work(1 << 14));
        assert!(some <= 2 * 11 * (1 << 10) && more <= 2 * 15 * (1 << 14), "{some} and {more}");
    }

    /// As before, when the list itself was kept along.
    #[test]
    fn what_moves_goes_where_it_belongs() {
        for (order, staying) in [
            (vec![3, 1, 0, 2], vec![1, 2]),
            (vec![2, 0, 4, 1, 3], vec![0, 1, 3]),
            (vec![4, 3, 2, 1, 0], vec![2]),
            (vec![0, 3, 1, 2, 4], vec![0, 1, 2, 4]),
        ] {
            let rest: Vec<usize> = (0..order.len()).collect();
            let stays: Vec<bool> = rest.iter().map(|home| staying.contains(home)).collect();
            let mut list = rest.clone();
            for step in steps(&kept(order.iter().copied()), &rest, &stays, &mut Places::all(rest.len())) {
                let Step::Move { from, to } = step else { panic!("nothing is new") };
                let item = list.remove(from);
                list.insert(to, item);
            }
            assert_eq!(list, order);
        }
    }
}
