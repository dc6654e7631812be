//! A certificate to present, with its key.

use rustls_pki_types::{CertificateDer, PrivateKeyDer, UnixTime};
use zeroize::Zeroizing;

/// A serving certificate and its key, verified when it was made. No `Debug`: it holds a key.
#[non_exhaustive]
pub struct Leaf {
    /// The leaf, then whatever a client needs between it and the CA.
    pub chain: Vec<CertificateDer<'static>>,
    /// PKCS#8, erased when dropped.
    pub key: Zeroizing<PrivateKeyDer<'static>>,
    /// The first second of its validity: some time before it was made, for clients whose clock is behind.
    pub not_before: UnixTime,
    /// The last second of its validity, never after the CA's.
    pub not_after: UnixTime,
    /// The DNS names and IP addresses that it is valid for.
    pub names: Vec<String>,
}
