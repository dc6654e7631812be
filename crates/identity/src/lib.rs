//! The identity of a webhook server: its serving certificate, and the `caBundle` that API servers verify it with.
//!
//! The crate knows neither handlers nor a particular server. A server asks an [`Identity`] for the [`Leaf`] to present at each
//! handshake. There are four: [`SelfManaged`] keeps a CA ring in a Secret and writes `caBundle`, [`Mounted`] reads files of
//! cert-manager or another issuer, [`Local`] keeps a CA in a folder, and [`Off`] has no certificate. [`Source`] is the choice
//! among them as text.
//!
//! The framework and the command line call it, the injector through the framework, and so can an operator with a server of its
//! own: see below.
//!
//! To start reading: [`SelfManaged::start`] spawns the tasks. `self_managed/control_loop.rs` has the loop of the main task,
//! `self_managed/state.rs` decides on the next operation by `vestibule_pki::ring::step` without I/O, and
//! `self_managed/api_client.rs` sends it.
//!
//! ```
//! use std::time::SystemTime;
//! use vestibule_identity::{Identity, Local};
//!
//! let identity = Local::in_memory(&["localhost", "127.0.0.1"], SystemTime::now())?;
//! assert!(identity.ca_bundle().is_some_and(|bundle| bundle.starts_with("-----BEGIN CERTIFICATE-----")));
//! assert_eq!(identity.present().map(|leaf| leaf.names.len()), Some(2));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! An operator with a webhook server of its own needs six types and five calls:
//!
//! | Step | Call | Types |
//! |---|---|---|
//! | name the Service and the objects | [`Settings::for_service`] | [`Settings`], [`NamespacedName`], [`RegistrationName`] |
//! | print the rights | [`Settings::policy_rules`] | |
//! | start | [`Source::open`] | [`Source`], [`Identity`] |
//! | serve | `server_config`, with the feature `rustls` | |
//! | be ready | [`Identity::ready`], or [`Status`] for a probe | [`Status`] |
//!
//! ```no_run
//! use vestibule_identity::{Identity, Settings, Source};
//!
//! # async fn an_operator(source: Source) -> Result<(), Box<dyn std::error::Error>> {
//! let mut settings = Settings::for_service("demo/widgets".parse()?);
//! settings.registrations = vec!["crd/widgets.example.dev".parse()?];
//! settings.manager = "widgets".to_owned(); // the field manager, the source of Events, the label of the Secret
//! let identity = source.open(&settings, None).await?;
//! // With the feature `rustls`: let tls = TlsAcceptor::from(server_config(identity.clone())?);
//! identity.ready().await;
//! # Ok(())
//! # }
//! ```

mod client;
mod client_error;
mod cluster_config;
mod desired;
mod error;
pub mod events;
pub mod inspect;
mod key_file;
mod local;
mod log_throttle;
mod mounted;
mod name;
mod observer;
mod off;
mod rbac_rule;
#[cfg(feature = "rustls")]
mod resolver;
mod self_managed;
mod settings;
mod source;
mod status;
mod time;

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

pub use client::{client, connect, short_watch};
pub use client_error::{refusal_message, with_causes};
pub use cluster_config::{CLUSTER_ORDER, ClusterConfigError, cluster_config};
pub use desired::{Desired, DesiredError, DesiredUpdates};
pub use error::{IdentityError, SourceError};
pub use local::Local;
pub use mounted::Mounted;
pub use name::{NameError, NamespacedName, RegistrationKind, RegistrationName};
pub use observer::{IdentityEvent, Observer};
pub use off::Off;
pub use rbac_rule::{event_rule, policy_rule};
#[cfg(feature = "rustls")]
pub use resolver::{resolver, server_config};
pub use self_managed::SelfManaged;
pub use settings::{MountedFiles, Settings};
pub use source::Source;
pub use status::{AuthorityStatus, RegistrationStatus, Status};
pub use vestibule_pki::ring::{Algorithm, Policy, Role, UnknownAuthorities};
pub use vestibule_pki::{AuthorityError, Leaf, VerifyError};

/// A serving certificate that is valid now, and the CAs that verify it.
pub trait Identity: Send + Sync {
    /// The certificate to present. A server calls this at every handshake, so it never blocks. A source may replace the
    /// certificate at any time; another pointer is another certificate. [`None`] before there is one.
    fn present(&self) -> Option<Arc<Leaf>>;

    /// Certificates in PEM, for `caBundle`; a client that trusts them accepts what [`present`](Self::present) returns.
    /// [`None`] before they are known.
    fn ca_bundle(&self) -> Option<Arc<str>>;

    /// The state for readiness, metrics and messages.
    fn status(&self) -> Status;

    /// The server calls this when it answers every call that reaches it: it presents the certificate, and its handlers are
    /// ready. [`SelfManaged`] writes the desired entries ([`Settings::desired`]) only after this; other sources ignore it.
    fn serving(&self) {}

    /// The server calls this when it begins to drain. From then on [`SelfManaged`] writes no entry and no `caBundle`, and
    /// this cannot be undone; other sources ignore it.
    fn draining(&self) {}

    /// Resolves when [`Status::waiting_for`] is [`None`]; at once for [`Off`]. It may be called any number of times.
    fn ready(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        const PERIOD: Duration = Duration::from_millis(50);
        Box::pin(async move {
            while self.status().waiting_for.is_some() {
                tokio::time::sleep(PERIOD).await;
            }
        })
    }
}
