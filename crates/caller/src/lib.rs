//! The API server's side of an admission call. It shares no code with the webhooks that it calls, so that it cannot repeat their
//! mistakes.
//!
//! A [`Review`] is built from an object as kube-apiserver builds it, a [`Caller`] sends it over HTTPS to a [`Hook`], and [`judge`]
//! turns the [`Answer`] into an [`Outcome`] as kube-apiserver does. A [`FailurePolicy`] turns the outcome into the result of the
//! user's request, an [`Admission`].
//!
//! `vestibule try`, the test kit of `vestibule` and the tests of all crates use it. Start reading at `conformance.rs`; `review/`
//! builds and encodes reviews, `caller/` is the HTTPS client.
//!
//! ```
//! use serde_json::json;
//! use vestibule_caller::{Admission, Answer, FailurePolicy, Hook, Review, judge};
//!
//! let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": {}});
//! let review = Review::create(pod).namespace("shop").uid("7f0b").build()?;
//! let hook = Hook::mutating("labels.example.com", "/labels");
//!
//! // The answer that `Caller::call` would return.
//! let answer = Answer::json(200, json!({
//!     "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
//!     "response": {"uid": "7f0b", "allowed": false, "status": {"code": 403, "message": "no owner label"}},
//! }));
//! match judge(&review, &hook, &answer).under(FailurePolicy::Ignore, &review) {
//!     Admission::Refused { code, message, .. } => {
//!         assert_eq!(code, 403);
//!         assert_eq!(message, r#"admission webhook "labels.example.com" denied the request: no owner label"#);
//!     }
//!     Admission::Admitted { .. } => unreachable!("a denial holds under every failure policy"),
//! }
//! # Ok::<(), vestibule_caller::ReviewError>(())
//! ```

mod answer;
mod caller;
mod conformance;
mod hook;
mod outcome;
mod review;
mod setup_error;
mod tls;

pub use answer::Answer;
pub use caller::{CallError, Caller, Pool};
pub use conformance::judge;
pub use hook::{Hook, HookKind};
pub use outcome::{
    Admission, Allowed, AuditAnnotations, Cause, Denied, Failed, FailurePolicy, Outcome, Warnings,
};
pub use review::{ApiResource, Operation, Review, ReviewBuilder, ReviewError, ReviewVersion, User};
pub use setup_error::SetupError;
