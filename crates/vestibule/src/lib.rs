//! A framework for Kubernetes admission webhooks: an async function over a typed object becomes a webhook with certificates,
//! registration, limits, metrics and a command line.
//!
//! A webhook's `Cargo.toml` names the Kubernetes version whose types it uses, as a feature of k8s-openapi. Until the crates
//! are published, it stands beside a checkout of the repository:
//!
//! ```toml
//! [dependencies]
//! k8s-openapi = { version = "0.29", features = ["v1_36"] }
//! tokio = { version = "1", features = ["macros", "rt-multi-thread"] }
//! vestibule = { path = "../vestibule/crates/vestibule" }
//! vestibule-command = { path = "../vestibule/crates/command" }
//! ```
//!
//! ```
//! use k8s_openapi::api::core::v1::Pod;
//! use vestibule::Operation::Create;
//! use vestibule::{App, Context, FailurePolicy, Reject, deny, on};
//!
//! async fn label(mut pod: Pod, context: Context) -> Result<Pod, Reject> {
//!     if context.user().username == "mallory" {
//!         return Err(deny("not you, Mallory"));
//!     }
//!     pod.metadata.labels.get_or_insert_default().insert("seen".to_owned(), "true".to_owned());
//!     Ok(pod)
//! }
//!
//! fn app() -> App {
//!     App::new("labeller").mutate("label", on::<Pod>([Create]).failure_policy(FailurePolicy::Ignore), label)
//! }
//! ```
//!
//! The binary hands the app to `vestibule-command`, which serves it, prints its manifests and more. A program with a command
//! line of its own calls [`App::bind`].
//!
//! ```text
//! #[tokio::main]
//! async fn main() -> std::process::ExitCode {
//!     vestibule_command::run(app()).await
//! }
//! ```
//!
//! A handler takes a typed value and returns one. Members that its type does not know stay in the object: the difference
//! that the handler made becomes a patch on the object as it was received. [`deny`] refuses a request, whatever the policy; `?`
//! on an error is a fault, and the registration's `failurePolicy` decides.
//!
//! # The items
//!
//! - [`App`] collects hooks; [`on`] says for which requests a hook is called, and [`FailurePolicy`] what a failed call means.
//! - [`Mutate`] and [`Validate`] are the traits of handlers, which async functions implement; [`Context`] has the request,
//!   [`Reject`] the error.
//! - [`Watch`] and [`Lookup`] find other objects of the cluster, [`Watched`] outside of handlers; a test gives an app [`Objects`].
//! - [`Conversion`] converts custom resources between versions.
//! - [`Options`], [`ClientSettings`] and [`Bound`] serve an app in a program with a command line of its own.
//! - [`admission`], [`identity`], [`patch`], [`server`] and [`prometheus_client`] are the crates whose types occur in signatures: a raw
//!   handler implements [`admission::Handler`].
//!
//! # The modules
//!
//! A webhook author writes an `app`; the API server calls its hooks. Each module uses the modules below it in this
//! list:
//!
//! - `serve` binds the addresses of an app and answers calls until a shutdown.
//! - `app` is the builder [`App`], and checks that an app is in order.
//! - `telemetry` writes one log line for each decision, and the metrics.
//! - `pipeline` lists the stages of one call, from the server to the handler and back. Start reading here.
//! - `handler` holds the traits of handlers, the values that they take and return, and the diff that becomes a patch.
//! - `conversion` converts custom resources between versions.
//! - `registration` makes webhook configurations of hooks: rules, selectors, targets, entries.
//! - `lookup` reads other objects of the cluster, from memory or live.

mod app;
mod conversion;
mod decode;
mod handler;
mod lookup;
mod pipeline;
mod registration;
mod request_error;
mod serve;
mod telemetry;
#[cfg(test)]
mod tests;
#[doc(hidden)]
pub mod tooling;

pub use app::App;
pub use app::check::AppError;
pub use app::readiness::Holds;

pub use registration::Registration;
pub use registration::on::choices::{FailurePolicy, MatchPolicy, Reinvocation, Scope, SideEffects};
pub use registration::on::{On, Raw, on, on_raw, on_rules};
pub use registration::rule::Rule;
pub use registration::target::{Target, TargetError};
pub use vestibule_admission::{OnFault, Operation, Version as ReviewVersion};

pub use handler::change::Change;
pub use handler::context::{Context, User};
pub use handler::mutation::Mutation;
pub use handler::raw_object::RawObject;
pub use handler::reject::{Reject, deny, too_many_requests};
pub use handler::{Mutate, Then, Validate};
pub use vestibule_admission::Cause;

pub use lookup::Lookup;
pub use lookup::error::LookupError;
pub use lookup::looked_up::LookedUp;
pub use lookup::test_objects::Objects;
pub use lookup::watch::Watch;
pub use lookup::watch_state::WatchState;
pub use lookup::watched::Watched;

pub use conversion::{Conversion, ConversionBuilder, Version};

pub use serve::client_identity::settings::{ClientError, ClientSettings, TokenSettings};
pub use serve::options::Options;
pub use serve::{Bound, ServeError};

pub use prometheus_client;
pub use vestibule_admission as admission;
pub use vestibule_identity as identity;
pub use vestibule_patch as patch;
pub use vestibule_server as server;
