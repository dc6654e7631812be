//! The items of a list as they were received, and as a type has read them: it may leave items out, and sort a set or a map.

use std::collections::HashSet;

use crate::View;

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
