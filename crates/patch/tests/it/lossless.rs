//! Members that the types do not know survive, byte by byte, and stay with their item.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use proptest::prelude::*;
use vestibule_patch::{Document, Kind, List, Schema, View, diff_onto};

use crate::sample::{Json, Tape, document, edit, plain, read, schema, tape, write};

const EXOTIC: &[&str] = &[
    "18446744073709551616",
    "-123456789012345678901234567890",
    "1.0",
    "1e400",
    "-0.0",
    "1E+2",
    r#""\u0041\/\ud800 \u00e9""#,
    r#"{"deep" : [1.00 , null, {"deep":2e-400}]}"#,
    "[ ]",
    "null",
];

proptest! {
    #![proptest_config(crate::laws::cases())]

    #[test]
    fn unknown_fields_survive(
        before in document(), fresh in document(), mut script in tape(), mut strange in tape(), mut spelling in tape(),
    ) {
        let (mut after, mut onto) = (before.clone(), before.clone());
        edit(&mut after, &fresh, &mut script);
        estrange(&mut onto, &mut strange, &mut 0);
        let (before, after, onto) =
            (plain(&before), write(&after, &mut spelling), write(&onto, &mut spelling));

        let operations = diff_onto(&before, &after, &onto, schema()).unwrap();
        let mut document = Document::parse(&onto).unwrap();
        document.apply_all(&operations).unwrap();

        let (before, after, onto) =
            (Document::parse(&before).unwrap(), Document::parse(&after).unwrap(), Document::parse(&onto).unwrap());
        let (intended, made) = (plain(&bare(&read(after.view()))), plain(&bare(&read(document.view()))));
        prop_assert!(Document::parse(&made).unwrap().view().same_as(Document::parse(&intended).unwrap().view()));

        let was = strangers(before.view(), onto.view());
        let is = strangers(after.view(), document.view());
        for (place, known) in &was {
            if let Some(found) = is.get(place) {
                prop_assert_eq!(found, known, "at {}", place);
            }
        }
        let received = all_strangers(onto.view());
        let mut left = all_strangers(document.view());
        prop_assert!(left.iter().all(|stranger| received.contains(stranger)));
        let count = left.len();
        left.dedup();
        prop_assert_eq!(left.len(), count, "one of them is there twice");
    }
}

/// Makes the object received out of what its decoding gives: unknown members, and nothing or null for what is empty.
fn estrange(json: &mut Json, tape: &mut Tape, count: &mut usize) {
    match json {
        Json::Scalar(_) => {}
        Json::Array(items) => items.iter_mut().for_each(|item| estrange(item, tape, count)),
        Json::Object(members) => {
            members.retain(|(_, value)| !is_empty(value) || !tape.chance(30));
            for (_, value) in members.iter_mut() {
                if is_empty(value) && tape.chance(30) {
                    *value = Json::Scalar("null".to_owned());
                }
                estrange(value, tape, count);
            }
            if tape.chance(60) {
                *count += 1;
                let value = Json::Scalar(EXOTIC[tape.below(EXOTIC.len())].to_owned());
                members.insert(tape.below(members.len() + 1), (format!("x-{count}"), value));
            }
        }
    }
}

fn is_empty(json: &Json) -> bool {
    match json {
        Json::Scalar(written) => written == "null",
        Json::Array(items) => items.is_empty(),
        Json::Object(members) => members.is_empty(),
    }
}

/// The document without unknown and empty members.
fn bare(json: &Json) -> Json {
    match json {
        Json::Scalar(_) => json.clone(),
        Json::Array(items) => Json::Array(items.iter().map(bare).collect()),
        Json::Object(members) => {
            let known = members.iter().filter(|(name, _)| !name.starts_with("x-"));
            let bare = known.map(|(name, value)| (name.clone(), bare(value)));
            Json::Object(bare.filter(|(_, value)| !is_empty(value)).collect())
        }
    }
}

/// The unknown members of all objects, sorted.
fn all_strangers(view: View<'_>) -> Vec<(String, String)> {
    let mut strangers: Vec<_> = view.items().into_iter().flat_map(all_strangers).collect();
    for (name, value) in view.entries() {
        match name.starts_with("x-") {
            true => strangers.push((name.into_owned(), value.to_json().into_owned())),
            false => strangers.extend(all_strangers(value)),
        }
    }
    strangers.sort();
    strangers
}

/// The unknown members of every object of `real` whose identity `shape` tells: by names, keys, or singular content.
fn strangers(shape: View<'_>, real: View<'_>) -> HashMap<String, Vec<(String, String)>> {
    let mut found = HashMap::new();
    collect(shape, real, schema(), String::new(), &mut found);
    found
}

fn collect(
    shape: View<'_>,
    real: View<'_>,
    schema: Schema<'_>,
    place: String,
    found: &mut HashMap<String, Vec<(String, String)>>,
) {
    match (shape.kind(), real.kind()) {
        (Kind::Object, Kind::Object) => {
            for (name, value) in shape.entries() {
                if let Some(real) = real.get(&name) {
                    collect(value, real, schema.field(&name), format!("{place}.{name}"), found);
                }
            }
            let strange = real.entries().into_iter().filter(|(name, _)| name.starts_with("x-"));
            let mut strange: Vec<_> =
                strange.map(|(name, value)| (name.into_owned(), value.to_json().into_owned())).collect();
            strange.sort();
            found.insert(place, strange);
        }
        (Kind::Array, Kind::Array) => {
            let (shapes, reals) = (shape.items(), real.items());
            assert_eq!(shapes.len(), reals.len(), "at {place}");
            let identities = identities(&shapes, schema.list());
            for ((shape, real), identity) in shapes.iter().zip(reals).zip(&identities) {
                if identities.iter().filter(|other| *other == identity).count() == 1 {
                    collect(*shape, real, schema.item(), format!("{place}[{identity}]"), found);
                }
            }
        }
        _ => {}
    }
}

