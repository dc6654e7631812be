//! Kubernetes admission webhooks: typed handlers in, everything else done.
//!
//! A webhook's `Cargo.toml` names the Kubernetes version whose types it uses, as a feature of k8s-openapi. Until the crates
//! are published, it stands beside a checkout of the repository:
//!
//! ```toml
//! [dependencies]
//! k8s-openapi = { version = "0.29", features = ["v1_36"] }
//! tokio = { version = "1", features = ["macros", "rt-multi-thread"] }
//! vestibule = { path = "../vestibule/crates/vestibule" }
//! ```
//!
//! ```no_run
//! use k8s_openapi::api::core::v1::Pod;
//! use vestibule::Operation::Create;
//! use vestibule::{App, Context, Reject, deny, on};
//!
//! async fn label(mut pod: Pod, context: Context) -> Result<Pod, Reject> {
//!     if context.user().username == "mallory" {
//!         return Err(deny("not you, Mallory"));
//!     }
//!     pod.metadata.labels.get_or_insert_default().insert("seen".to_owned(), "true".to_owned());
//!     Ok(pod)
//! }
//!
//! #[tokio::main]
//! async fn main() -> std::process::ExitCode {
//!     App::new("labeller").mutate("label", on::<Pod>([Create]).fail_open(), label).run().await
//! }
//! ```
//!
//! A handler gets a typed value and gives one back. What its type does not know stays in the object: the difference
//! the handler made is laid on the object as it was received. [`deny`] is a refusal on purpose and holds always; `?` on
//! any error is a fault, and the registration's `failurePolicy` decides.

mod amount;
mod app;
mod chain;
mod change;
mod client_identity;
#[cfg(feature = "cli")]
pub mod command;
mod condition;
mod context;
mod conversion;
mod decode;
mod defaults;
mod entries;
mod environment;
mod finalizers;
#[cfg(test)]
mod fixture;
mod handler;
#[cfg(test)]
mod laws;
#[cfg(feature = "cli")]
mod logs;
mod lookup;
mod lossless;
mod manifests;
mod mutation;
mod name;
mod on;
#[cfg(feature = "cli")]
mod plain;
mod presented;
mod raw_object;
mod reach;
mod registration;
mod registration_mode;
mod reject;
mod rule;
mod selector;
mod serve;
mod state;
mod target;
mod telemetry;
#[cfg(feature = "test")]
pub mod test;
mod traced;
#[cfg(feature = "otel")]
mod traces;
mod typed;
mod watch_state;
mod work;

pub use amount::{Amount, AmountError};
pub use app::{App, AppError};
pub use chain::Then;
pub use change::Change;
pub use client_identity::{ClientError, ClientSettings, TokenSettings};
pub use condition::Holds;
pub use context::{Context, User};
pub use conversion::{Conversion, Hub, Version};
pub use entries::{Entries, EntriesError, Entry};
pub use handler::{Mutate, Validate};
pub use lookup::{LookedUp, Lookup, LookupError, Objects, Watch};
pub use manifests::{Files, Installation};
pub use mutation::Mutation;
pub use on::{FailurePolicy, MatchPolicy, On, Raw, Reinvocation, Scope, SideEffects, on, on_raw, on_rules};
pub use raw_object::RawObject;
pub use registration::Registration;
pub use registration_mode::{RegistrationMode, RegistrationModeError};
pub use reject::{Reject, deny, retry_later};
pub use rule::Rule;
pub use serve::{Bound, Options, ServeError};
pub use state::MissingState;
pub use target::{Target, TargetError};
pub use telemetry::{
    CertificateCounters, Metric, MetricFamily, MetricKind, MetricLabel, MetricUnit, MetricValues, Sample,
};
pub use vestibule_admission::keys;
pub use vestibule_admission::{
    AuditAnnotations, Cause, Converter, Decision, Denial, Fault, FaultKind, Handler, HandlerFuture, HookKind,
    Notes, OnFault, Operation, Outcome, Request, Unconvertible, Verdict, Version as ReviewVersion, Warnings,
};
pub use vestibule_identity as identity;
pub use vestibule_patch as patch;
pub use vestibule_server::{
    ClientAuthentication, ClientIdentity, Converted, Decided, Doubt, Observer, Refusal, Settings, Shutdown,
    TlsVersion,
};
pub use watch_state::WatchState;
