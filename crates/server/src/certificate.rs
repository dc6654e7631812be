//! The certificate to present now.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use rustls::crypto::aws_lc_rs::sign::any_supported_type;
use rustls::sign::CertifiedKey;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

/// Asked at every handshake, so it must not block; [`CertificateCell`] is one atomic load.
pub trait PresentCertificate: Send + Sync + 'static {
    /// The certificate to present. Without one, handshakes fail and the server is not ready.
    fn present(&self) -> Option<Arc<ServingCertificate>>;

    /// What readiness still waits for, in a few words. Asked at every request, so it must be cheap.
    fn missing(&self) -> Option<String> {
        self.present().is_none().then(|| "a serving certificate".to_owned())
    }
}

/// A certificate chain with its key, parsed once and ready to sign. No `Debug`: it holds a key.
pub struct ServingCertificate(Arc<CertifiedKey>);

/// Why a chain and a key cannot be served. The key is not repeated.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CertificateError {
    /// The key is of a kind that cannot sign handshakes.
    #[error("the serving key cannot be used: {0}")]
    Key(String),
    /// The chain is empty or broken, or the key is not its first certificate's.
    #[error("the serving certificate cannot be used: {0}")]
    Chain(String),
}

/// Holds the certificate to present and can be given another at any time: new handshakes get the new one, connections
/// that are open go on.
#[derive(Default)]
pub struct CertificateCell(ArcSwapOption<ServingCertificate>);

impl ServingCertificate {
    /// The leaf first, then its intermediates, and the leaf's key.
    ///
    /// # Errors
    /// A chain or key that cannot be used, or that do not belong together.
    pub fn new(
        chain: Vec<CertificateDer<'static>>,
        key: &PrivateKeyDer<'_>,
    ) -> Result<Self, CertificateError> {
        let key = any_supported_type(key).map_err(|error| CertificateError::Key(error.to_string()))?;
        let certified = CertifiedKey::new(chain, key);
        certified.keys_match().map_err(|error| CertificateError::Chain(error.to_string()))?;
        Ok(Self(Arc::new(certified)))
    }

    pub(crate) fn certified(&self) -> Arc<CertifiedKey> {
        Arc::clone(&self.0)
    }
}

impl CertificateCell {
    /// A cell that presents `certificate`; `default()` makes one that presents none yet.
    pub fn new(certificate: ServingCertificate) -> Self {
        Self(ArcSwapOption::from_pointee(certificate))
    }

    /// Presents `certificate` from now on.
    pub fn replace(&self, certificate: ServingCertificate) {
        self.0.store(Some(Arc::new(certificate)));
    }
}

impl PresentCertificate for CertificateCell {
    fn present(&self) -> Option<Arc<ServingCertificate>> {
        self.0.load_full()
    }
}
