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

mod error;
mod folder;
mod local;
mod name;
mod observer;
mod self_managed;
mod settings;
mod source;
mod status;

use std::sync::Arc;

pub use error::{IdentityError, SourceError};
pub use local::Local;
pub use name::{NameError, NamespacedName, RegistrationKind, RegistrationName};
pub use observer::{Happening, Observer};
pub use self_managed::SelfManaged;
pub use settings::Settings;
pub use source::Source;
pub use status::{AuthorityStatus, RegistrationStatus, Role, Status};
pub use vestibule_pki::{AuthorityError, Leaf, VerifyError};

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
}
