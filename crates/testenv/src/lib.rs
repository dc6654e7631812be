//! A real etcd and kube-apiserver for the tests of a webhook.
//!
//! The crate starts a control plane in about three seconds, without containers. Around it, a
//! test gets namespaces, clients with and without rights, Services that resolve as in
//! production, a webhook server that records requests, and webhook configurations that are
//! live when [`install`](Environment::install) returns.
//!
//! The tests of this workspace call it, and so can the tests of any operator. Start reading at
//! [`shared_or_skip`] (`session.rs`), then [`Environment`] (`environment.rs`), then
//! [`Environment::install`] (`install.rs`).
//!
//! ```no_run
//! use serde_json::json;
//! use vestibule_testenv::{self as testenv, Recorder};
//!
//! # async fn a_test() -> Result<(), testenv::Error> {
//! let Some(env) = testenv::shared_or_skip().await else { return Ok(()) };
//! let namespace = env.namespace(&[]).await?;
//! let service = env.service(namespace.name(), "webhook").await?;
//! let recorder = Recorder::allowing(&[&service.host()])?;
//! service.add_replica(recorder.address(), None)?;
//!
//! let _installed = env.install([json!({
//!     "apiVersion": "admissionregistration.k8s.io/v1",
//!     "kind": "ValidatingWebhookConfiguration",
//!     "metadata": { "name": "recorder" },
//!     "webhooks": [{
//!         "name": "recorder.example.dev",
//!         "clientConfig": { "service": service.reference("/"), "caBundle": recorder.ca_bundle() },
//!         "rules": [{
//!             "apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"],
//!         }],
//!         "namespaceSelector": { "matchLabels": { "kubernetes.io/metadata.name": namespace.name() } },
//!         "sideEffects": "None",
//!         "admissionReviewVersions": ["v1"],
//!     }],
//! })]).await?;
//! // From here on the API server calls the recorder for every new pod of the namespace.
//! # Ok(())
//! # }
//! ```
//!
//! A test can also cause the failures of production: two API servers on one etcd
//! ([`Options::second_api_server`]), of which one [lags](Environment::second_watches); a
//! [`Proxy`] or a [`Clock`] between a replica and the API server; replicas as processes that
//! hang and die ([`Environment::spawn`]).
//!
//! The programs come from `KUBEBUILDER_ASSETS`, from a cache, or from a build with `go`:
//! see [`Binaries`]. kubectl, helm and a part of the kubelet come from the cache or a build: see [`Tools`]. All
//! processes and files are removed with the test process, also when it is killed.
//!
//! The crate works on Linux, and on other Unix systems where `go` builds a control plane. On these
//! only 127.0.0.1 is local, so Services are of type ExternalName.

mod access;
mod api_server;
mod background;
mod binaries;
mod certificate;
mod child;
mod clock;
mod environment;
mod error;
mod files;
mod install;
mod log_tail;
mod marker;
mod network;
mod openapi;
mod poll;
mod proxy;
mod recorder;
mod report;
mod rights;
mod service;
mod session;
mod tls;
mod watchdog;

pub use api_server::ApiServer;
pub use binaries::{Binaries, Tools};
pub use child::Child;
pub use clock::Clock;
pub use environment::{Environment, Namespace, Options};
pub use error::Error;
pub use install::Installed;
pub use poll::until;
pub use proxy::Proxy;
pub use recorder::{Answer, Recorded, Recorder};
pub use report::{leave_out, leave_out_part};
pub use service::Service;
pub use session::{Session, shared_or_skip, start_or_skip, tools_or_skip};
