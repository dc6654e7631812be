//! A kit for tests of webhooks: it calls the hooks of an [`App`] as kube-apiserver does, without a cluster or on a real
//! API server.
//!
//! [`call`] takes a request through everything that a request over HTTPS goes through, but the socket: the review as
//! kube-apiserver writes it, the handler under its deadline, the patch against the object as it was received, and the
//! answer's bytes, which [`caller`], the API server's side of the conversation, judges by the API server's own rules.
//!
//! ```
//! use k8s_openapi::api::core::v1::Pod;
//! use serde_json::json;
//! use vestibule::Operation::Create;
//! use vestibule::{App, Context, Reject, deny, on, FailurePolicy};
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
//! let outcome = vestibule_test::call(&app, "label").create(&pod).by("alice").await;
//! outcome
//!     .assert_allowed()
//!     .assert_object(|pod: &Pod| assert!(pod.metadata.labels.as_ref().unwrap().contains_key("seen")))
//!     .assert_idempotent()
//!     .assert_keeps_unknown_fields();
//!
//! vestibule_test::call(&app, "label").create(&pod).by("mallory").await.assert_denied("not you");
//! # });
//! ```
//!
//! [`golden`] reads objects and expected results from folders, and checks the laws of every webhook on them.
//! [`Cluster`] installs an app on a real kube-apiserver by its own manifests. To read the code, start with `call.rs`
//! and `pipeline.rs`, or with `cluster/installed.rs`.
//!
//! A failed assertion prints what happened instead, objects included: they are the test's own data.

// An assertion that does not hold is a panic; all of this is for tests.
#![allow(clippy::panic, clippy::expect_used, reason = "a test fails by a panic")]

mod call;
mod cluster;
mod diff;
mod golden;
mod matching;
mod outcome;
mod pipeline;
mod unknown_fields;

pub use call::{Call, Request, call};
pub use cluster::{Breakage, Cluster, Installed, Reviewed};
pub use golden::golden;
pub use outcome::Outcome;
#[cfg(doc)]
use vestibule::App;
pub use vestibule_caller as caller;
pub use vestibule_testenv as testenv;
