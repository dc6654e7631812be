//! Depth and size end in an error.

use std::sync::Arc;

use proptest::prelude::*;
use serde_json::value::RawValue;
use vestibule_patch::{
    ApplyErrorKind, DiffError, Document, DocumentError, Edit, MAX_DEPTH, Operation, Pointer, Schema, View,
    diff, diff_onto,
};

fn nested(open: &str, close: &str, depth: usize) -> String {
    open.repeat(depth) + "1" + &close.repeat(depth)
}

#[test]
fn a_hundred_thousand_levels_are_refused() {
    let far = MAX_DEPTH + 1;
    for text in
        [nested("[", "]", 100_000), "[".repeat(100_000), nested("[", "]", far), nested("{\"a\":", "}", far)]
    {
        let error = Document::parse(&text).err().unwrap();
        assert!(matches!(error, DocumentError::Depth { line: 1, .. }), "{error}");
        assert!(matches!(diff("1", &text, Schema::unknown()), Err(DocumentError::Depth { .. })));
        assert!(matches!(diff_onto("1", "1", &text, Schema::unknown()), Err(DiffError::Onto(_))));
    }
}

#[test]
fn the_deepest_documents_allowed_work() {
    let deepest = nested("[", "]", MAX_DEPTH);
    let other = deepest.replace('1', "2");
    let operations = diff(&deepest, &other, Schema::unknown()).unwrap();
    let mut document = Document::parse(&deepest).unwrap();
    document.apply_all(&operations).unwrap();
    assert_eq!(document.to_json(), other);
}

