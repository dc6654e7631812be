use serde_json::{Value, json};

use super::*;

fn body(change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let mut review = json!({
        "apiVersion": "admission.k8s.io/v1",
        "kind": "AdmissionReview",
        "request": {
            "uid": "705ab4f5-6393-11e8-b7cc-42010a800002",
            "kind": {"group": "apps", "version": "v1", "kind": "Deployment"},
            "resource": {"group": "apps", "version": "v1", "resource": "deployments"},
            "name": "web",
            "namespace": "shop",
            "operation": "UPDATE",
            "userInfo": {"username": "alice", "groups": ["system:authenticated"]},
            "object": {"metadata": {"name": "web"}},
            "oldObject": null,
            "dryRun": true,
        },
    });
    change(&mut review);
    serde_json::to_vec(&review).unwrap()
}

fn error(change: impl FnOnce(&mut Value)) -> String {
    Review::parse(&body(change)).err().unwrap().to_string()
}

#[test]
fn the_envelope_is_read_and_the_object_left_alone() {
    let body = body(|_| {});
    let Review { version, request } = Review::parse(&body).ok().unwrap();
    assert_eq!(version, Version::V1);
    assert_eq!(request.uid, "705ab4f5-6393-11e8-b7cc-42010a800002");
    assert_eq!(request.kind.to_string(), "apps/v1 Deployment");
    assert_eq!(request.operation, Operation::Update);
    assert_eq!(request.user.username, "alice");
    assert_eq!(request.object.unwrap().get(), r#"{"metadata":{"name":"web"}}"#);
    assert!(request.old_object.is_none());
    assert!(request.dry_run);
}

#[test]
fn both_versions_are_echoed() {
    let body = body(|review| review["apiVersion"] = json!("admission.k8s.io/v1beta1"));
    let version = Review::parse(&body).ok().unwrap().version;
    assert_eq!(ReviewKind::Admission.api_version(version), "admission.k8s.io/v1beta1");
}

#[test]
fn an_empty_name_is_no_name_and_the_prefix_is_shown() {
    let body = body(|review| {
        review["request"]["name"] = json!("");
        review["request"]["object"] = json!({"metadata": {"generateName": "web-"}});
    });
    let Review { request, .. } = Review::parse(&body).ok().unwrap();
    assert_eq!(request.name, None);
    assert_eq!(request.display_name().unwrap(), "web-*****");
}

#[test]
fn an_object_of_a_collection_that_is_deleted_has_its_name() {
    let body = body(|review| {
        review["request"]["name"] = Value::Null;
        review["request"]["operation"] = json!("DELETE");
        review["request"]["object"] = Value::Null;
        review["request"]["oldObject"] = json!({"metadata": {"name": "web"}});
    });
    let Review { request, .. } = Review::parse(&body).ok().unwrap();
    assert_eq!((request.name.as_deref(), request.display_name().as_deref()), (Some("web"), Some("web")));
}

#[test]
fn a_name_that_was_not_checked_yet_stays_one_short_line() {
    let forged = "web\nverdict=allowed ".to_owned() + &"x".repeat(1000);
    for (name, generate_name) in [(forged.as_str(), ""), ("", forged.as_str())] {
        let body = body(|review| {
            review["request"]["name"] = json!(name);
            review["request"]["object"] = json!({"metadata": {"generateName": generate_name}});
        });
        let Review { request, .. } = Review::parse(&body).ok().unwrap();
        let shown = request.display_name().unwrap();
        assert!(shown.starts_with("web verdict=allowed x"), "{shown}");
        assert!(shown.chars().count() <= 253 + "*****".len(), "{shown}");
    }
}

#[test]
fn the_uid_is_read_beside_an_invalid_object() {
    let deep = "[".repeat(200_000) + &"]".repeat(200_000);
    let body = String::from_utf8(body(|_| {})).unwrap().replace(r#"{"metadata":{"name":"web"}}"#, &deep);
    let review = Review::parse(body.as_bytes()).ok().unwrap();
    assert!(review.request.uid.starts_with("705ab4f5"));
}

#[test]
fn a_body_that_is_no_review_is_refused_without_its_values() {
    assert!(
        error(|review| review["request"]["operation"] = json!("s3cret")).contains("another type or value")
    );
    assert!(!error(|review| review["request"]["operation"] = json!("s3cret")).contains("s3cret"));
    assert!(!error(|review| review["request"]["uid"] = json!({"s3cret": 1})).contains("s3cret"));
    assert!(
        error(|review| drop(review["request"].as_object_mut().unwrap().remove("userInfo")))
            .contains("`userInfo` is missing")
    );
    assert_eq!(error(|review| review["request"] = Value::Null), "the AdmissionReview holds no request");
    assert_eq!(
        error(|review| review["request"]["uid"] = json!("")),
        "the AdmissionReview's request has no uid"
    );
    assert!(
        error(|review| review["apiVersion"] = json!("admission.k8s.io/v2"))
            .contains("admission.k8s.io/v1 or")
    );
    let later = r#"{"apiVersion":"admission.k8s.io/v3","kind":"AdmissionReview","request":{"uid":"u"}}"#;
    assert_eq!(Review::parse(later.as_bytes()).err(), Some(ReviewError::OtherKind(ReviewKind::Admission)));
    assert!(error(|review| review["kind"] = json!("Pod")).contains("not an AdmissionReview"));
    for text in ["", "[]", "{", "null", "{\"kind\":"] {
        assert!(Review::parse(text.as_bytes()).is_err(), "{text}");
    }
}

#[test]
fn an_error_in_the_user_has_its_place_in_the_body() {
    let body = body(|review| review["request"]["userInfo"] = json!({"groups": null}));
    let user = String::from_utf8(body).unwrap();
    let (before, after) = user.split_once(r#""userInfo""#).unwrap();
    let error = Review::parse(format!("{before}\n\n\"userInfo\"{after}").as_bytes()).err().unwrap();
    assert!(matches!(error, ReviewError::Unreadable { line: 3, .. }), "{error}");
}

#[test]
fn escapes_in_the_uid_are_understood() {
    let body = body(|review| review["request"]["uid"] = json!("a\"\u{1}\u{e9}"));
    assert_eq!(Review::parse(&body).ok().unwrap().request.uid, "a\"\u{1}\u{e9}");
}
