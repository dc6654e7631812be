//! Matches the items of two lists.

use std::collections::{HashMap, HashSet};
use std::ops::Range;

use crate::view::MAX_RECURSION;
use crate::{Kind, List, View};

/// The most cells of the table for equal items: 4 MiB, a few milliseconds.
const EQUAL_CELLS: usize = 1 << 19;
/// The most pairs of items whose similarity is computed.
const SIMILARITY_CELLS: usize = 1 << 10;
/// The most bytes of all these pairs: each pair is read once for each of its levels.
const SIMILARITY_BYTES: usize = 1 << 22;
/// The similarity of equal items.
const EQUAL: u64 = 1000;

/// The indexes of one item in both lists.
type Pair = (usize, usize);

/// For each item of `after`, its index in `before`.
pub(super) fn align(before: &[View<'_>], after: &[View<'_>], how: List) -> Vec<Option<usize>> {
    let alike = |(one, other): &(&View<'_>, &View<'_>)| one.to_json() == other.to_json();
    let start = before.iter().zip(after).take_while(alike).count();
    let (old, new) = (&before[start..], &after[start..]);
    let end = old.iter().rev().zip(new.iter().rev()).take_while(alike).count();
    let (old, new) = (&old[..old.len() - end], &new[..new.len() - end]);

    let mut aligned: Vec<Option<usize>> = (0..start).map(Some).collect();
    aligned.resize(start + new.len(), None);
    aligned.extend((before.len() - end..before.len()).map(Some));
    let pairs = match (identities(old, how), identities(new, how)) {
        (Some(old), Some(new)) => by_identity(&old, &new),
        _ if how == List::Unknown => by_name(old, new),
        _ => by_content(old, new, how),
    };
    for (old, new) in pairs {
        aligned[start + new] = Some(start + old);
    }
    aligned
}

