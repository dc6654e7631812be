//! The API server's side of an admission call, as an independent judge: it knows plain JSON and what kube-apiserver
//! does with it, and nothing of the webhook it calls.
//!
//! A [`Review`] is built from an object as kube-apiserver builds it, a [`Caller`] sends it over HTTPS to a [`Hook`], and
//! [`judge`] says what kube-apiserver makes of the [`Answer`]: an [`Outcome`]. A [`FailurePolicy`] turns that into what
//! happens to the user's request: an [`Admission`].
//!
//! ```
//! use serde_json::json;
//! use vestibule_caller::{Admission, Answer, FailurePolicy, Hook, Review, judge};
//!
//! let pod = json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "web"}, "spec": {}});
//! let review = Review::create(pod).namespace("shop").uid("7f0b").build()?;
//! let hook = Hook::mutating("labels.example.com", "/labels");
//!
//! // What `Caller::call` would have brought back.
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
mod bundle;
mod caller;
mod exposition;
mod hook;
mod judge;
pub mod load;
mod outcome;
mod review;

pub use answer::Answer;
pub use bundle::Bundle;
pub use caller::{CallError, Caller, Pool, SetupError};
pub use exposition::{Exposition, Family, Measured};
pub use hook::{Hook, HookKind};
pub use judge::judge;
pub use outcome::{
    Admission, Allowed, AuditAnnotations, Cause, Denied, Failed, FailurePolicy, Outcome, Warnings,
};
pub use review::{ApiResource, Operation, Review, ReviewBuilder, ReviewError, ReviewVersion, User};
