//! Certificate authorities and the serving certificates (leaves) that they sign.
//!
//! The crate does no I/O and reads no clock: the caller passes the time in and gets certificates and keys back. Every leaf is
//! verified as kube-apiserver would verify it before it is returned. No type that holds a key implements `Debug`.
//!
//! `vestibule-identity` calls this crate: it reads and writes the Secret and the webhook configurations, and does what [`ring`]
//! decides. `vestibule-command` uses the types of the ring, and checks certificates. The model checker in `tests/model` calls the
//! same functions.
//!
//! To start reading: [`ring::step`] is the rotation protocol, one pure function. [`ring::Change`] says how a step changes the
//! ring; [`ring::carry_out`] does it with keys and certificates. [`Authority`] signs, [`verify`] checks, [`Bundle`] reads a
//! `caBundle`.
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
