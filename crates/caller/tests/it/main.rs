//! The judge's table, the review as the API server writes it, and the client against a small server of its own.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::needless_pass_by_value,
    missing_docs
)]

mod calling;
mod judging;
mod loading;
mod patching;
mod pooling;
mod recorded;
mod reviewing;
mod server;

use serde_json::{Value, json};
use vestibule_caller::{Hook, Review, ReviewVersion};

const UID: &str = "0a1b";

fn pod() -> Value {
    json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "web", "labels": {"app": "web"}},
        "spec": {"containers": [{"name": "web", "image": "nginx"}]}})
}

fn review() -> Review {
    Review::create(pod()).namespace("shop").uid(UID).build().unwrap()
}

fn review_v1beta1() -> Review {
    Review::create(pod()).version(ReviewVersion::V1Beta1).uid(UID).build().unwrap()
}

fn mutating() -> Hook {
    Hook::mutating("m.example.com", "/mutate")
}

fn validating() -> Hook {
    Hook::validating("v.example.com", "/validate")
}

/// A v1 review around a response.
fn answered(response: Value) -> Value {
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})
}

/// An allowing v1 response with these members beside it.
fn allowed(members: Value) -> Value {
    let mut response = json!({"uid": UID, "allowed": true});
    response.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    answered(response)
}
