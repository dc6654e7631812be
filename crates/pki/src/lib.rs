//! A certificate authority and the leaves it signs, each checked as kube-apiserver would check it, before anybody uses it.
//!
//! No I/O and no clock: the time comes in, certificates and keys go out. Nothing that holds a key has `Debug`.
//!
//! ```
//! use std::time::Duration;
//! use rustls_pki_types::UnixTime;
//! use vestibule_pki::{Authority, verify};
//!
//! const DAY: Duration = Duration::from_secs(24 * 60 * 60);
//! let now = UnixTime::since_unix_epoch(DAY * 20_000);
//! let authority = Authority::new("example CA", now, DAY * 3650)?;
//! let leaf = authority.issue(&["hooks.demo.svc", "127.0.0.1"], now, DAY * 365)?;
//!
//! verify(authority.certificate_pem(), &leaf.chain, &["hooks.demo.svc"], now)?;
//! assert!(verify(authority.certificate_pem(), &leaf.chain, &["other.demo.svc"], now).is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod algorithm;
mod authority;
mod bundle;
mod certificate;
mod error;
mod key;
mod leaf;
pub mod ring;
mod verify;

pub use authority::Authority;
pub use bundle::Bundle;
pub use certificate::{CertificateFacts, describe};
pub use error::{AuthorityError, LeafError, VerifyError};
pub use leaf::Leaf;
pub use verify::verify;