fn identities(items: &[View<'_>], how: List) -> Vec<String> {
    if let List::Map(keys) = how {
        let key = |item: &View<'_>| {
            let member = |name: &str| item.get(name).filter(|value| !value.is_null());
            let written = |key: &vestibule_patch::Key| match member(key.name) {
                Some(value) => Some(sorted(&read(value))),
                None => key.default.map(str::to_owned),
            };
            keys.iter().map(written).collect::<Option<Vec<_>>>().map(|keys| format!("key {}", keys.join(",")))
        };
        if let Some(identities) = items.iter().map(key).collect::<Option<Vec<_>>>() {
            let mut distinct = identities.clone();
            distinct.sort();
            distinct.dedup();
            if distinct.len() == items.len() {
                return identities;
            }
        }
    }
    items.iter().map(|item| format!("content {}", sorted(&read(*item)))).collect()
}

/// One text for every order of members and every spelling of strings.
fn sorted(json: &Json) -> String {
    match json {
        Json::Scalar(written) if written.starts_with('"') => {
            serde_json::to_string(&serde_json::from_str::<String>(written).unwrap()).unwrap()
        }
        Json::Scalar(written) => written.clone(),
        Json::Array(items) => items.iter().map(|item| format!("{},", sorted(item))).collect(),
        Json::Object(members) => {
            let mut members: Vec<_> =
                members.iter().map(|(name, value)| format!("{name:?}:{}", sorted(value))).collect();
            members.sort();
            format!("{{{}}}", members.join(","))
        }
    }
}

/// An item as a type reads it; each has an unknown member of its own in the received list.
fn item(key: u8, value: u8, stranger: Option<u8>) -> String {
    let stranger = stranger.map(|stranger| format!(r#","x":{stranger}"#)).unwrap_or_default();
    format!(r#"{{"host":"h{key}","value":{value}{stranger}}}"#)
}

fn list(items: impl IntoIterator<Item = String>) -> String {
    format!("[{}]", items.into_iter().collect::<Vec<_>>().join(","))
}

proptest! {
    #![proptest_config(crate::laws::cases())]

    /// A type holds a list as a map, and writes it sorted.
    #[test]
    fn unknown_fields_stay_with_their_items_in_a_list_that_the_type_sorts(
        received in prop::collection::hash_map(0_u8..20, 0_u8..3, 0..8),
        edits in prop::collection::btree_map(0_u8..20, prop::option::of(3_u8..6), 0..4),
    ) {
        let onto: Vec<(u8, u8)> = received.into_iter().collect();
        let before: BTreeMap<u8, u8> = onto.iter().copied().collect();
        let mut after = before.clone();
        for (key, edit) in &edits {
            match edit {
                Some(value) => drop(after.insert(*key, *value)),
                None => drop(after.remove(key)),
            }
        }
        let plain = |map: &BTreeMap<u8, u8>| list(map.iter().map(|(key, value)| item(*key, *value, None)));
        let text = list(onto.iter().map(|(key, value)| item(*key, *value, Some(*key))));
        let operations = diff_onto(&plain(&before), &plain(&after), &text, schema().field("plain")).unwrap();
        let mut document = Document::parse(&text).unwrap();
        document.apply_all(&operations).unwrap();
        let mut result = BTreeMap::new();
        for found in document.view().items() {
            let number = |name| found.get(name).and_then(View::as_i64);
            let key: u8 = found.get("host").unwrap().as_str().unwrap()[1..].parse().unwrap();
            prop_assert!(number("x").is_none_or(|stranger| stranger == i64::from(key)));
            let was_kept = before.contains_key(&key) && !edits.contains_key(&key);
            prop_assert!(!was_kept || number("x").is_some(), "{} lost its member", key);
            prop_assert!(result.insert(key, u8::try_from(number("value").unwrap()).unwrap()).is_none());
        }
        prop_assert_eq!(result, after);
    }

    /// A type holds a list as a set: it sorts the list, and leaves duplicates out.
    #[test]
    fn a_list_that_the_type_holds_as_a_set_has_the_items_of_the_set(
        received in prop::collection::vec(0_u8..10, 0..8),
        removed in prop::collection::btree_set(0_u8..10, 0..4),
        added in prop::collection::btree_set(5_u8..15, 0..3),
    ) {
        let before: BTreeSet<u8> = received.iter().copied().collect();
        let after: BTreeSet<u8> = before.difference(&removed).chain(&added).copied().collect();
        let plain = |set: &BTreeSet<u8>| list(set.iter().map(u8::to_string));
        let text = list(received.iter().map(u8::to_string));
        let operations = diff_onto(&plain(&before), &plain(&after), &text, schema().field("plain")).unwrap();
        let mut document = Document::parse(&text).unwrap();
        document.apply_all(&operations).unwrap();
        let result: Vec<u8> = serde_json::from_str(&document.to_json()).unwrap();
        prop_assert_eq!(result.iter().copied().collect::<BTreeSet<u8>>(), after);
        if removed.is_empty() && added.is_subset(&before) {
            prop_assert_eq!(result, received);
        }
    }
}
