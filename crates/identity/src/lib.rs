//! Where a webhook's serving certificate, and the `caBundle` that vouches for it, come from.
//!
//! Knows neither handlers nor our server: whoever serves asks an [`Identity`] for the [`Leaf`] to present. A [`Source`]
//! is what users write on the command line; [`SelfManaged`] is the one that keeps its own CA on a cluster.
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
//! An operator with a webhook of its own, whoever serves it, needs little more than this:
//!
//! ```no_run
//! use vestibule_identity::{Identity, Settings, Source};
//!
//! # async fn an_operator(source: Source) -> Result<(), Box<dyn std::error::Error>> {
//! let mut settings = Settings::for_service("demo/widgets".parse()?);
//! settings.registrations = vec!["crd/widgets.example.dev".parse()?];
//! let identity = source.open(&settings, None).await?;
//! // With the feature `rustls`: let tls = TlsAcceptor::from(server_config(identity.clone())?);
//! identity.ready().await;
//! # Ok(())
//! # }
//! ```

mod causes;
mod cluster;
mod desired;
mod error;
pub mod events;
mod folder;
mod inspect;
mod local;
mod log_throttle;
mod mounted;
mod name;
mod observer;
mod off;
pub mod own_namespace;
mod pair;
#[cfg(feature = "probe")]
mod probe;
mod registration;
mod request;
#[cfg(feature = "rustls")]
mod resolver;
mod ring_options;
mod self_managed;
mod settings;
mod source;
mod status;
mod time;

use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

pub use cluster::{CLUSTER_ORDER, ClusterConfigError, client, cluster_config, short_watch};
pub use desired::{Desired, DesiredError, DesiredUpdates};
pub use error::{IdentityError, SourceError};
pub use inspect::{
    AuthorityReport, EntryReport, InspectError, InspectReport, Inspection, RegistrationReport, RingReport,
    RingState,
};
pub use local::Local;
pub use mounted::{Mounted, MountedFiles};
pub use name::{NameError, NamespacedName, RegistrationKind, RegistrationName};
pub use observer::{IdentityEvent, Observer};
pub use off::Off;
pub use own_namespace::OwnNamespaceError;
pub use pair::{Pair, PairError};
#[cfg(feature = "probe")]
pub use probe::{Cause, Probe, ProbeError, Probed, Refusal};
pub use request::{PendingCommand, RingCommand};
#[cfg(feature = "rustls")]
pub use resolver::{resolver, server_config};
pub use ring_options::{RingOptions, RingOptionsError};
pub use self_managed::SelfManaged;
pub use settings::Settings;
pub use source::Source;
pub use status::{AuthorityStatus, RegistrationStatus, Role, Status};
pub use vestibule_pki::ring::{Algorithm, Policy, UnknownAuthorities};
pub use vestibule_pki::{AuthorityError, CertificateFacts, Leaf, VerifyError};

/// A serving certificate that is valid now, and the CAs that vouch for it.
pub trait Identity: Send + Sync {
    /// The certificate to present: asked at every handshake, so it never waits. A source may replace it at any time:
    /// another pointer is another certificate. [`None`] before there is one.
    fn present(&self) -> Option<Arc<Leaf>>;

    /// Certificates in PEM, for `caBundle`; a client that trusts them accepts what [`present`](Self::present) returns.
    /// [`None`] before they are known.
    fn ca_bundle(&self) -> Option<Arc<str>>;

    /// What there is to tell people and metrics.
    fn status(&self) -> Status;

    /// Whoever serves says that from now on calls are answered, as soon as clients find the way: the certificate is
    /// presented, and whatever else answers need is there. Only after that [`SelfManaged`] writes what registered objects
    /// are to hold ([`Settings::desired`]); to other sources it is no news.
    fn serving(&self) {}

    /// The server says that it has begun to drain: calls are answered for a while yet, and then no more. From now on
    /// [`SelfManaged`] writes no entry and no `caBundle`; nothing takes this back. To other sources it is no news.
    fn draining(&self) {}

    /// Resolves when there is nothing to wait for any more: [`Status::waiting_for`] is [`None`]. At once for
    /// [`Off`]. It may be asked for any number of times, and goes on being of use after a time of trouble.
    fn ready(&self) -> Pin<Box<dyn Future<Output = ()> + Send + '_>> {
        const PERIOD: Duration = Duration::from_millis(50);
        Box::pin(async move {
            while self.status().waiting_for.is_some() {
                tokio::time::sleep(PERIOD).await;
            }
        })
    }
}
