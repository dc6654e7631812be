//! A kit for tests of webhooks: what kube-apiserver makes of an [`App`], without a cluster (feature `test`).
//!
//! [`call`] takes a request through everything that a request over HTTPS goes through, but the socket: the review as
//! kube-apiserver writes it, the handler under its deadline, the patch against the object as it was received, and the
//! answer's bytes, which [`caller`], the API server's side of the conversation, judges by the API server's own rules.
//!
//! ```
//! use k8s_openapi::api::core::v1::Pod;
//! use serde_json::json;
//! use vestibule::Operation::Create;
//! use vestibule::{FailurePolicy, App, Context, Reject, deny, on, test};
//!
//! async fn label(mut pod: Pod, context: Context) -> Result<Pod, Reject> {
//!     if context.user().username == "mallory" {
//!         return Err(deny("not you, Mallory"));
//!     }
//!     pod.metadata.labels.get_or_insert_default().insert("seen".to_owned(), "true".to_owned());
//!     Ok(pod)
//! }
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! let app = App::new("labeller").mutate("label", on::<Pod>([Create]).failure_policy(FailurePolicy::Ignore), label);
//! let pod = json!({ "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "web" }, "spec": { "containers": [] } });
//!
//! let outcome = test::call(&app, "label").create(&pod).by("alice").await;
//! outcome
//!     .assert_allowed()
//!     .assert_object(|pod: &Pod| assert!(pod.metadata.labels.as_ref().unwrap().contains_key("seen")))
//!     .assert_idempotent()
//!     .assert_keeps_unknown_fields();
//!
//! test::call(&app, "label").create(&pod).by("mallory").await.assert_denied("not you");
//! # });
//! ```
//!
//! [`golden`] takes objects and expectations from folders, and holds the laws of every webhook against them unasked.
//!
//! An assertion that fails says what happened instead. Objects are shown as they are: they are the test's own.

// An assertion that does not hold is a panic; all of this is for tests.
#![allow(clippy::panic, clippy::expect_used, reason = "a test fails by a panic")]

mod call;
mod cluster;
mod diff;
mod golden;
mod outcome;
mod pipeline;
mod selects;
mod unknown;

#[cfg(doc)]
use crate::App;
pub use call::{Call, Request, call};
pub use cluster::{Breakage, Cluster, Installed, Reviewed};
pub use golden::golden;
pub use outcome::Outcome;
pub use vestibule_caller as caller;
pub use vestibule_testenv as testenv;
