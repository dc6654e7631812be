//! Matches the items that a type has read to the items of the received list: a set or a map sorts the list, and leaves items out.

use std::borrow::Cow;
use std::collections::{HashMap, HashSet, VecDeque};

use super::align::identity;
use crate::view::{MAX_RECURSION, Numbers};
use crate::{Kind, List, View};

/// Items with a value that is more frequent than this are not compared for its sake. It bounds the items that one item is compared with.
const MAX_CANDIDATES: usize = 16;

/// For each item of `decoded`, its index in the `received` list, from which a type has decoded it.
///
/// Items are matched by the keys of the list; without keys by a unique `name`; then in their order, if the received item has no other
/// value of a decoded member, those with all members first; then to an equal item; then to the item with the fewest other values. If no
/// item was left out or has moved, the rest is matched by the index: a type may normalize values.
pub fn received_positions(received: &[View<'_>], decoded: &[View<'_>], how: List) -> Vec<Option<usize>> {
    let mut matching = Matching::by_key(received, decoded, how);
    if matching.is_complete() {
        matching.match_in_order(|_, _| true);
        matching.match_equal();
    } else {
        matching.match_in_order(has_all);
        matching.match_equal();
        matching.match_in_order(has_any);
    }
    matching.match_most_alike();
    // For an item, the one at its own index may be taken now.
    matching.match_most_alike();
    matching.match_unmoved_by_index();
    matching.positions
}

struct Matching<'i, 'v> {
    received: &'i [View<'v>],
    decoded: &'i [View<'v>],
    how: List,
    positions: Vec<Option<usize>>,
}

impl<'i, 'v> Matching<'i, 'v> {
    fn by_key(received: &'i [View<'v>], decoded: &'i [View<'v>], how: List) -> Self {
        // A type may add a key: it is the key of several decoded items then, and of one received item.
        let (places, keys) = (by_unique_key(decoded, how), by_unique_key(received, how));
        let mut positions = vec![None; decoded.len()];
        places.into_iter().for_each(|(key, place)| positions[place] = keys.get(&key).copied());
        Self { received, decoded, how, positions }
    }

    /// Matches items that `fits` accepts, and of which no decoded member has another value. In a complete list, an item is compared with
    /// the one at the same index only. Otherwise items before it may have been left out.
    fn match_in_order(&mut self, fits: impl Fn(View<'v>, View<'v>) -> bool) {
        let Some(left_out) = self.received.len().checked_sub(self.decoded.len()) else { return };
        self.match_each(|this, place, free| {
            let decoded = this.decoded[place];
            (place..=place + left_out.min(MAX_CANDIDATES)).find(|&position| {
                let received = this.received[position];
                free[position] && is_part(decoded, received) && fits(decoded, received)
            })
        });
    }

    fn match_equal(&mut self) {
        if self.is_done() {
            return;
        }
        let mut equal: HashMap<String, VecDeque<usize>> = HashMap::new();
        for (position, _) in self.free().into_iter().enumerate().filter(|(_, is_free)| *is_free) {
            equal.entry(self.received[position].canonical()).or_default().push_back(position);
        }
        self.match_each(|this, place, _| equal.get_mut(&this.decoded[place].canonical())?.pop_front());
    }

    fn match_most_alike(&mut self) {
        if !self.is_done() {
            let sharing = Sharing::of(self.received, &self.free());
            self.match_each(|this, place, free| this.most_alike(place, &sharing, free));
        }
    }

    fn match_unmoved_by_index(&mut self) {
        let has_moved = |(place, position): (usize, &Option<usize>)| position.is_some_and(|at| at != place);
        if self.is_complete() && !self.positions.iter().enumerate().any(has_moved) {
            self.positions = (0..self.positions.len()).map(Some).collect();
        }
    }

    fn is_complete(&self) -> bool {
        self.received.len() == self.decoded.len()
    }

    fn is_done(&self) -> bool {
        !self.positions.contains(&None)
    }

    /// Whether each received item has no decoded one yet.
    fn free(&self) -> Vec<bool> {
        let mut free = vec![true; self.received.len()];
        self.positions.iter().flatten().for_each(|&position| free[position] = false);
        free
    }

    /// Sets the position of each item that has none.
    fn match_each(&mut self, mut find: impl FnMut(&Self, usize, &[bool]) -> Option<usize>) {
        if self.is_done() {
            return;
        }
        let mut free = self.free();
        for place in 0..self.decoded.len() {
            if self.positions[place].is_none() {
                self.positions[place] = find(self, place, &free);
                self.positions[place].into_iter().for_each(|position| free[position] = false);
            }
        }
    }

    /// The one received item with the fewest other values; of several of which the decoded item is a part, the first. In a complete
    /// list it has to be better than the one at the same index, which the type may have normalized.
    fn most_alike(&self, place: usize, sharing: &Sharing<'_>, free: &[bool]) -> Option<usize> {
        let decoded = self.decoded[place];
        let same_index = Some(place).filter(|&place| self.is_complete() && free[place]);
        let key = key_of(decoded, self.how);
        let has_other_key =
            |item: View<'_>| key.is_some() && key_of(item, self.how).is_some_and(|other| Some(other) != key);
        let mut candidates = sharing.candidates(decoded);
        candidates.retain(|&at| free[at] && Some(at) != same_index && !has_other_key(self.received[at]));
        let differences = |position: usize| Differences::of(decoded, self.received[position]);
        let candidates: Vec<_> =
            candidates.into_iter().map(|position| (differences(position), position)).collect();
        let (best, first) =
            candidates.iter().min_by_key(|(found, position)| (found.other_values, *position))?;
        let (fewest, first) = (best.other_values, *first);
        let is_only = candidates.iter().filter(|(found, _)| found.other_values == fewest).count() == 1;
        // A value that the type has normalized is no worse than one that it has added.
        let is_better = same_index.map(differences).is_none_or(|same| {
            fewest < same.other_values && fewest + best.missing < same.other_values + same.missing
        });
        (is_better && (is_only || fewest == 0)).then_some(first)
    }
}

