//! The certificate that the server presents.

use std::sync::Arc;

use arc_swap::ArcSwapOption;
use rustls::crypto::aws_lc_rs::sign::any_supported_type;
use rustls::sign::CertifiedKey;
use rustls_pki_types::{CertificateDer, PrivateKeyDer};

/// The source of the serving certificate. It is called at every handshake, so it must not block; [`CertificateCell`] does one atomic
/// load.
pub trait PresentCertificate: Send + Sync + 'static {
    /// The certificate to present. Without one, handshakes fail and the server is not ready.
    fn present(&self) -> Option<Arc<ServingCertificate>>;

    /// The missing condition of readiness, in a few words. It is called at every request, so it must be cheap.
    fn missing(&self) -> Option<String> {
        self.present().is_none().then(|| "a serving certificate".to_owned())
    }
}

/// A certificate chain with its key, parsed once. There is no `Debug`, since it holds a key.
pub struct ServingCertificate(Arc<CertifiedKey>);

/// Why a chain and a key cannot be served. The texts do not contain the key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum CertificateError {
    /// The key cannot sign TLS handshakes.
    #[error("the serving key cannot be used: {0}")]
    Key(String),
    /// The chain is empty or broken, or its first certificate is for another key.
    #[error("the serving certificate cannot be used: {0}")]
    Chain(String),
}

/// A certificate that can be replaced at any time: new handshakes present the new one, and open connections continue.
#[derive(Default)]
pub struct CertificateCell(ArcSwapOption<ServingCertificate>);

impl ServingCertificate {
    /// `chain` begins with the leaf, followed by its intermediates; `key` is the leaf's key.
    ///
    /// # Errors
    /// The chain or the key cannot be used, or the key is not the leaf's.
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
    /// A cell that presents `certificate`; `default()` makes one without a certificate.
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
