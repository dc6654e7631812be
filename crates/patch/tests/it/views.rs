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

#[test]
fn several_members_are_found_in_one_pass() {
    let text = r#"{"name":1,"namespace":2,"\u006eode":3,"name":4,"names":{"name":5}}"#;
    let check = |view: View<'_>| {
        let found = view.select(["name", "namespace", "node", "kind", "names"]);
        let found = found.map(|value| value.map(|value| value.to_json().into_owned()));
        assert_eq!(
            found.each_ref().map(Option::as_deref),
            [Some("4"), Some("2"), Some("3"), None, Some(r#"{"name":5}"#)]
        );
    };
    check(View::of(&raw(text)));
    let mut document = Document::parse(text).unwrap();
    check(document.view());
    document.open(&Pointer::root());
    check(document.view());
    assert!(View::of(&raw(r#"["name",1]"#)).select(["name", "1"]).iter().all(Option::is_none));
}

#[test]
fn a_value_of_another_kind_has_no_items_and_no_members() {
    let text = r#"[["a",1],{"a":1},true,false,"true"]"#;
    let check = |values: View<'_>| {
        let [list, object, yes, no, string] = values.items().try_into().ok().unwrap();
        assert!(list.entries().is_empty() && list.get("a").is_none());
        assert!(object.items().is_empty() && object.item(0).is_none());
        let booleans = [list, object, yes, no, string].map(View::as_bool);
        assert_eq!(booleans, [None, None, Some(true), Some(false), None]);
    };
    check(View::of(&raw(text)));
    let mut document = Document::parse(text).unwrap();
    document.open_items(&Pointer::root());
    check(document.view());
}

#[test]
fn the_written_text_is_known_of_values_in_which_nothing_was_opened() {
    let mut document = Document::parse(r#" {"a":{ "b":[ 1.0 ] }, "c":2} "#).unwrap();
    let written = |document: &Document<'_>, path: &str| {
        document.at(&pointer(path)).unwrap().as_written().map(str::to_owned)
    };
    assert_eq!(written(&document, "").as_deref(), Some(r#"{"a":{ "b":[ 1.0 ] }, "c":2}"#));
    document
        .apply(&Operation::Replace { path: pointer("/a/x").parent().unwrap(), value: raw("[ 3 ]") })
        .unwrap();
    assert_eq!(written(&document, ""), None);
    assert_eq!(written(&document, "/a").as_deref(), Some("[ 3 ]"));
    assert_eq!(written(&document, "/c").as_deref(), Some("2"));
    assert_eq!(View::of(&raw("[ 3 ]")).as_written(), Some("[ 3 ]"));
}

/// Below 128 levels, values that are not in a document are compared by their bytes, and canonical texts hold the bytes.
#[test]
fn spellings_are_told_from_values_for_128_levels() {
    for (open, close) in [("[", "]"), (r#"{"a":"#, "}")] {
        let nested = |levels, inner: &str| format!("{}{inner}{}", open.repeat(levels), close.repeat(levels));
        let empty = |levels, space| nested(levels, &format!("{}{space}{}", &open[..1], close));
        let same =
            |one: View<'_>, other: View<'_>| (one.same_as(other), one.canonical() == other.canonical());
        for (levels, are_same) in [(127, true), (128, false)] {
            let (one, other) = (empty(levels, ""), empty(levels, " "));
            let (raw_one, raw_other) = (raw(&one), raw(&other));
            assert_eq!(
                same(View::of(&raw_one), View::of(&raw_other)),
                (are_same, are_same),
                "{levels} {open}"
            );
            let (document_one, document_other) =
                (Document::parse(&one).unwrap(), Document::parse(&other).unwrap());
            assert_eq!(
                same(document_one.view(), View::of(&raw_other)),
                (are_same, are_same),
                "{levels} {open}"
            );
            assert_eq!(
                same(View::of(&raw_one), document_other.view()),
                (are_same, are_same),
                "{levels} {open}"
            );
            assert!(document_one.view().same_as(document_other.view()), "{levels} {open}");
        }
        let deep = |inner| nested(9_000, inner);
        let (one, same, other) = (deep("[true,null,1]"), deep("[ true,null,1]"), deep("[true,null,1.0]"));
        let document = |text| Document::parse(text).unwrap();
        assert!(document(&one).view().same_as(document(&same).view()));
        assert!(!document(&one).view().same_as(document(&other).view()));
        let canonical = document(&one).view().canonical();
        assert!(canonical != document(&same).view().canonical());
    }
}
