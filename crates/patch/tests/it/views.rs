//! Reading documents, whole and opened.

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::value::RawValue;
use vestibule_patch::{Document, Kind, Operation, Pointer, View};

const TEXT: &str =
    r#" {"a" : {"b/c": [ true, null, -12, 1.5, "x\n" ]}, "e": "plain", "e": "\ud83d\ude00\ud83d\u0041" } "#;

fn pointer(text: &str) -> Pointer {
    text.parse().unwrap()
}

fn raw(text: &str) -> Arc<RawValue> {
    RawValue::from_string(text.to_owned()).unwrap().into()
}

fn check(document: &Document<'_>) {
    let list = document.at(&pointer("/a/b~1c")).unwrap();
    assert_eq!(
        list.items().into_iter().map(View::kind).collect::<Vec<_>>(),
        [Kind::Bool, Kind::Null, Kind::Number, Kind::Number, Kind::String]
    );
    assert_eq!(list.item(0).unwrap().as_bool(), Some(true));
    assert!(list.item(1).unwrap().is_null());
    assert_eq!(list.item(2).unwrap().as_i64(), Some(-12));
    assert_eq!(list.item(3).unwrap().as_i64(), None);
    assert_eq!(list.item(4).unwrap().as_str().as_deref(), Some("x\n"));
    assert!(list.item(5).is_none() && list.get("0").is_none() && list.entries().is_empty());
    // As Go reads it: the last of a doubled member, and a broken surrogate as U+FFFD.
    assert_eq!(document.view().get("e").unwrap().as_str().as_deref(), Some("\u{1f600}\u{fffd}A"));
    let names: Vec<_> = document.view().entries().into_iter().map(|(name, _)| name.into_owned()).collect();
    assert_eq!(names, ["a", "e"]);
    assert!(document.view().items().is_empty() && document.view().as_str().is_none());
    for nowhere in ["/a/b", "/a/b~1c/05", "/a/b~1c/-", "/a/b~1c/+1", "/a/b~1c/", "/e/0", "/x/y"] {
        assert!(document.at(&pointer(nowhere)).is_none(), "{nowhere}");
    }
}

#[test]
fn a_document_reads_the_same_opened_or_not() {
    let mut document = Document::parse(TEXT).unwrap();
    check(&document);
    assert!(matches!(document.view().to_json(), Cow::Borrowed(_)));
    document.apply(&Operation::Add { path: pointer("/a/b~1c/0"), value: raw("{}") }).unwrap();
    document.apply(&Operation::Remove { path: pointer("/a/b~1c/0") }).unwrap();
    check(&document);
    assert!(document.view().same_as(Document::parse(TEXT).unwrap().view()));
}

#[test]
fn untouched_parts_stay_the_bytes_received() {
    assert_eq!(Document::parse(TEXT).unwrap().to_json(), TEXT.trim());
    let mut document =
        Document::parse(r#"{ "big": 123456789012345678901e400, "s": "\u0041\/", "l": [ 1.0 ] , "x": 1}"#)
            .unwrap();
    document.apply(&Operation::Replace { path: pointer("/x"), value: raw("2.50") }).unwrap();
    assert_eq!(
        document.to_json(),
        r#"{"big":123456789012345678901e400,"s":"\u0041\/","l":[ 1.0 ],"x":2.50}"#
    );
}

#[test]
fn sameness() {
    let same = |one: &str, other: &str| View::of(&raw(one)).same_as(View::of(&raw(other)));
    assert!(same(r#"{"a":1,"b":[true]}"#, r#"{ "b":[ true ],"\u0061":1 }"#));
    assert!(same(r#""\/é\n""#, r#""/\u00e9\u000a""#));
    assert!(same(r#"{"a":1,"a":2}"#, r#"{"a":2}"#));
    assert!(!same("1", "1.0"));
    assert!(!same("[1,2]", "[2,1]"));
    assert!(!same(r#"["a","b"]"#, r#"["a,\"1:b"]"#));
    assert!(!same("{}", "[]"));
    assert!(!same("null", "\"null\""));
}

#[test]
fn a_name_is_what_its_escapes_stand_for() {
    let object = raw(r#"{"a\n":1,"\u0062":2,"c\\":3}"#);
    let value = |name: &str| View::of(&object).get(name).and_then(View::as_i64);
    assert_eq!(value("a\n"), Some(1));
    assert_eq!(value("b"), Some(2));
    assert_eq!(value("c\\"), Some(3));
    for name in ["a\\n", "\\u0062", "c", "c\\\\", "a", ""] {
        assert_eq!(value(name), None, "{name}");
    }
}