/// The indexes of the items whose key no other item has.
fn by_unique_key(items: &[View<'_>], how: List) -> HashMap<String, usize> {
    let mut keys: HashMap<String, Option<usize>> = HashMap::new();
    for (index, item) in items.iter().enumerate() {
        let Some(key) = key_of(*item, how) else { continue };
        keys.entry(key).and_modify(|index| *index = None).or_insert(Some(index));
    }
    keys.into_iter().filter_map(|(key, index)| Some((key, index?))).collect()
}

/// The key of an item: its name, where no schema says which members are the key.
fn key_of(item: View<'_>, how: List) -> Option<String> {
    match how {
        List::Unknown | List::Atomic => {
            item.get("name").filter(|name| name.kind() == Kind::String).map(View::canonical)
        }
        List::Map(_) | List::Set => identity(item, how),
    }
}

/// Whether `decoded` may be the part of `received` that a type has read: no member has another value.
fn is_part(decoded: View<'_>, received: View<'_>) -> bool {
    is_part_down(decoded, received, MAX_RECURSION)
}

/// `levels` is the number of further levels that are compared.
fn is_part_down(decoded: View<'_>, received: View<'_>, levels: usize) -> bool {
    if decoded.to_json() == received.to_json() {
        return true;
    }
    match (decoded.kind(), received.kind()) {
        (Kind::Object, Kind::Object) if levels > 0 => {
            let received: HashMap<_, _> = received.entries().into_iter().collect();
            decoded.entries().into_iter().all(|(name, value)| {
                received.get(&name).is_none_or(|received| is_part_down(value, *received, levels - 1))
            })
        }
        (Kind::Array, Kind::Array) if levels > 0 => {
            let (decoded, received) = (decoded.items(), received.items());
            decoded.len() == received.len()
                && decoded.iter().zip(received).all(|(one, other)| is_part_down(*one, other, levels - 1))
        }
        (_, Kind::Null) => true,
        // Go writes `1` for the number that Rust writes as `1.0`.
        _ => decoded.equals(received, Numbers::ByValue),
    }
}

/// Whether `received` has each member of `decoded`: the type has added none.
fn has_all(decoded: View<'_>, received: View<'_>) -> bool {
    decoded.entries().iter().all(|(name, value)| value.is_null() || received.get(name).is_some())
}

/// Whether `received` has a member of `decoded`, or `decoded` has none.
fn has_any(decoded: View<'_>, received: View<'_>) -> bool {
    let members = decoded.entries();
    members.is_empty() || members.iter().any(|(name, _)| received.get(name).is_some())
}

/// How many members of a decoded item a received one has with another value, or does not have.
struct Differences {
    other_values: usize,
    missing: usize,
}

impl Differences {
    fn of(decoded: View<'_>, received: View<'_>) -> Self {
        let received: HashMap<_, _> = received.entries().into_iter().collect();
        let mut found = Self { other_values: 0, missing: 0 };
        for (name, value) in decoded.entries() {
            match received.get(&name) {
                Some(received) => found.other_values += usize::from(!is_part(value, *received)),
                None => found.missing += usize::from(!value.is_null()),
            }
        }
        found
    }
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

    /// Items that share a scalar member with `item`, those with the rarest values first.
    fn candidates(&self, item: View<'v>) -> HashSet<usize> {
        let mut shared: Vec<_> = scalars(item).filter_map(|member| self.0.get(&member)).collect();
        shared.sort_by_key(|positions| positions.len());
        let mut candidates = HashSet::new();
        for positions in shared {
            if positions.len() > MAX_CANDIDATES || candidates.len() > MAX_CANDIDATES {
                break;
            }
            candidates.extend(positions);
        }
        candidates
    }
}

fn scalars(item: View<'_>) -> impl Iterator<Item = (Cow<'_, str>, String)> {
    let is_scalar = |value: &View<'_>| value.depth() == 0 && !value.is_null();
    let members = item.entries().into_iter().filter(move |(_, value)| is_scalar(value));
    members.map(|(name, value)| (name, value.canonical()))
}
