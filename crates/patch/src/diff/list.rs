//! Changes of lists: items keep the members that only `onto` knows when they move.

use super::PatchBuilder;
use super::align::{align, rising};
use super::decoded_list::{mark_removed_duplicates, received_order};
use super::received_positions::received_positions;
use super::remaining_items::RemainingItems;
use crate::{DocumentError, List, Operation, Pointer, Schema, View};

/// The item at one position of the new list.
enum Target<'d> {
    /// The item of `onto` at `home`, with its change if `before` has the item.
    Kept { home: usize, change: Option<(View<'d>, View<'d>)> },
    /// A value that replaces the item at `home`.
    Replaced { home: usize, value: View<'d> },
    /// A new value.
    New(View<'d>),
}

impl PatchBuilder {
    pub(super) fn list(
        &mut self,
        place: &Pointer,
        before: View<'_>,
        after: View<'_>,
        onto: View<'_>,
        schema: Schema<'_>,
    ) -> Result<(), DocumentError> {
        let (whole, before, after, onto) = (after, before.items(), after.items(), onto.items());
        let positions = received_positions(&onto, &before, schema.list());
        let mut targets = targets(&before, &after, &onto, &positions, schema.list());
        let new = targets.iter().filter(|target| matches!(target, Target::New(_))).count();
        // If none of several items is kept, one operation replaces the list.
        if onto.len() > 1 && new == targets.len() && new == after.len() {
            return self.replace(place.clone(), whole);
        }
        let stays = stays(&targets, onto.len());
        let gone = replace_in_place(&mut targets, &stays);

        for index in (0..onto.len()).rev().filter(|&index| gone[index]) {
            self.remove(place.item(index));
        }
        let remaining: Vec<usize> = (0..onto.len()).filter(|&index| !gone[index]).collect();
        for step in steps(&targets, &remaining, &stays, &mut RemainingItems::all(remaining.len())) {
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

/// One change of the list.
enum Step<'d> {
    Insert { at: usize, value: View<'d> },
    Move { from: usize, to: usize },
}

/// Inserts new items, and moves items that do not stay in order, from front to back. `rest` has the `home` of each remaining
/// item, in order, and `places` counts them.
///
/// Before the current position are the items that stay, the inserted ones, and items that will be moved away later. Items are
/// inserted directly behind an item that stays, or at the front. So the position of an item follows from the number of `rest`
/// before it, and from the number of items inserted before it.
fn steps<'d>(
    targets: &[Target<'d>],
    rest: &[usize],
    stays: &[bool],
    places: &mut RemainingItems,
) -> Vec<Step<'d>> {
    let mut ranks = vec![0; stays.len()];
    rest.iter().enumerate().for_each(|(rank, &home)| ranks[home] = rank);
    // For each of `rest` that was passed, the number of items inserted before it.
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
            // The items that are passed here are moved later.
            Target::Kept { home, .. } | Target::Replaced { home, .. } => {
                let rank = ranks[home];
                put_before.iter_mut().take(rank).skip(passed).for_each(|before| *before = put);
                passed = rank;
                at = put + places.before(rank);
            }
        }
        at += 1;
    }
    steps
}

/// The items of the new list. Items of `onto` that are not in `before` stay behind the item that they follow.
fn targets<'d>(
    before: &[View<'d>],
    after: &[View<'d>],
    onto: &[View<'_>],
    positions: &[Option<usize>],
    how: List,
) -> Vec<Target<'d>> {
    let kept = align(before, after, how);
    let mut known = vec![false; onto.len()];
    positions.iter().flatten().for_each(|&home| known[home] = true);
    mark_removed_duplicates(&mut known, before, onto, &kept);
    let mut leaders = vec![false; onto.len()];
    kept.iter().flatten().filter_map(|&old| positions[old]).for_each(|home| leaders[home] = true);
    let followers = |first: usize| {
        let unknown = (first..onto.len()).take_while(|&index| !leaders[index]).filter(|&index| !known[index]);
        unknown.map(|home| Target::Kept { home, change: None }).collect::<Vec<_>>()
    };

    let mut targets = followers(0);
    let order = received_order(&kept, positions);
    for place in 0..after.len() {
        let place = order.as_ref().map_or(place, |order| order[place]);
        let value = after[place];
        match kept[place].map(|old| (before[old], positions[old])) {
            Some((old, Some(home))) => {
                targets.push(Target::Kept { home, change: Some((old, value)) });
                targets.extend(followers(home + 1));
            }
            // The value is unchanged and not in `onto`, so there is nothing to add.
            Some((old, None)) if old.same_as(value) => {}
            _ => targets.push(Target::New(value)),
        }
    }
    targets
}

/// The items of `onto` that stay while others are moved: as many as possible.
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

/// A new item replaces a removed one between the same neighbours. Returns the items that are still to be removed.
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
    use super::{RemainingItems, Step, Target, steps};

    fn kept(homes: impl IntoIterator<Item = usize>) -> Vec<Target<'static>> {
        homes.into_iter().map(|home| Target::Kept { home, change: None }).collect()
    }

    /// A search from the front for each item took a number of steps that grew with the square of the length.
    #[test]
    fn the_work_of_moves_grows_with_their_number_and_not_with_its_square() {
        let work = |length: usize| {
            let (rest, mut stays) = ((0..length).collect::<Vec<_>>(), vec![false; length]);
            stays[length - 1] = true;
            let mut places = RemainingItems::all(length);
            assert_eq!(steps(&kept((0..length).rev()), &rest, &stays, &mut places).len(), length - 1);
            places.steps.get()
        };
        let (some, more) = (work(1 << 10), work(1 << 14));
        assert!(
            some > 1 << 10 && some <= 2 * 11 * (1 << 10) && more <= 2 * 15 * (1 << 14),
            "{some} and {more}"
        );
    }

    /// The list that results from the moves is the wanted one.
    #[test]
    fn moves_lead_to_the_wanted_order() {
        for (order, staying) in [
            (vec![3, 1, 0, 2], vec![1, 2]),
            (vec![2, 0, 4, 1, 3], vec![0, 1, 3]),
            (vec![4, 3, 2, 1, 0], vec![2]),
            (vec![0, 3, 1, 2, 4], vec![0, 1, 2, 4]),
        ] {
            let rest: Vec<usize> = (0..order.len()).collect();
            let stays: Vec<bool> = rest.iter().map(|home| staying.contains(home)).collect();
            let mut list = rest.clone();
            for step in
                steps(&kept(order.iter().copied()), &rest, &stays, &mut RemainingItems::all(rest.len()))
            {
                let Step::Move { from, to } = step else { panic!("nothing is new") };
                let item = list.remove(from);
                list.insert(to, item);
            }
            assert_eq!(list, order);
        }
    }
}
