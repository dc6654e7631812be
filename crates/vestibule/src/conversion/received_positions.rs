//! Matches the items that a type has read to the items of the received list: a set or a map sorts the list, and leaves items out.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet, VecDeque};

use vestibule_patch::{View, is_part};

/// Items with a value that is more frequent than this are not compared for its sake.
const MAX_CANDIDATES: usize = 32;

/// For each item of `known`, its index in the received list.
///
/// Items are matched by a unique `name`; then at the same index, if the item there has no other value of a known member; then to an
/// equal item; then to the item with the fewest other values. If no item has moved, the rest is matched by the index: a type may
/// normalize values.
pub(super) fn received_positions(received: &[View<'_>], known: &[View<'_>]) -> Vec<Option<usize>> {
    let mut matching = Matching::by_name(received, known);
    matching.match_rest();
    matching.positions
}

struct Matching<'i, 'v> {
    received: &'i [View<'v>],
    known: &'i [View<'v>],
    positions: Vec<Option<usize>>,
}

impl<'i, 'v> Matching<'i, 'v> {
    fn by_name(received: &'i [View<'v>], known: &'i [View<'v>]) -> Self {
        let mut names: HashMap<Cow<'_, str>, Option<usize>> = HashMap::new();
        for (position, item) in received.iter().enumerate() {
            let Some(name) = item.get("name").and_then(View::as_str) else { continue };
            names.entry(name).and_modify(|position| *position = None).or_insert(Some(position));
        }
        let mut position = |item: &View<'_>| names.get_mut(&*item.get("name")?.as_str()?)?.take();
        Self { received, known, positions: known.iter().map(&mut position).collect() }
    }

    fn match_rest(&mut self) {
        if !self.positions.contains(&None) {
            return;
        }
        let taken: HashSet<usize> = self.positions.iter().flatten().copied().collect();
        let mut free: Vec<bool> =
            (0..self.received.len()).map(|position| !taken.contains(&position)).collect();
        let is_complete = self.received.len() == self.known.len();
        if is_complete {
            self.match_each(&mut free, |this, place, free| {
                (free[place] && is_part(this.known[place], this.received[place])).then_some(place)
            });
        }
        if !self.positions.contains(&None) {
            return;
        }
        let rest = (0..free.len()).filter(|&position| free[position]);
        let mut equal = Equal::of(rest.map(|position| (position, self.received[position])));
        self.match_each(&mut free, |this, place, _| equal.take(this.known[place]));
        if !self.positions.contains(&None) {
            return;
        }
        let sharing = Sharing::of(self.received, &free);
        self.match_each(&mut free, |this, place, free| this.most_alike(place, &sharing, free));
        let has_moved = |(place, position): (usize, &Option<usize>)| position.is_some_and(|at| at != place);
        if is_complete && !self.positions.iter().enumerate().any(has_moved) {
            self.match_each(&mut free, |_, place, _| Some(place));
        }
    }

    /// Sets the position of each item that has none.
    fn match_each(
        &mut self,
        free: &mut [bool],
        mut find: impl FnMut(&Self, usize, &[bool]) -> Option<usize>,
    ) {
        for place in 0..self.known.len() {
            if self.positions[place].is_none() {
                self.positions[place] = find(self, place, free);
                self.positions[place].into_iter().for_each(|position| free[position] = false);
            }
        }
    }

    /// The one received item with the fewest other values; of several of which the known item is a part, the first. An item that
    /// is not better than the one at the same index is not chosen.
    fn most_alike(&self, place: usize, sharing: &Sharing<'_>, free: &[bool]) -> Option<usize> {
        let known = self.known[place];
        let other_values = |position: usize| other_values(known, self.received[position]);
        let mut candidates = sharing.candidates(known);
        candidates.retain(|&position| position != place && free[position]);
        let candidates: Vec<_> =
            candidates.into_iter().map(|position| (other_values(position), position)).collect();
        let (fewest, first) = *candidates.iter().min()?;
        let is_only = candidates.iter().filter(|(others, _)| *others == fewest).count() == 1;
        let is_better = !free.get(place).is_some_and(|is_free| *is_free) || fewest < other_values(place);
        (is_better && (is_only || fewest == 0)).then_some(first)
    }
}

/// The number of members with another value in `received`.
fn other_values(known: View<'_>, received: View<'_>) -> usize {
    let received: HashMap<_, _> = received.entries().into_iter().collect();
    let is_other = |name, value| received.get(name).is_some_and(|received| !is_part(value, *received));
    known.entries().iter().filter(|(name, value)| is_other(name, *value)).count()
}

/// The indexes of the items by the scalar values of their members.
struct Sharing<'v>(HashMap<(Cow<'v, str>, String), Vec<usize>>);

impl<'v> Sharing<'v> {
    fn of(items: &[View<'v>], free: &[bool]) -> Self {
        let mut positions: HashMap<_, Vec<usize>> = HashMap::new();
        for (position, item) in items.iter().enumerate().filter(|(position, _)| free[*position]) {
            for member in scalars(*item) {
                positions.entry(member).or_default().push(position);
            }
        }
        Self(positions)
    }

    /// The items that share a scalar member with `item`.
    fn candidates(&self, item: View<'v>) -> HashSet<usize> {
        let positions = scalars(item).filter_map(|member| self.0.get(&member));
        positions.filter(|positions| positions.len() <= MAX_CANDIDATES).flatten().copied().collect()
    }
}

fn scalars(item: View<'_>) -> impl Iterator<Item = (Cow<'_, str>, String)> {
    let is_scalar = |value: &View<'_>| value.depth() == 0 && !value.is_null();
    let members = item.entries().into_iter().filter(move |(_, value)| is_scalar(value));
    members.map(|(name, value)| (name, value.canonical()))
}

/// The indexes of items by their values.
pub(super) struct Equal(HashMap<String, VecDeque<usize>>);

impl Equal {
    pub(super) fn of<'v>(items: impl Iterator<Item = (usize, View<'v>)>) -> Self {
        let mut positions: HashMap<String, VecDeque<usize>> = HashMap::new();
        for (position, item) in items {
            positions.entry(item.canonical()).or_default().push_back(position);
        }
        Self(positions)
    }

    /// The first item that is equal to `item` and was not taken.
    pub(super) fn take(&mut self, item: View<'_>) -> Option<usize> {
        self.0.get_mut(&item.canonical())?.pop_front()
    }
}
