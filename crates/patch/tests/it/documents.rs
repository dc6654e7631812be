//! A document and its text, and the depth to which a difference is followed.

use std::fmt::Display;

use vestibule_patch::{Document, Edit, Operation, Pointer, Schema, View, diff, diff_onto, to_json};

use crate::sample::schema;

fn pointer(text: &str) -> Pointer {
    text.parse().unwrap()
}

#[test]
fn a_text_is_resumed_by_its_own_outline_only() {
    let text = r#"{"size": [1, {}]} "#.to_owned();
    let copy = text.clone();
    let document = Document::parse(&text).unwrap();
    let outline = document.outline();

    let again = Document::resume(&text, &outline).unwrap();
    assert_eq!(again.to_json(), document.to_json());
    assert!(Document::resume(&copy, &outline).is_none(), "another address");
    assert!(Document::resume(&text[..8], &outline).is_none(), "another length");
    assert!(Document::resume("{}", &outline).is_none(), "another address and another length");
    assert!(document.outline_of("{}").is_none());
    let of_copy = document.outline_of(&copy[..copy.len() - 1]).unwrap();
    assert!(View::resume(&copy[..copy.len() - 1], &of_copy).is_some());
    assert!(View::resume(&text, &of_copy).is_none());
}

#[test]
fn a_patch_is_proved_for_the_resumed_document_and_for_no_other_reading() {
    let text = r#"{"size": {}}"#;
    let document = Document::parse(text).unwrap();
    let mut edit = Edit::new(document.clone());
    edit.apply(serde_json::from_str(r#"{"op":"add","path":"/size/x","value":1}"#).unwrap()).unwrap();
    let patch = edit.into_patch();

    assert!(patch.was_carried_out_on(&Document::resume(text, &document.outline()).unwrap()));
    assert!(!patch.was_carried_out_on(&Document::parse(r#"{"same": {}}"#).unwrap()));
    assert!(!patch.was_carried_out_on(&Document::parse(text).unwrap()), "the second reading proves nothing");
}

#[test]
fn a_document_is_of_its_own_text_until_it_is_opened_or_changed() {
    let text = r#"{"list":[{"a":1}],"map":{}}"#.to_owned();
    let fresh = Document::parse(&text).unwrap();
    assert!(fresh.is_of(&text));
    assert!(!fresh.is_of(&text.clone()));

    let mut opened = fresh.clone();
    opened.open(&pointer("/map"));
    assert!(!opened.is_of(&text));
    assert!(!opened.is_of(&text.clone()));
    assert_eq!(opened.to_json(), text);

    let mut opened = fresh.clone();
    opened.open_items(&pointer("/list"));
    assert!(!opened.is_of(&text));
    assert_eq!(opened.to_json(), text);

    let mut edit = Edit::new(fresh.clone());
    edit.open(&pointer("/map"));
    assert!(!edit.document().is_of(&text));
    let mut edit = Edit::new(fresh.clone());
    edit.open_items(&pointer("/list"));
    assert!(!edit.document().is_of(&text));
    assert!(edit.operations().is_empty());
    assert!(edit.into_patch().was_carried_out_on(&fresh), "to open a value is no change");

    let mut changed = fresh.clone();
    changed
        .apply_all(&[serde_json::from_str::<Operation>(r#"{"op":"remove","path":"/map"}"#).unwrap()])
        .unwrap();
    assert!(!changed.is_of(&text));
    assert!(fresh.is_of(&text), "a clone that changes leaves the original alone");
}

#[test]
fn a_member_is_removed_with_its_duplicates_from_a_large_opened_object() {
    let members: String = (0..100).map(|n| format!(r#""m{n}":{n},"#)).collect();
    let text = format!(r#"{{{members}"m7":"again"}}"#);
    let mut document = Document::parse(&text).unwrap();
    document.open(&Pointer::root());
    document.apply(&Operation::Remove { path: pointer("/m7") }).unwrap();
    assert_eq!(
        document.to_json(),
        format!("{{{}}}", members.replace(r#""m7":7,"#, "").trim_end_matches(','))
    );
}

#[test]
fn a_container_ends_with_its_own_bracket() {
    for text in ["[1}", r#"{"a":1]"#, "[[1}]", r#"{"a":{"b":1]}"#, "[1,2}", r#"[{"a":1}}"#] {
        assert!(Document::parse(text).is_err(), "{text}");
    }
}

/// `levels` objects around `inner`.
fn objects(levels: usize, inner: impl Display) -> String {
    format!("{}{inner}{}", r#"{"k":"#.repeat(levels), "}".repeat(levels))
}

/// `levels` objects, each the only item of a list with the key `name`, around `inner`.
fn keyed_lists(levels: usize, inner: u8) -> String {
    format!("{}{inner}{}", r#"[{"name":"n","named":"#.repeat(levels), "}]".repeat(levels))
}

fn replaced(before: &str, after: &str) -> Vec<String> {
    let operations = diff(before, after, schema()).unwrap();
    assert!(operations.iter().all(|operation| operation.name() == "replace"));
    operations.iter().map(|operation| operation.path().as_str().to_owned()).collect()
}

#[test]
fn a_difference_is_followed_for_128_levels_in_every_member() {
    let document = |first, second| format!(r#"{{"a":{},"b":{}}}"#, objects(200, first), objects(200, second));
    let path = "/k".repeat(127);
    assert_eq!(replaced(&document(1, 2), &document(3, 4)), [format!("/a{path}"), format!("/b{path}")]);
}

#[test]
fn a_difference_is_followed_for_128_levels_through_keyed_lists() {
    let document = |first, second| {
        format!(r#"{{"child":{{"named":{}}},"named":{}}}"#, keyed_lists(100, first), keyed_lists(100, second))
    };
    // The limit is met at a list below `child`, and at an item of a list below the root.
    let paths = [format!("/child/named{}", "/0/named".repeat(63)), "/named/0".repeat(64)];
    assert_eq!(replaced(&document(1, 2), &document(3, 4)), paths);
}

#[test]
fn items_without_keys_are_compared_for_128_levels() {
    let document = |levels, inner| format!(r#"{{"plain":[{}]}}"#, objects(levels, inner));
    let replaced =
        |levels| replaced(&document(levels, r#"{"x":1,"y":1}"#), &document(levels, r#"{"x":1,"y":2}"#));
    assert_eq!(replaced(120), [format!("/plain/0{}/y", "/k".repeat(120))]);
    assert_eq!(replaced(150), ["/plain/0"]);
}

#[test]
fn a_member_that_the_types_left_out_is_written_whole_where_nothing_would_be_lost() {
    let cases = [
        (r#"{"a":{}}"#, r#"[{"op":"add","path":"/a","value":{"x":1}}]"#),
        (r#"{"a":[1]}"#, r#"[{"op":"add","path":"/a","value":{"x":1}}]"#),
        (r#"{"a":{"y":2}}"#, r#"[{"op":"add","path":"/a/x","value":1}]"#),
    ];
    for (onto, expected) in cases {
        let operations = diff_onto("{}", r#"{"a":{"x":1}}"#, onto, Schema::unknown()).unwrap();
        assert_eq!(to_json(&operations), expected, "{onto}");
    }
}
