use std::time::Duration;

use serde_json::value::to_raw_value;
use serde_json::{Value, json};

use super::*;
use crate::Decision;

/// As kube-apiserver 1.36 sends it, with its empty `response`.
fn body(version: &str, desired: &str, objects: &Value) -> Vec<u8> {
    let response = json!({"uid": "", "convertedObjects": null, "result": {"metadata": {}}});
    let request = json!({"uid": "u-\u{e9}/1", "desiredAPIVersion": desired, "objects": objects});
    json!({"kind": "ConversionReview", "apiVersion": format!("apiextensions.k8s.io/{version}"),
           "request": request, "response": response})
    .to_string()
    .into_bytes()
}

fn widget(version: &str, name: &str, spec: &Value) -> Value {
    let metadata = json!({"name": name, "namespace": "shop", "uid": format!("uid-{name}"), "generation": 3,
                          "labels": {"a": "b"}});
    json!({"apiVersion": format!("example.com/{version}"), "kind": "Widget", "metadata": metadata, "spec": spec})
}

/// Has `change` make another object of the one received, which is in the desired version already.
fn converter(change: impl Fn(&mut Value) + Send + Sync + 'static) -> impl Converter {
    move |object: &RawValue, desired: &str| {
        let mut object: Value = serde_json::from_str(object.get()).unwrap();
        if object["spec"]["bad"] == json!(true) {
            return Err(Unconvertible::new("spec.size is\nno size"));
        }
        object["apiVersion"] = desired.into();
        change(&mut object);
        Ok(to_raw_value(&object).unwrap())
    }
}

async fn ask(converter: impl Converter, body: &[u8]) -> (Value, Decision) {
    let review = ConversionReview::parse(body).unwrap();
    let hook = ConversionHook::new("widgets", converter);
    let answer = hook.answer(&review, &hook.convert(&review.request).await);
    assert_eq!((answer.status, answer.content_type), (200, "application/json"));
    (serde_json::from_slice(&answer.body).unwrap(), answer.decision)
}

async fn refused(converter: impl Converter, object: Value) -> (String, Decision) {
    let good = widget("v1", "good", &json!({}));
    let (answer, decision) = ask(converter, &body("v1", "example.com/v2", &json!([good, object]))).await;
    let response = &answer["response"];
    assert_eq!(response["result"]["status"], "Failure");
    assert_eq!(response["convertedObjects"], json!([]), "no partial list");
    (response["result"]["message"].as_str().unwrap().to_owned(), decision)
}

/// One object is brought through at once; between two of them others get their turn.
#[test]
fn a_conversion_of_many_objects_yields_between_them() {
    use std::pin::pin;
    use std::task::{Context, Waker};
    for (count, turns) in [(0, 0), (1, 0), (2, 1), (3, 2)] {
        let objects: Vec<_> = (0..count).map(|_| widget("v1", "a", &json!({}))).collect();
        let body = body("v1", "example.com/v2", &json!(objects));
        let review = ConversionReview::parse(&body).unwrap();
        let hook = ConversionHook::new("widgets", converter(|_| {}));
        assert_eq!(hook.name(), "widgets");
        let mut converting = pin!(hook.convert(&review.request));
        let mut context = Context::from_waker(Waker::noop());
        let mut waited = 0;
        let converted = loop {
            match converting.as_mut().poll(&mut context) {
                Poll::Ready(converted) => break converted.unwrap(),
                Poll::Pending => waited += 1,
            }
            assert!(waited <= turns, "{waited} turns of others for {count} objects");
        };
        assert_eq!((converted.len(), waited), (count, turns));
    }
}

#[tokio::test]
async fn objects_are_answered_in_order_and_the_review_version_is_echoed() {
    for version in ["v1", "v1beta1"] {
        let objects = json!([
            widget("v1", "a", &json!({"n": 1})),
            widget("v2", "b", &json!({"n": 2})),
            widget("v3", "c", &json!({"n": 3})),
        ]);
        let (answer, decision) = ask(converter(|_| {}), &body(version, "example.com/v2", &objects)).await;
        assert_eq!(decision, Decision::Converted(3));
        assert_eq!(answer["apiVersion"], format!("apiextensions.k8s.io/{version}"));
        assert_eq!(answer["kind"], "ConversionReview");
        let expected = json!([
            widget("v2", "a", &json!({"n": 1})),
            widget("v2", "b", &json!({"n": 2})),
            widget("v2", "c", &json!({"n": 3})),
        ]);
        let response =
            json!({"uid": "u-\u{e9}/1", "convertedObjects": expected, "result": {"status": "Success"}});
        assert_eq!(answer["response"], response);
    }
}

#[tokio::test]
async fn labels_and_annotations_may_change_and_other_metadata_is_put_back() {
    let changed = converter(|object| {
        object["metadata"]["labels"] = json!({"c": "d"});
        object["metadata"]["annotations"] = json!({"e": "f"});
        object["metadata"]["generation"] = json!(9);
        object["metadata"]["finalizers"] = json!(["mine"]);
    });
    let objects = json!([widget("v1", "a", &json!({}))]);
    let (answer, _) = ask(changed, &body("v1", "example.com/v2", &objects)).await;
    let expected = json!({"name": "a", "namespace": "shop", "uid": "uid-a", "generation": 3,
                          "labels": {"c": "d"}, "annotations": {"e": "f"}});
    assert_eq!(answer["response"]["convertedObjects"][0]["metadata"], expected);

    let objects = json!([widget("v1", "a", &json!({}))]);
    let removed = converter(|object| drop(object["metadata"].as_object_mut().unwrap().remove("labels")));
    let (answer, _) = ask(removed, &body("v1", "example.com/v2", &objects)).await;
    assert_eq!(answer["response"]["convertedObjects"][0]["metadata"].get("labels"), None);
}

