//! Fixtures for unit tests of handlers: a review, and calls of a hook without a server.

use std::marker::PhantomData;
use std::sync::Arc;
use std::time::{Duration, Instant};

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};
use vestibule_admission::{Answer, Hook, Operation, Review};

use crate::lookup::Lookups;
use crate::pipeline::typed::Typed;
use crate::registration::on::On;
use crate::registration::rule::Rule;

/// A pod with fields that its type does not know, and a number that does not fit an `f64`.
pub(crate) fn pod() -> Value {
    serde_json::from_str(
        r#"{"apiVersion":"v1","kind":"Pod","metadata":{"generateName":"web-","creationTimestamp":null,"x-meta":[1.0]},
        "spec":{"containers":[{"name":"a","image":"i","x-item":18446744073709551616,"resources":{}},{"name":"b"}]}}"#,
    )
    .unwrap()
}

/// A review about [`pod`].
pub(crate) fn review(operation: &str, change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let mut review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "u", "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"}, "namespace": "shop",
        "operation": operation, "userInfo": {"username": "alice", "groups": ["staff"]}, "object": pod()}});
    change(&mut review["request"]);
    serde_json::to_vec(&review).unwrap()
}

/// A handler as `on` would register it.
pub(crate) fn typed<T, H>(on: &On<T>, handler: H) -> Typed<T, H> {
    let rules: Arc<[Rule]> = on.declaration.rules.clone().into();
    Typed { rules, lookups: Lookups::default(), handler: Arc::new(handler), of: PhantomData }
}

pub(crate) async fn call(hook: Hook, body: &[u8]) -> Answer {
    let review = Review::parse(body).unwrap_or_else(|error| panic!("{error}"));
    let verdict = hook.decide(&review.request, Instant::now() + Duration::from_secs(5)).await;
    hook.answer(&review, verdict)
}

pub(crate) fn response(answer: &Answer) -> Value {
    serde_json::from_slice::<Value>(&answer.body).unwrap()["response"].take()
}

pub(crate) fn patch_of(answer: &Answer) -> Value {
    let response = response(answer);
    let encoded = response["patch"].as_str().unwrap_or_else(|| panic!("no patch: {response}"));
    serde_json::from_slice(&STANDARD.decode(encoded).unwrap()).unwrap()
}

/// All operations.
pub(crate) const ALL: [Operation; 4] =
    [Operation::Create, Operation::Update, Operation::Delete, Operation::Connect];
