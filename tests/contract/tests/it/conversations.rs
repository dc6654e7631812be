//! The objects and reviews of the tests.

use serde_json::{Value, json};
use vestibule_caller::{Allowed, Denied, Failed, Outcome, Review, ReviewBuilder, ReviewVersion};

pub(crate) const VERSIONS: [ReviewVersion; 2] = [ReviewVersion::V1, ReviewVersion::V1Beta1];

/// A pod with unknown, empty and `null` members.
pub(crate) fn pod() -> Value {
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "web", "namespace": "demo", "creationTimestamp": null, "x-unknown": {"a": [1.0]}},
        "spec": {
            "containers": [{"name": "app", "image": "nginx", "resources": {}, "args": ["a", "b", "c", "d"], "x-unknown": true}],
        },
        "status": {},
    })
}

/// The pod with these annotations.
pub(crate) fn annotated(annotations: Value) -> Value {
    let mut pod = pod();
    pod["metadata"]["annotations"] = annotations;
    pod
}

pub(crate) fn review(object: Value) -> ReviewBuilder {
    Review::create(object).namespace("demo")
}

pub(crate) fn allowed(outcome: Outcome) -> Allowed {
    match outcome {
        Outcome::Allowed(allowed) => allowed,
        Outcome::Denied(denied) => panic!("denied: {}", denied.message),
        Outcome::Failed(failed) => panic!("failed: {}", failed.message),
    }
}

pub(crate) fn denied(outcome: Outcome) -> Denied {
    match outcome {
        Outcome::Denied(denied) => denied,
        Outcome::Allowed(_) => panic!("allowed"),
        Outcome::Failed(failed) => panic!("failed: {}", failed.message),
    }
}

pub(crate) fn failed(outcome: Outcome) -> Failed {
    match outcome {
        Outcome::Failed(failed) => failed,
        Outcome::Allowed(_) => panic!("allowed"),
        Outcome::Denied(denied) => panic!("denied: {}", denied.message),
    }
}
