//! An edit proves what it did, and nothing else.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::value::RawValue;
use vestibule_patch::{Document, Edit, MAX_DEPTH, Operation, Pointer, to_json};

fn operation(text: &str) -> Operation {
    serde_json::from_str(text).unwrap()
}

fn add(path: &str) -> Operation {
    operation(&format!(r#"{{"op":"add","path":"{path}","value":1}}"#))
}

/// Whether `edit` says that its patch applies to `original`, which must not be said of one that leads elsewhere.
fn is_proved(edit: Edit<'_>, original: &Document<'_>) -> bool {
    let becomes = edit.document().to_json();
    let patch = edit.into_patch();
    let proved = patch.was_carried_out_on(original);
    let mut again = original.clone();
    let applies = again.apply_all(&patch).is_ok() && again.to_json() == becomes;
    assert!(applies || !proved, "{} does not lead to {becomes}", patch.to_json());
    proved
}

#[test]
fn a_move_that_fails_halfway_leaves_no_proof() {
    let original = Document::parse(r#"{"l":["s",{}]}"#).unwrap();
    let mut edit = Edit::new(original.clone());
    let before = edit.mark();
    assert!(edit.apply(operation(r#"{"op":"move","from":"/l/0","path":"/nowhere/x"}"#)).is_err());
    let after = edit.mark();
    edit.apply(add("/l/0/k")).unwrap();
    assert!(!is_proved(edit.clone(), &original));

    edit.go_back(after);
    edit.apply(add("/l/0/k")).unwrap();
    assert!(!is_proved(edit.clone(), &original), "it went wrong before that mark");
    edit.go_back(before);
    edit.apply(add("/l/1/k")).unwrap();
    assert!(is_proved(edit, &original), "it went wrong after that mark");
}

#[test]
fn a_mark_that_others_have_written_over_leaves_no_proof() {
    let original = Document::parse(r#"{"a":{}}"#).unwrap();
    let mut edit = Edit::new(original.clone());
    let start = edit.mark();
    edit.apply(add("/a/gone")).unwrap();
    let (forgotten, again) = (edit.mark(), edit.mark());
    edit.apply(add("/a/more")).unwrap();
    edit.go_back(again);
    assert!(is_proved(edit.clone(), &original));

    edit.go_back(start);
    let start = edit.mark();
    edit.apply(add("/a/kept")).unwrap();
    edit.go_back(forgotten);
    assert_eq!(edit.document().to_json(), r#"{"a":{"gone":1}}"#, "what was marked");
    assert!(!edit.clone().into_patch().was_carried_out_on(&original));
    edit.go_back(start);
    edit.apply(add("/a/kept")).unwrap();
    assert!(is_proved(edit, &original));
}

#[test]
fn a_mark_of_another_edit_leaves_no_proof() {
    let original = Document::parse(r#"{"a":{}}"#).unwrap();
    let marked = |mut edit: Edit<'static>| {
        edit.apply(add("/a/other")).unwrap();
        edit.mark()
    };
    let edit = Edit::new(original.clone());
    for foreign in [marked(edit.clone()), marked(Edit::new(original.clone())), edit.clone().mark()] {
        let mut edit = edit.clone();
        edit.apply(add("/a/own")).unwrap();
        edit.go_back(foreign);
        assert!(!is_proved(edit, &original));
    }
}

fn number(number: usize) -> Arc<RawValue> {
    RawValue::from_string(number.to_string()).map(Arc::from).unwrap()
}

proptest! {
    /// `insert` has the result of one operation `add` for each item.
    #[test]
    fn an_insertion_is_an_addition(length in 0_usize..4, indices in prop::collection::vec(0_usize..8, 0..6)) {
        let text = serde_json::json!({"a": {"l": vec!["x"; length]}}).to_string();
        let original = Document::parse(&text).unwrap();
        let list: Pointer = "/a/l".parse().unwrap();
        let mut edit = Edit::new(original.clone());
        edit.insert(&list, indices.iter().copied().zip((0..).map(number))).unwrap();
        let mut one_by_one = Edit::new(original.clone());
        for (count, index) in indices.iter().enumerate() {
            let path = if *index < length + count { list.item(*index) } else { list.child("-") };
            one_by_one.apply(Operation::Add { path, value: number(count) }).unwrap();
        }
        prop_assert_eq!(to_json(edit.operations()), to_json(one_by_one.operations()));
        prop_assert_eq!(edit.document().to_json(), one_by_one.document().to_json());
        prop_assert!(is_proved(edit, &original));
    }
}

/// `set` has the result of an operation `add`; without an object above the path it changes nothing.
#[test]
fn set_adds_to_an_object_or_changes_nothing() {
    let text = r#"{"a":{"k":0,"k":2},"l":[1],"n":null,"s":"x"}"#;
    let original = Document::parse(text).unwrap();
    for (place, is_object) in [
        ("/a/k", true),
        ("/a/new~1one", true),
        ("/b", true),
        ("/l/0", false),
        ("/l/-", false),
        ("/n/k", false),
        ("/s/k", false),
        ("/c/k", false),
        ("/a/k/k", false),
        ("", false),
    ] {
        let place: Pointer = place.parse().unwrap();
        let (mut edit, mut added) = (Edit::new(original.clone()), Edit::new(original.clone()));
        let left = edit.set(place.clone(), number(7)).unwrap();
        assert_eq!(left.is_none(), is_object, "{place}");
        if is_object {
            added.apply(Operation::Add { path: place, value: number(7) }).unwrap();
        }
        assert_eq!(to_json(edit.operations()), to_json(added.operations()));
        let same = added.document().view().same_as(edit.document().view());
        assert!(same && is_proved(edit, &original));
    }
}

#[test]
fn a_member_that_would_be_too_deep_leaves_no_proof() {
    let original = Document::parse(r#"{"a":{}}"#).unwrap();
    let mut edit = Edit::new(original.clone());
    let deep = format!("{}{}", "[".repeat(MAX_DEPTH), "]".repeat(MAX_DEPTH));
    assert!(edit.set("/a/k".parse().unwrap(), RawValue::from_string(deep).unwrap().into()).is_err());
    assert!(edit.operations().is_empty() && !is_proved(edit, &original));
}

#[test]
fn an_insertion_into_what_is_no_list_leaves_no_proof() {
    let original = Document::parse(r#"{"a":{"k":1}}"#).unwrap();
    for place in ["/a", "/a/k", "/b"] {
        let mut edit = Edit::new(original.clone());
        assert!(edit.insert(&place.parse().unwrap(), [(0, number(1))]).is_err());
        assert!(edit.operations().is_empty() && !edit.into_patch().was_carried_out_on(&original), "{place}");
    }
}

/// The items before the one that fails are inserted, and a mark from before them leads back, with the proof.
#[test]
fn an_insertion_that_fails_midway_can_be_taken_back() {
    let original = Document::parse(r#"{"l":["x"]}"#).unwrap();
    let list: Pointer = "/l".parse().unwrap();
    let mut edit = Edit::new(original.clone());
    edit.apply(add("/a")).unwrap();
    let mark = edit.mark();
    let deep = format!("{}{}", "[".repeat(MAX_DEPTH), "]".repeat(MAX_DEPTH));
    let deep: Arc<RawValue> = RawValue::from_string(deep).unwrap().into();
    assert!(edit.insert(&list, [(0, number(7)), (1, deep)]).is_err());
    assert_eq!(edit.document().to_json(), r#"{"l":[7,"x"],"a":1}"#);
    assert_eq!(edit.operations().len(), 2);
    assert!(!edit.clone().into_patch().was_carried_out_on(&original));
    edit.go_back(mark);
    assert_eq!(edit.document().to_json(), r#"{"l":["x"],"a":1}"#);
    assert!(is_proved(edit, &original));
}
