//! Where a webhook's serving certificate, and the `caBundle` that vouches for it, come from.
//!
//! Knows neither handlers nor our server: whoever serves asks an [`Identity`] for the [`Leaf`] to present. A [`Source`]
//! is what users write on the command line.
//!
//! ```
//! use std::time::SystemTime;
//! use vestibule_identity::{Identity, Local};
//!
//! let identity = Local::in_memory(&["localhost", "127.0.0.1"], SystemTime::now())?;
//! assert!(identity.ca_bundle().starts_with("-----BEGIN CERTIFICATE-----"));
//! assert_eq!(identity.present().names, ["localhost", "127.0.0.1"]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod error;
mod folder;
mod local;
mod source;

use std::sync::Arc;

pub use error::{IdentityError, SourceError};
pub use local::Local;
pub use source::Source;
pub use vestibule_pki::{AuthorityError, Leaf, VerifyError};

/// A serving certificate that is valid now, and the CAs that vouch for it.
pub trait Identity: Send + Sync {
    /// The certificate to present. A source may replace it at any time: another pointer is another certificate.
    fn present(&self) -> Arc<Leaf>;

    /// Certificates in PEM, for `caBundle`; a client that trusts them accepts what [`present`](Self::present) returns.
    fn ca_bundle(&self) -> Arc<str>;
}
