//! The items of a list as they were received, and as a type has read them: it may leave items out, and sort a set or a map.

use std::collections::{HashMap, HashSet};

use super::align::{Pair, SIMILARITY_BYTES, SIMILARITY_CELLS, align, identities, similarity, size};
use crate::view::MAX_RECURSION;
use crate::{Kind, List, View};

/// For each item of `before`, its index in `onto`. Decoding may drop items, and a type that holds a set or a map sorts them.
pub(super) fn received_positions(before: &[View<'_>], onto: &[View<'_>], how: List) -> Vec<Option<usize>> {
    let by_index = (0..before.len()).map(Some);
    let is_complete = before.len() == onto.len();
    if is_complete && identities(onto, how).is_none() && is_in_order(before, onto) {
        return by_index.collect();
    }
    let positions = align_decoded(onto, before, how);
    if is_complete && positions.contains(&None) { by_index.collect() } else { positions }
}

fn is_in_order(before: &[View<'_>], onto: &[View<'_>]) -> bool {
    before.iter().zip(onto).all(|(decoded, received)| is_part(*decoded, *received))
}

/// Whether `decoded` may be the part of `received` that a type has read: no member has another value.
pub fn is_part(decoded: View<'_>, received: View<'_>) -> bool {
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
        _ => decoded.same_as(received),
    }
}

/// For each item of `decoded`, its index in `received`, from which a type has decoded it. As [`align`], but items without a key may be in
/// any order and each item has its origin, so items that are left are matched by similarity wherever they are.
fn align_decoded(received: &[View<'_>], decoded: &[View<'_>], how: List) -> Vec<Option<usize>> {
    let mut aligned = align(received, decoded, how);
    if !aligned.contains(&None) {
        return aligned;
    }
    let taken: HashSet<usize> = aligned.iter().flatten().copied().collect();
    let old: Vec<usize> = (0..received.len()).filter(|at| !taken.contains(at)).collect();
    let new: Vec<usize> = (0..decoded.len()).filter(|&at| aligned[at].is_none()).collect();
    let bytes =
        size(received).saturating_mul(new.len()).saturating_add(size(decoded).saturating_mul(old.len()));
    if old.len().saturating_mul(new.len()) > SIMILARITY_CELLS || bytes > SIMILARITY_BYTES {
        return aligned;
    }
    let pairs = old.iter().flat_map(|&old| new.iter().map(move |&new| (old, new)));
    let mut pairs: Vec<(u64, Pair)> =
        pairs.map(|(old, new)| (similarity(received[old], decoded[new], how), (old, new))).collect();
    pairs.sort_by_key(|(similarity, _)| std::cmp::Reverse(*similarity));
    let mut taken = HashSet::new();
    for (similarity, (old, new)) in pairs {
        if similarity > 0 && aligned[new].is_none() && taken.insert(old) {
            aligned[new] = Some(old);
        }
    }
    aligned
}

/// A set keeps one of several equal items. If the handler removed that one, the others are removed too: they are marked as known.
pub(super) fn mark_removed_duplicates(
    known: &mut [bool],
    before: &[View<'_>],
    onto: &[View<'_>],
    kept: &[Option<usize>],
) {
    if known.iter().all(|known| *known) {
        return;
    }
    let kept: HashSet<usize> = kept.iter().flatten().copied().collect();
    let removed = before.iter().enumerate().filter(|(index, _)| !kept.contains(index));
    let removed: HashSet<String> = removed.map(|(_, item)| item.canonical()).collect();
    for (known, item) in known.iter_mut().zip(onto).filter(|(known, _)| !**known) {
        *known = !removed.is_empty() && removed.contains(&item.canonical());
    }
}

/// If the type has sorted the list and the handler has not, the indexes of the items of `after` in an order in which those that stay
/// are as in `onto`.
pub(super) fn received_order(kept: &[Option<usize>], positions: &[Option<usize>]) -> Option<Vec<usize>> {
    let position = |place: &usize| kept[*place].and_then(|old| positions[old]);
    let staying = || (0..kept.len()).filter(|place| position(place).is_some());
    if staying().is_sorted_by_key(|place| position(&place))
        || !staying().is_sorted_by_key(|place| kept[place])
    {
        return None;
    }
    let mut sorted: Vec<usize> = staying().collect();
    sorted.sort_by_key(position);
    let mut order: Vec<usize> = (0..kept.len()).collect();
    staying().zip(sorted).for_each(|(place, item)| order[place] = item);
    Some(order)
}
