//! Laws that hold for any two documents.

use proptest::prelude::*;
use serde_json::Value;
use serde_json::value::RawValue;
use vestibule_patch::{Document, Kind, Operation, Pointer, Schema, View, diff, to_json};

use crate::sample::{Json, document, edit, plain, read, schema, tape, write};

/// Ten thousand cases, or as many as `VESTIBULE_CASES` says: mutation tests run the laws a thousand times.
pub(crate) fn cases() -> ProptestConfig {
    let wanted = std::env::var("VESTIBULE_CASES").ok().and_then(|cases| cases.parse().ok());
    ProptestConfig { cases: wanted.unwrap_or(10_000), failure_persistence: None, ..ProptestConfig::default() }
}

fn depth(json: &Json) -> usize {
    match json {
        Json::Scalar(_) => 0,
        Json::Array(items) => 1 + items.iter().map(depth).max().unwrap_or_default(),
        Json::Object(members) => 1 + members.iter().map(|(_, value)| depth(value)).max().unwrap_or_default(),
    }
}

fn value(text: &str) -> Value {
    serde_json::from_str(text).unwrap()
}

proptest! {
    #![proptest_config(cases())]

    /// A view that skips the containers of an outline reads what one without them reads, in a part of a text too.
    #[test]
    fn a_resumed_view_is_the_view_of_the_text(object in document(), mut spelling in tape()) {
        let text = format!(r#"{{"first": [{{}}], "object": {} , "last": {{}}}}"#, write(&object, &mut spelling));
        let review = Document::parse(&text).unwrap();
        let (_, part) = review.members().nth(1).unwrap();
        let raw = RawValue::from_string(part.text().to_owned()).unwrap();
        let outline = part.outline_of(raw.get()).unwrap();
        let (resumed, plain) = (View::resume(raw.get(), &outline).unwrap(), View::of(&raw));
        prop_assert_eq!(leaves(resumed), leaves(plain));
    }

    #[test]
    fn the_delta_makes_the_second_document_out_of_the_first(
        before in document(), fresh in document(), mut script in tape(), mut spelling in tape(),
        related in any::<bool>(), blind in any::<bool>(),
    ) {
        let mut after = if related { before.clone() } else { fresh.clone() };
        edit(&mut after, &fresh, &mut script);
        let (before, after) = (write(&before, &mut spelling), write(&after, &mut spelling));
        let operations = diff(&before, &after, if blind { Schema::unknown() } else { schema() }).unwrap();

        let mut document = Document::parse(&before).unwrap();
        document.apply_all(&operations).unwrap();
        prop_assert!(document.view().same_as(Document::parse(&after).unwrap().view()));
        prop_assert_eq!(value(&document.to_json()), value(&after));

        let json = to_json(&operations);
        let independent: json_patch::Patch = serde_json::from_str(&json).unwrap();
        let mut independently = value(&before);
        json_patch::patch(&mut independently, &independent).unwrap();
        prop_assert_eq!(independently, value(&after));

        let again: Vec<Operation> = serde_json::from_str(&json).unwrap();
        prop_assert_eq!(to_json(&again), json);
    }

    #[test]
    fn a_view_sees_the_same_whether_it_knows_where_containers_end_or_has_to_read(
        json in document(), mut spelling in tape(),
    ) {
        let text = write(&json, &mut spelling);
        let unknown: &RawValue = serde_json::from_str(&text).unwrap();
        let document = Document::parse(&text).unwrap();
        prop_assert_eq!(plain(&read(document.view())), plain(&read(View::of(unknown))));
        prop_assert_eq!(document.view().canonical(), View::of(unknown).canonical());
        prop_assert_eq!(document.view().depth(), depth(&json));
    }

    #[test]
    fn changes_of_a_document_are_not_seen_in_its_clones(
        before in document(), fresh in document(), mut script in tape(), mut spelling in tape(),
    ) {
        let mut after = before.clone();
        edit(&mut after, &fresh, &mut script);
        let (before, after) = (write(&before, &mut spelling), write(&after, &mut spelling));
        let mut document = Document::parse(&before).unwrap();
        for operation in diff(&before, &after, schema()).unwrap() {
            let (clone, seen) = (document.clone(), document.to_json());
            document.apply(&operation).unwrap();
            prop_assert_eq!(clone.to_json(), seen);
        }
    }

    #[test]
    fn equal_documents_give_nothing(document in document(), mut one in tape(), mut other in tape()) {
        let (one, other) = (write(&document, &mut one), write(&document, &mut other));
        prop_assert_eq!(to_json(&diff(&one, &other, schema()).unwrap()), "[]");
        prop_assert!(Document::parse(&one).unwrap().view().same_as(Document::parse(&other).unwrap().view()));
    }

    #[test]
    fn documents_that_are_not_the_same_give_something(one in document(), other in document()) {
        let (one, other) = (plain(&one), plain(&other));
        let same = Document::parse(&one).unwrap().view().same_as(Document::parse(&other).unwrap().view());
        prop_assert_eq!(diff(&one, &other, schema()).unwrap().is_empty(), same);
    }

    #[test]
    fn an_insertion_is_one_add(
        items in prop::collection::vec(document(), 0..6), item in document(), mut place in tape(),
        list in prop::sample::select(&["atomic", "named", "plain", "ports", "set"][..]),
    ) {
        let mut more = items.clone();
        more.insert(place.below(items.len() + 1), item);
        let holding = |items| plain(&Json::Object(vec![(list.to_owned(), Json::Array(items))]));
        let operations = diff(&holding(items.clone()), &holding(more.clone()), schema()).unwrap();
        prop_assert_eq!(operations.iter().map(Operation::name).collect::<Vec<_>>(), ["add"]);
        let back = diff(&holding(more), &holding(items), schema()).unwrap();
        prop_assert_eq!(back.iter().map(Operation::name).collect::<Vec<_>>(), ["remove"]);
    }

    #[test]
    fn views_agree_with_a_parsed_tree(json in document(), mut spelling in tape()) {
        let text = write(&json, &mut spelling);
        let parsed = value(&text);
        let document = Document::parse(&text).unwrap();
        prop_assert_eq!(value(&plain(&read(document.view()))), parsed.clone());
        for (name, member) in parsed.as_object().unwrap() {
            let found = document.at(&Pointer::root().child(name)).unwrap();
            prop_assert_eq!(&value(&found.to_json()), member);
        }
    }

    #[test]
    fn pointers_survive_being_written(tokens in prop::collection::vec("[a~/01\\\\\"é]{0,4}", 0..5)) {
        let mut pointer = Pointer::root();
        tokens.iter().for_each(|token| pointer.push(token));
        let read: Pointer = pointer.as_str().parse().unwrap();
        prop_assert_eq!(&read, &pointer);
        prop_assert_eq!(read.tokens().collect::<Vec<_>>(), tokens);
        prop_assert_eq!(serde_json::from_str::<Pointer>(&serde_json::to_string(&pointer).unwrap()).unwrap(), pointer);
    }

    #[test]
    fn operations_survive_being_written(kind in 0..6_usize, from in "(/[a-z~]{0,3}){0,3}", json in document()) {
        let mut path = Pointer::root();
        path.push(&from);
        let from = path.child("from");
        let value = RawValue::from_string(plain(&json)).unwrap().into();
        let operation = match kind {
            0 => Operation::Add { path, value },
            1 => Operation::Remove { path },
            2 => Operation::Replace { path, value },
            3 => Operation::Move { from, path },
            4 => Operation::Copy { from, path },
            _ => Operation::Test { path, value },
        };
        let written = serde_json::to_string(&operation).unwrap();
        prop_assert_eq!(format!("[{written}]"), to_json(std::slice::from_ref(&operation)));
        let read: Operation = serde_json::from_str(&written).unwrap();
        prop_assert_eq!(serde_json::to_string(&read).unwrap(), written);
        prop_assert_eq!(read.name(), operation.name());
    }
}

/// The texts of all values that are no containers, in their order, with the names of members.
fn leaves(view: View<'_>) -> Vec<String> {
    let named = view.entries().into_iter().flat_map(|(name, value)| {
        std::iter::once(name.clone().into_owned()).chain(leaves(view.get(&name).unwrap_or(value)))
    });
    let of_container: Vec<String> = named.chain(view.items().into_iter().flat_map(leaves)).collect();
    match view.kind() {
        Kind::Array | Kind::Object => of_container,
        _ => vec![view.to_json().into_owned()],
    }
}
