//! An edit proves what it did, and nothing else.

use vestibule_patch::{Document, Edit, Operation};

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
