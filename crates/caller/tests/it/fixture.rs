//! A review, a hook, and answers to it.

use serde_json::{Value, json};
use vestibule_caller::{Allowed, Answer, Denied, Failed, Hook, Outcome, Review, judge};

pub(crate) const UID: &str = "0a1b";

pub(crate) fn pod() -> Value {
    json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"name": "web", "labels": {"app": "web"}},
        "spec": {"containers": [{"name": "web", "image": "nginx"}]}})
}

pub(crate) fn review() -> Review {
    Review::create(pod()).namespace("shop").uid(UID).build().unwrap()
}

pub(crate) fn mutating() -> Hook {
    Hook::mutating("m.example.com", "/mutate")
}

/// A v1 review around a response.
pub(crate) fn answered(response: Value) -> Value {
    json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "response": response})
}

/// An allowing v1 response with these members beside it.
pub(crate) fn allowed(members: Value) -> Value {
    let mut response = json!({"uid": UID, "allowed": true});
    response.as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
    answered(response)
}

pub(crate) fn expect_allowed(case: &str, hook: &Hook, answer: &Answer) -> Allowed {
    match judge(&review(), hook, answer) {
        Outcome::Allowed(allowed) => allowed,
        Outcome::Denied(denied) => panic!("{case}: {}", denied.message),
        Outcome::Failed(failed) => panic!("{case}: {}", failed.message),
    }
}

pub(crate) fn expect_denied(hook: &Hook, answer: &Answer) -> Denied {
    match judge(&review(), hook, answer) {
        Outcome::Denied(denied) => denied,
        Outcome::Allowed(_) => panic!("allowed"),
        Outcome::Failed(failed) => panic!("{}", failed.message),
    }
}

pub(crate) fn expect_failed(case: &str, hook: &Hook, answer: &Answer) -> Failed {
    match judge(&review(), hook, answer) {
        Outcome::Failed(failed) => failed,
        Outcome::Allowed(_) => panic!("{case}: allowed"),
        Outcome::Denied(denied) => panic!("{case}: {}", denied.message),
    }
}
