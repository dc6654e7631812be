//! Members that the types do not know survive, byte by byte, and stay with their item.

use std::collections::HashMap;

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