/// The keys of all items; [`None`] if an item has none, or two share one.
fn identities(items: &[View<'_>], how: List) -> Option<Vec<String>> {
    let identities: Vec<String> = items.iter().map(|item| identity(*item, how)).collect::<Option<_>>()?;
    let distinct: HashSet<&String> = identities.iter().collect();
    (distinct.len() == items.len()).then_some(identities)
}

/// The indexes of a longest increasing subsequence.
pub(super) fn rising(numbers: &[usize]) -> Vec<usize> {
    // For each length, the index of the smallest number that ends such a sequence; for each number, the index of its predecessor.
    let (mut ends, mut previous) = (Vec::<usize>::new(), Vec::with_capacity(numbers.len()));
    for (index, number) in numbers.iter().enumerate() {
        let length = ends.partition_point(|&end| numbers[end] < *number);
        previous.push(length.checked_sub(1).map(|shorter| ends[shorter]));
        ends.truncate(ends.len().max(length));
        match ends.get_mut(length) {
            Some(end) => *end = index,
            None => ends.push(index),
        }
    }
    let mut sequence: Vec<usize> =
        std::iter::successors(ends.last().copied(), |&index| previous[index]).collect();
    sequence.reverse();
    sequence
}

pub(super) fn identity(item: View<'_>, how: List) -> Option<String> {
    match (how, item.kind()) {
        (List::Map(keys), Kind::Object) => keys
            .iter()
            .map(|key| {
                let value = item.get(key.name).filter(|value| !value.is_null());
                value.or(key.default.map(View::text)).map(|value| value.canonical() + ",")
            })
            .collect(),
        (List::Map(_), _) | (List::Set, Kind::Array | Kind::Object) | (List::Atomic | List::Unknown, _) => {
            None
        }
        (List::Set, _) => Some(item.canonical()),
    }
}

fn by_identity(old: &[String], new: &[String]) -> Vec<Pair> {
    let places: HashMap<&str, usize> = old.iter().enumerate().map(|(at, key)| (&**key, at)).collect();
    let pair = |(new, key): (usize, &String)| Some((*places.get(&**key)?, new));
    new.iter().enumerate().filter_map(pair).collect()
}

/// Without a schema, as in most custom resources, items are matched by their `name`; items without a name, or with a shared one,
/// by content.
fn by_name(old: &[View<'_>], new: &[View<'_>]) -> Vec<Pair> {
    let (olds, news) = (names(old), names(new));
    let mut pairs: Vec<Pair> = olds.iter().filter_map(|(name, &at)| Some((at, *news.get(name)?))).collect();
    let rest = |length: usize, paired: HashSet<usize>| -> Vec<usize> {
        (0..length).filter(|at| !paired.contains(at)).collect()
    };
    let (paired_old, paired_new) = pairs.iter().copied().unzip();
    let (rest_old, rest_new) = (rest(old.len(), paired_old), rest(new.len(), paired_new));
    let left_old: Vec<_> = rest_old.iter().map(|&at| old[at]).collect();
    let left_new: Vec<_> = rest_new.iter().map(|&at| new[at]).collect();
    let by_content = by_content(&left_old, &left_new, List::Unknown);
    pairs.extend(by_content.into_iter().map(|(one, other)| (rest_old[one], rest_new[other])));
    pairs
}

/// The indexes of items with a unique `name`.
fn names(items: &[View<'_>]) -> HashMap<String, usize> {
    let (mut names, mut shared) = (HashMap::new(), HashSet::new());
    for (at, item) in items.iter().enumerate() {
        let Some(name) = item.get("name").filter(|name| name.kind() == Kind::String) else { continue };
        let name = name.canonical();
        if names.insert(name.clone(), at).is_some() {
            shared.insert(name);
        }
    }
    names.retain(|name, _| !shared.contains(name));
    names
}

/// Matches equal items that keep their order, then equal items that moved, then similar items between the former.
fn by_content(old: &[View<'_>], new: &[View<'_>], how: List) -> Vec<Pair> {
    if let ([one], [other]) = (old, new) {
        return if similarity(*one, *other, how) > 0 { vec![(0, 0)] } else { Vec::new() };
    }
    if old.is_empty() || new.is_empty() {
        return Vec::new();
    }
    let (whole_old, whole_new) = (0..old.len(), 0..new.len());
    let (olds, news) = numbered(old, new);
    let equal = |one: usize, other: usize| u64::from(olds[one] == news[other]);
    let ordered = heaviest(&whole_old, &whole_new, EQUAL_CELLS, equal).unwrap_or_else(|| {
        fill(&unique(&olds, &news), &whole_old, &whole_new, |old, new| {
            heaviest(old, new, EQUAL_CELLS, equal).unwrap_or_default()
        })
    });
    let moved = moved(&olds, &news, &ordered);
    let (moved_old, moved_new): (HashSet<usize>, HashSet<usize>) = moved.iter().copied().unzip();
    let like = |one: usize, other: usize| {
        let taken = moved_old.contains(&one) || moved_new.contains(&other);
        if taken { 0 } else { similarity(old[one], new[other], how) }
    };
    let mut pairs = fill(&ordered, &whole_old, &whole_new, |olds, news| {
        let (size_old, size_new) = (size(&old[olds.clone()]), size(&new[news.clone()]));
        let bytes = size_old.saturating_mul(news.len()).saturating_add(size_new.saturating_mul(olds.len()));
        let cells = if bytes > SIMILARITY_BYTES { 0 } else { SIMILARITY_CELLS };
        heaviest(olds, news, cells, like).unwrap_or_else(|| {
            olds.clone().zip(news.clone()).filter(|&(one, other)| like(one, other) > 0).collect()
        })
    });
    pairs.extend(moved);
    // An item that only changed keeps its place while items around it are exchanged.
    let (paired_old, paired_new): (HashSet<usize>, HashSet<usize>) = pairs.iter().copied().unzip();
    let is_left = |at: &usize| !paired_old.contains(at) && !paired_new.contains(at);
    let left = (0..old.len().min(new.len())).filter(is_left);
    pairs.extend(left.filter(|&at| like(at, at) > 0).map(|at| (at, at)));
    pairs
}

/// A number for each item, the same one for equal items of both lists.
fn numbered(old: &[View<'_>], new: &[View<'_>]) -> (Vec<usize>, Vec<usize>) {
    let mut known = HashMap::new();
    let mut number = |item: &View<'_>| {
        let next = known.len();
        *known.entry(item.canonical()).or_insert(next)
    };
    (old.iter().map(&mut number).collect(), new.iter().map(&mut number).collect())
}

/// Pairs of equal items that are not in `ordered`.
fn moved(old: &[usize], new: &[usize], ordered: &[Pair]) -> Vec<Pair> {
    let (paired_old, paired_new): (HashSet<usize>, HashSet<usize>) = ordered.iter().copied().unzip();
    let mut places: HashMap<usize, Vec<usize>> = HashMap::new();
    for (place, number) in old.iter().enumerate().rev().filter(|(place, _)| !paired_old.contains(place)) {
        places.entry(*number).or_default().push(place);
    }
    let rest = new.iter().enumerate().filter(|(place, _)| !paired_new.contains(place));
    rest.filter_map(|(place, number)| Some((places.get_mut(number)?.pop()?, place))).collect()
}

/// Adds the pairs that `find` returns for each gap between `pairs`.
fn fill(
    pairs: &[Pair],
    old: &Range<usize>,
    new: &Range<usize>,
    find: impl Fn(&Range<usize>, &Range<usize>) -> Vec<Pair>,
) -> Vec<Pair> {
    let (mut filled, mut from) = (Vec::with_capacity(pairs.len()), (old.start, new.start));
    for pair in pairs.iter().copied().chain([(old.end, new.end)]) {
        let (old, new) = (from.0..pair.0, from.1..pair.1);
        if !old.is_empty() && !new.is_empty() {
            filled.extend(find(&old, &new));
        }
        filled.push(pair);
        from = (pair.0 + 1, pair.1 + 1);
    }
    filled.pop();
    filled
}

/// Pairs of items that occur once in each list, in a common order. It takes linear time, for lists whose table would be too
/// large.
fn unique(old: &[usize], new: &[usize]) -> Vec<Pair> {
    let mut places: HashMap<usize, (Vec<usize>, Vec<usize>)> = HashMap::new();
    old.iter().enumerate().for_each(|(at, number)| places.entry(*number).or_default().0.push(at));
    new.iter().enumerate().for_each(|(at, number)| places.entry(*number).or_default().1.push(at));
    let mut pairs: Vec<Pair> = places
        .into_values()
        .filter_map(|(old, new)| match (&*old, &*new) {
            (&[old], &[new]) => Some((old, new)),
            _ => None,
        })
        .collect();
    pairs.sort_unstable_by_key(|&(_, new)| new);
    let olds: Vec<usize> = pairs.iter().map(|&(old, _)| old).collect();
    rising(&olds).into_iter().map(|at| pairs[at]).collect()
}

/// The common subsequence of the greatest weight; [`None`] if its table needed more than `cells`.
fn heaviest(
    old: &Range<usize>,
    new: &Range<usize>,
    cells: usize,
    weight: impl Fn(usize, usize) -> u64,
) -> Option<Vec<Pair>> {
    let width = new.len() + 1;
    if old.len().saturating_mul(new.len()) > cells {
        return None;
    }
    // For each pair of positions, the greatest weight from there to the end of both lists.
    let mut table = vec![0_u64; (old.len() + 1) * width];
    for (row, one) in old.clone().enumerate().rev() {
        for (column, other) in new.clone().enumerate().rev() {
            let here = row * width + column;
            let skipped = table[here + width].max(table[here + 1]);
            let weight = weight(one, other);
            table[here] = if weight == 0 { skipped } else { skipped.max(weight + table[here + width + 1]) };
        }
    }
    let (mut pairs, mut row, mut column) = (Vec::new(), 0, 0);
    while row < old.len() && column < new.len() {
        let here = row * width + column;
        if table[here] == table[here + width] {
            row += 1;
        } else if table[here] == table[here + 1] {
            column += 1;
        } else {
            pairs.push((old.start + row, new.start + column));
            (row, column) = (row + 1, column + 1);
        }
    }
    Some(pairs)
}

/// The similarity of two items, from 0 to [`EQUAL`]; 0 below one half, or for different keys in a list with keys.
fn similarity(one: View<'_>, other: View<'_>, how: List) -> u64 {
    if let (Some(key), Some(others)) = (identity(one, how), identity(other, how)) {
        return if key == others { 1 + agreement(one, other, MAX_RECURSION) } else { 0 };
    }
    let agreement = agreement(one, other, MAX_RECURSION);
    if agreement * 2 >= EQUAL { agreement } else { 0 }
}

fn size(items: &[View<'_>]) -> usize {
    items.iter().map(|item| item.to_json().len()).sum()
}

/// The share of equal parts, level by level. `levels` is the number of further levels that are compared.
fn agreement(one: View<'_>, other: View<'_>, levels: usize) -> u64 {
    if one.to_json() == other.to_json() {
        return EQUAL;
    }
    let (size, sum) = match (one.kind(), other.kind()) {
        (Kind::Object, Kind::Object) if levels > 0 => {
            let (mine, others): (Vec<_>, HashMap<_, _>) =
                (one.entries(), other.entries().into_iter().collect());
            let agrees =
                |(name, value): &(_, View<'_>)| Some(agreement(*value, *others.get(name)?, levels - 1));
            let shared = mine.iter().filter_map(agrees);
            (mine.len().max(others.len()), shared.sum::<u64>())
        }
        (Kind::Array, Kind::Array) if levels > 0 => {
            let (mine, others) = (one.items(), other.items());
            let shared = mine.iter().zip(&others).map(|(value, other)| agreement(*value, *other, levels - 1));
            (mine.len().max(others.len()), shared.sum::<u64>())
        }
        _ => return if one.same_as(other) { EQUAL } else { 0 },
    };
    // Two empty containers are equal, with any white space in them.
    u64::try_from(size).ok().and_then(|size| sum.checked_div(size)).unwrap_or(EQUAL)
}
