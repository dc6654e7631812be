//! Keeps the members of an object that no type knows.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};

use vestibule_patch::{Document, Kind, List, View, received_positions};

/// The converted object, with the members that are in `received` but not in `known`, the received object as its type encodes it.
///
/// Each member keeps its path, if there is an object at that path, and no member with that name. Items of a list are matched by
/// `name`, or if the converter has not changed them. [`None`] if the type knows all members.
pub(super) fn preserve_unknown(received: &str, known: &str, converted: &str) -> Option<String> {
    let (received, known, converted) =
        (Document::parse(received).ok()?, Document::parse(known).ok()?, Document::parse(converted).ok()?);
    let (received, known) = (received.view(), known.view());
    if received.same_as(known) {
        return None;
    }
    Some(merged(received, known, converted.view()).into_owned())
}

fn merged<'v>(received: View<'v>, known: View<'v>, converted: View<'v>) -> Cow<'v, str> {
    if received.same_as(known) {
        return converted.to_json();
    }
    match (received.kind(), known.kind(), converted.kind()) {
        (Kind::Object, Kind::Object, Kind::Object) => object(received, known, converted).into(),
        (Kind::Array, Kind::Array, Kind::Array) => list(received, known, converted).into(),
        _ => converted.to_json(),
    }
}

fn object(received: View<'_>, known: View<'_>, converted: View<'_>) -> String {
    let (received, converted) = (received.entries(), converted.entries());
    let by_name: HashMap<&str, View<'_>> = received.iter().map(|(name, value)| (&**name, *value)).collect();
    let known: HashMap<_, _> = known.entries().into_iter().collect();
    let mut names = HashSet::with_capacity(converted.len());
    let mut members = Vec::with_capacity(received.len().max(converted.len()));
    for (name, value) in &converted {
        names.insert(&**name);
        let value = match (by_name.get(&**name), known.get(name)) {
            (Some(received), Some(known)) => merged(*received, *known, *value),
            _ => value.to_json(),
        };
        members.push((name, value));
    }
    let unknown = received
        .iter()
        .filter(|(name, value)| !value.is_null() && !known.contains_key(name) && !names.contains(&**name));
    members.extend(unknown.map(|(name, value)| (name, value.to_json())));
    let members =
        members.iter().map(|(name, value)| format!("{}:{value}", serde_json::Value::from(&***name)));
    format!("{{{}}}", members.collect::<Vec<_>>().join(","))
}

fn list(received: View<'_>, known: View<'_>, converted: View<'_>) -> String {
    let (received, known, converted) = (received.items(), known.items(), converted.items());
    let (positions, from) =
        (received_positions(&received, &known, List::Unknown), origins(&known, &converted));
    let origin = |index: usize| {
        let index = from.get(index).copied().flatten()?;
        Some((*received.get(positions.get(index).copied().flatten()?)?, *known.get(index)?))
    };
    let items = converted.iter().enumerate().map(|(index, item)| match origin(index) {
        Some((received, known)) => merged(received, known, *item),
        None => item.to_json(),
    });
    format!("[{}]", items.collect::<Vec<_>>().join(","))
}

/// For each converted item, the index of its original, if it can be found.
fn origins(known: &[View<'_>], converted: &[View<'_>]) -> Vec<Option<usize>> {
    if let (Some(before), Some(after)) = (by_name(known), by_name(converted)) {
        let mut origins = vec![None; converted.len()];
        for (name, place) in after {
            if let (Some(origin), Some(slot)) = (before.get(&name), origins.get_mut(place)) {
                *slot = Some(*origin);
            }
        }
        return origins;
    }
    let mut equal: HashMap<String, VecDeque<usize>> = HashMap::new();
    for (place, item) in known.iter().enumerate() {
        equal.entry(item.canonical()).or_default().push_back(place);
    }
    converted.iter().map(|item| equal.get_mut(&item.canonical())?.pop_front()).collect()
}

/// The index of each item by its name; [`None`] if an item has no name, or two have the same.
fn by_name<'v>(items: &[View<'v>]) -> Option<BTreeMap<Cow<'v, str>, usize>> {
    let name = |(place, item): (usize, &View<'v>)| Some((item.get("name")?.as_str()?, place));
    let names: BTreeMap<_, _> = items.iter().enumerate().map(name).collect::<Option<_>>()?;
    (names.len() == items.len()).then_some(names)
}