#[tokio::test]
async fn an_object_that_cannot_be_converted_is_named_with_the_reason() {
    let (message, decision) = refused(converter(|_| {}), widget("v1", "x", &json!({"bad": true}))).await;
    assert_eq!(message, "Widget shop/x to example.com/v2: spec.size is no size");
    assert_eq!(decision, Decision::Unconvertible);

    let (message, _) = refused(converter(|_| {}), json!({"spec": {"bad": true}})).await;
    assert_eq!(message, "object number 2 to example.com/v2: spec.size is no size");
}

#[tokio::test]
async fn an_object_without_metadata_is_answered_with_empty_metadata() {
    let received =
        json!({ "apiVersion": "example.com/v1", "kind": "Widget", "status": { "phase": "Ready" } });
    let mut expected = received.clone();
    (expected["apiVersion"], expected["metadata"]) = ("example.com/v2".into(), json!({}));
    let (answer, _) = ask(converter(|_| ()), &body("v1", "example.com/v2", &json!([received]))).await;
    assert_eq!(answer["response"]["convertedObjects"], json!([expected]));
}

#[tokio::test]
async fn a_converter_that_returns_another_object_is_reported() {
    type Change = fn(&mut Value);
    let table: [(Change, &str); 7] = [
        (|object| object["apiVersion"] = "example.com/v3".into(), "another apiVersion"),
        (|object| object["kind"] = "Gadget".into(), "another kind"),
        (|object| object["metadata"]["name"] = "y".into(), "another metadata.name"),
        (|object| object["metadata"]["namespace"] = "y".into(), "another metadata.namespace"),
        (|object| object["metadata"] = json!({"name": "x", "namespace": "shop"}), "another metadata.uid"),
        (|object| object["metadata"] = Value::Null, "another metadata.name"),
        (|object| drop(object.as_object_mut().unwrap().remove("metadata")), "no metadata"),
    ];
    for (change, expected) in table {
        let only_x = move |object: &mut Value| {
            if object["metadata"]["name"] == "x" {
                change(object);
            }
        };
        let (message, decision) = refused(converter(only_x), widget("v1", "x", &json!({}))).await;
        assert!(message.starts_with("Widget shop/x to example.com/v2: the converter gave back"), "{message}");
        assert!(message.contains(expected), "{message}");
        assert_eq!(decision, Decision::Fault(FaultKind::Error));
    }
}

#[tokio::test]
async fn a_panic_is_a_failure_that_quotes_nothing() {
    let panics = converter(|object| {
        assert_ne!(object["spec"]["panic"], json!(true), "secret");
    });
    let (message, decision) = refused(panics, widget("v1", "x", &json!({"panic": true}))).await;
    assert_eq!(message, "Widget shop/x to example.com/v2: the converter panicked");
    assert_eq!(decision, Decision::Fault(FaultKind::Panic));
}

#[test]
fn no_outcome_in_time_is_a_failure() {
    let hook = ConversionHook::new("widgets", converter(|_| {}));
    let failure = hook.out_of_time(Duration::from_millis(1500), Duration::from_secs(2));
    assert_eq!(
        failure.message,
        "timeout: conversion widgets was not done within 1500 ms of the 2 s that the API server waits (context deadline exceeded)"
    );
    assert_eq!(failure.fault, Some(FaultKind::Deadline));
}

#[test]
fn errors_about_a_body_contain_no_value() {
    let other = br#"{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{"uid":"u"}}"#;
    let empty =
        br#"{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","response":{"uid":"u"}}"#;
    let broken =
        br#"{"apiVersion":"apiextensions.k8s.io/v1","kind":"ConversionReview","request":{"uid":"secret"}}"#;
    let no_uid =
        String::from_utf8(body("v1", "example.com/v2", &json!([]))).unwrap().replace("u-\u{e9}/1", "");
    for (body, expected) in [
        (&other[..], "not a ConversionReview of apiextensions.k8s.io/v1"),
        (&empty[..], "no request"),
        (&broken[..], "`desiredAPIVersion` is missing"),
        (no_uid.as_bytes(), "no uid"),
        (b"[]", "not a ConversionReview of"),
        (b"", "ends too early"),
    ] {
        let error = ConversionReview::parse(body).err().unwrap().to_string();
        assert!(error.contains(expected) && !error.contains("secret"), "{error}");
    }
}

#[tokio::test]
async fn a_review_without_objects_is_answered() {
    for objects in [json!([]), Value::Null] {
        let mut body: Value = serde_json::from_slice(&body("v1", "example.com/v2", &json!([]))).unwrap();
        body["request"]["objects"] = objects.clone();
        let (answer, decision) = ask(converter(|_| {}), body.to_string().as_bytes()).await;
        assert_eq!(answer["response"]["convertedObjects"], json!([]));
        assert_eq!(decision, Decision::Converted(0));
    }
}