/// Opening, writing, comparing, copying and dropping each level fit a small stack.
#[test]
fn no_stack_grows_with_the_depth_of_a_document() {
    fn work() {
        let levels = MAX_DEPTH - 2;
        let text =
            |inner: &str| format!("{}{inner}{}", r#"{"a":["#.repeat(levels / 2), "]}".repeat(levels / 2));
        let (deep, spaced) = (text(r#"{"n":1}"#), text(r#" {"n" : 1.0 }"#));
        let path =
            |last: &str| -> Pointer { format!("{}{last}", "/a/0".repeat(levels / 2)).parse().unwrap() };
        let value = |json: &str| Arc::<RawValue>::from(RawValue::from_string(json.to_owned()).unwrap());

        let original = Document::parse(&deep).unwrap();
        let mut edit = Edit::new(original.clone());
        edit.apply(Operation::Test { path: Pointer::root(), value: value(&spaced) }).unwrap();
        edit.apply(Operation::Add { path: path("/m"), value: value("2") }).unwrap();
        let mark = edit.mark();
        edit.apply(Operation::Copy { from: path("/n"), path: path("/copy") }).unwrap();
        edit.apply(Operation::Move { from: path("/m"), path: path("/moved") }).unwrap();
        edit.apply(Operation::Test { path: path("/moved"), value: value("2") }).unwrap();
        assert_eq!(edit.document().to_json(), text(r#"{"n":1,"copy":1,"moved":2}"#));
        assert_eq!(edit.view().depth(), levels + 1);
        edit.apply(Operation::Move { from: "/a/0".parse().unwrap(), path: "/b".parse().unwrap() }).unwrap();
        edit.apply(Operation::Remove { path: "/b".parse().unwrap() }).unwrap();
        edit.go_back(mark);
        assert_eq!(edit.document().to_json(), text(r#"{"n":1,"m":2}"#));
        assert!(edit.into_patch().was_carried_out_on(&original));

        let other = Document::parse(&spaced).unwrap();
        assert!(!original.view().same_as(other.view()), "the number is written in another way");
        let changed = text(r#"{"n":2}"#);
        let mut document = original.clone();
        document.apply_all(&diff(&deep, &changed, Schema::unknown()).unwrap()).unwrap();
        assert_eq!(document.to_json(), changed);
        document.apply_all(&diff_onto(&changed, &spaced, &changed, Schema::unknown()).unwrap()).unwrap();
        assert!(document.view().same_as(other.view()));
        assert_eq!(document.view().canonical(), document.view().canonical());
    }
    // A debug build takes more stack for the recursion, which is bounded by 128 levels.
    let small =
        std::thread::Builder::new().stack_size(if cfg!(debug_assertions) { 1 << 20 } else { 1 << 17 });
    small.spawn(work).unwrap().join().unwrap();
}

#[test]
fn views_of_foreign_values_do_not_overflow_either() {
    let deep = |spaces: &str| {
        RawValue::from_string(format!("{}{spaces}{}", "[".repeat(100_000), "]".repeat(100_000))).unwrap()
    };
    let (one, other, again) = (deep(""), deep(" "), deep(""));
    assert!(View::of(&one).same_as(View::of(&again)));
    assert!(!View::of(&one).same_as(View::of(&other)));
    let mut document = Document::parse("[1]").unwrap();
    let operation = Operation::Test { path: Pointer::root(), value: other.into() };
    assert_eq!(document.apply(&operation).unwrap_err().kind, ApplyErrorKind::Differs);
}

#[test]
fn no_operation_makes_a_document_too_deep() {
    let value: Arc<RawValue> = RawValue::from_string(nested("[", "]", MAX_DEPTH)).unwrap().into();
    let path = Pointer::root().item(0);
    let mut document = Document::parse("[{}]").unwrap();
    for operation in [
        Operation::Add { path: path.clone(), value: value.clone() },
        Operation::Replace { path: path.clone(), value },
    ] {
        assert_eq!(document.apply(&operation).unwrap_err().kind, ApplyErrorKind::Depth);
    }
    let text = format!("[[],{}]", nested("[", "]", MAX_DEPTH - 1));
    for operation in [
        Operation::Move { from: Pointer::root().item(1), path: path.item(0) },
        Operation::Copy { from: Pointer::root().item(1), path: path.item(0) },
    ] {
        let mut document = Document::parse(&text).unwrap();
        assert_eq!(document.apply(&operation).unwrap_err().kind, ApplyErrorKind::Depth);
    }
    let far = Pointer::root().child(&"x/".repeat(100_000)).as_str().replace("~1", "/").parse().unwrap();
    assert_eq!(document.apply(&Operation::Remove { path: far }).unwrap_err().kind, ApplyErrorKind::NoParent);
}

#[test]
fn copies_may_take_3_mib_and_no_byte_more() {
    let text = format!(r#"["{}",1]"#, "x".repeat((3 << 20) - 2));
    let mut document = Document::parse(&text).unwrap();
    let copy = |item| Operation::Copy { from: Pointer::root().item(item), path: Pointer::root().child("-") };
    document.apply(&copy(0)).unwrap();
    assert_eq!(document.apply(&copy(1)).unwrap_err().kind, ApplyErrorKind::Size);
}

#[test]
fn a_syntax_error_names_its_position() {
    for (text, says) in [
        ("", "not JSON: a value expected at line 1 column 1"),
        ("{\n \"a\" 1}", "not JSON: `:` expected at line 2 column 6"),
        ("[1,]", "not JSON: a value expected at line 1 column 4"),
        ("{\"a\":1,}", "not JSON: a member's name expected at line 1 column 8"),
        ("[1 2]", "not JSON: `,` or `]` expected at line 1 column 4"),
        ("{\"a\":1]", "not JSON: `,` or `}` expected at line 1 column 7"),
        ("1 2", "not JSON: the end expected at line 1 column 3"),
        ("01", "not JSON: the end expected at line 1 column 2"),
        ("1.", "not JSON: a digit expected at line 1 column 3"),
        ("-", "not JSON: a digit expected at line 1 column 2"),
        ("1e+", "not JSON: a digit expected at line 1 column 4"),
        ("nul", "not JSON: a value expected at line 1 column 1"),
        ("\"\\x\"", "not JSON: an escape expected at line 1 column 3"),
        ("\"\\u00g0\"", "not JSON: a hexadecimal digit expected at line 1 column 6"),
        ("\"a\nb\"", "not JSON: the end of a string expected at line 1 column 3"),
        ("\"a", "not JSON: the end of a string expected at line 1 column 3"),
        ("\u{feff}1", "not JSON: a value expected at line 1 column 1"),
    ] {
        assert_eq!(Document::parse(text).err().unwrap().to_string(), says, "{text}");
        assert!(serde_json::from_str::<&RawValue>(text).is_err(), "{text}");
    }
}

/// Texts that are well-formed or nearly: strings of all lengths, with blanks, numbers and escapes between and in them.
fn nearly_json() -> impl Strategy<Value = String> {
    let part = prop_oneof![8 => "[a-z]{1,40}", 2 => Just("\\\\".to_owned()), 2 => Just("\\\"".to_owned()), 1 => Just("\\u00e9".to_owned())];
    let string = prop::collection::vec(part, 0..8).prop_map(|parts| format!("\"{}\"", parts.concat()));
    let value =
        prop_oneof![8 => string, 1 => "[0-9]{1,90}", 1 => " {0,90}".prop_map(|blanks| format!("{blanks}[]"))];
    let values = prop::collection::vec(value, 0..12).prop_map(|values| format!("[{}]", values.join(",")));
    let other = prop::sample::select(vec!["\"", "\\", "\n", ",", "]", "u", ""]);
    (values, any::<prop::sample::Index>(), prop::option::of(other)).prop_map(|(text, index, other)| {
        let at = index.index(text.len());
        match other {
            Some(other) => format!("{}{other}{}", &text[..at], &text[at + 1..]),
            None => text,
        }
    })
}

proptest! {
    #[test]
    fn a_text_is_json_if_serde_json_accepts_it(text in nearly_json()) {
        prop_assert_eq!(Document::parse(&text).is_ok(), serde_json::from_str::<&RawValue>(&text).is_ok());
    }
}
