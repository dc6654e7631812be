use vestibule_patch::{Document, Edit, Operation as Change};

use super::*;
use crate::Review;
use crate::fixture::review;

const OBJECT: &str = r#"{"apiVersion":"v1","kind":"Pod","metadata":{"name":"a","uid":"1"},"spec":{"x":1}}"#;

fn check(kind: HookKind, operation: &str, patch: &str) -> Result<(), String> {
    let body = review(operation, OBJECT);
    let review = Review::parse(body.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    let operations: Vec<Change> = serde_json::from_str(patch).unwrap();
    mutation(kind, &review.request, &operations.into()).map_err(|fault| {
        assert_eq!(fault.kind, FaultKind::Patch);
        fault.message
    })
}

#[test]
fn a_patch_that_applies_is_accepted() {
    let patch =
        r#"[{"op":"add","path":"/metadata/labels","value":{"a":"b"}},{"op":"remove","path":"/spec/x"}]"#;
    assert_eq!(check(HookKind::Mutating, "CREATE", patch), Ok(()));
    assert_eq!(check(HookKind::Mutating, "UPDATE", patch), Ok(()));
}

#[test]
fn a_patch_that_does_not_apply_is_refused() {
    let missing_parent = r#"[{"op":"add","path":"/metadata/labels/a","value":"s3cret"}]"#;
    let message = check(HookKind::Mutating, "CREATE", missing_parent).unwrap_err();
    assert!(message.contains("/metadata/labels/a"), "{message}");
    assert!(!message.contains("s3cret"), "{message}");
}

/// json-patch v4 answers `doc is missing path: ""` to the others, and the user's request fails with 500.
#[test]
fn only_replace_takes_the_whole_object() {
    let changed = OBJECT.replace(r#""x":1"#, r#""x":2"#);
    for (patch, allowed) in [
        (format!(r#"[{{"op":"replace","path":"","value":{changed}}}]"#), true),
        (format!(r#"[{{"op":"add","path":"","value":{changed}}}]"#), false),
        (r#"[{"op":"copy","from":"","path":"/spec/copy"}]"#.to_owned(), false),
        (r#"[{"op":"copy","from":"/spec","path":""}]"#.to_owned(), false),
        (r#"[{"op":"copy","from":"/spec/x","path":"/spec/y"}]"#.to_owned(), true),
        (r#"[{"op":"move","from":"/spec/x","path":"/spec/y"}]"#.to_owned(), true),
    ] {
        assert_eq!(check(HookKind::Mutating, "CREATE", &patch).is_ok(), allowed, "{patch}");
    }
}

#[test]
fn a_patch_on_delete_is_refused() {
    let patch = r#"[{"op":"remove","path":"/spec/x"}]"#;
    assert!(check(HookKind::Mutating, "DELETE", patch).unwrap_err().contains("DELETE"));
    assert_eq!(check(HookKind::Mutating, "DELETE", "[]"), Ok(()));
}

/// kube-apiserver lays a patch on the options of a stream as on any object.
#[test]
fn the_options_of_a_connect_can_be_changed() {
    let patch = r#"[{"op":"remove","path":"/spec/x"}]"#;
    assert_eq!(check(HookKind::Mutating, "CONNECT", patch), Ok(()));
    let other_kind = r#"[{"op":"replace","path":"/kind","value":"PodAttachOptions"}]"#;
    assert!(check(HookKind::Mutating, "CONNECT", other_kind).unwrap_err().contains("kind"));
}

#[test]
fn a_validating_hook_has_no_patch() {
    let patch = r#"[{"op":"remove","path":"/spec/x"}]"#;
    assert!(check(HookKind::Validating, "CREATE", patch).unwrap_err().contains("validating"));
}

#[test]
fn a_patch_of_identifying_members_is_refused() {
    for (path, named) in [
        ("/apiVersion", "apiVersion"),
        ("/kind", "kind"),
        ("/metadata/uid", "metadata.uid"),
        ("/metadata/namespace", "metadata.namespace"),
    ] {
        let patch = format!(r#"[{{"op":"add","path":"{path}","value":"other"}}]"#);
        assert!(check(HookKind::Mutating, "CREATE", &patch).unwrap_err().contains(named));
    }
    let moved = r#"[{"op":"move","from":"/metadata/uid","path":"/spec/uid"}]"#;
    assert!(check(HookKind::Mutating, "UPDATE", moved).unwrap_err().contains("metadata.uid"));
    let rename = r#"[{"op":"replace","path":"/metadata/name","value":"b"}]"#;
    assert_eq!(check(HookKind::Mutating, "CREATE", rename), Ok(()));
}

/// A patch with a proof for this object is not applied again; one with a proof for another object is.
#[test]
fn a_proof_holds_only_for_the_document_it_was_made_on() {
    let remove = Change::Remove { path: "/spec/x".parse().unwrap() };
    let carried_out = |document: Document<'_>| {
        let mut edit = Edit::new(document);
        edit.apply(remove.clone()).unwrap();
        edit.into_patch()
    };
    let body = review("CREATE", OBJECT);
    let review = Review::parse(body.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    let document = review.request.document().unwrap().unwrap();
    let patch = carried_out(document.clone());
    assert!(patch.was_carried_out_on(&review.request.document().unwrap().unwrap()));
    assert!(mutation(HookKind::Mutating, &review.request, &patch).is_ok());

    let elsewhere = crate::fixture::review("CREATE", &OBJECT.replace("\"x\"", "\"y\""));
    let elsewhere = Review::parse(elsewhere.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    assert!(!patch.was_carried_out_on(&elsewhere.request.document().unwrap().unwrap()));
    let fault = mutation(HookKind::Mutating, &elsewhere.request, &patch).unwrap_err();
    assert!(fault.message.contains("/spec/x"), "{}", fault.message);

    let mut changed = document;
    changed.apply(&remove).unwrap();
    assert!(!patch.was_carried_out_on(&changed));
    assert!(
        !Edit::new(changed).into_patch().was_carried_out_on(&review.request.document().unwrap().unwrap())
    );
}

#[test]
fn a_proof_does_not_permit_a_change_of_fixed_members() {
    let body = review("UPDATE", OBJECT);
    let review = Review::parse(body.as_bytes()).unwrap_or_else(|error| panic!("{error}"));
    for path in ["/metadata", "/metadata/uid", "/kind"] {
        let mut edit = Edit::new(review.request.document().unwrap().unwrap());
        edit.apply(Change::Remove { path: path.parse().unwrap() }).unwrap();
        let fault = mutation(HookKind::Mutating, &review.request, &edit.into_patch()).unwrap_err();
        assert!(fault.message.contains("a mutation leaves"), "{}", fault.message);
    }
}

/// Regression: the API server answered 422 to each update, under `failurePolicy: Ignore` too.
#[test]
fn an_update_leaves_the_name_of_the_object_as_it_is() {
    for patch in [
        r#"[{"op":"replace","path":"/metadata/name","value":"b"}]"#,
        r#"[{"op":"remove","path":"/metadata/name"}]"#,
    ] {
        assert_eq!(check(HookKind::Mutating, "CREATE", patch), Ok(()));
        let message = check(HookKind::Mutating, "UPDATE", patch).unwrap_err();
        assert!(message.ends_with("a mutation leaves metadata.name as it is"), "{message}");
    }
    let labels = r#"[{"op":"replace","path":"/metadata","value":{"name":"a","uid":"1","labels":{}}}]"#;
    assert_eq!(check(HookKind::Mutating, "UPDATE", labels), Ok(()));
}
