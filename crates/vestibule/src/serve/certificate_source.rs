//! Joins an identity to the server: the certificate to present at a handshake, and what readiness waits for.

use std::ptr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Weak};
use std::time::Instant;

use arc_swap::ArcSwapOption;
use vestibule_identity::{Identity, Leaf};
use vestibule_server::{CertificateError, PresentCertificate, ServingCertificate};

/// How long a good status of the identity is cached, in milliseconds: readiness is checked at every request.
const STATUS_VALID_MS: u64 = 1000;

/// Presents the certificate that an identity has at the time of a handshake.
pub(crate) struct CertificateSource {
    identity: Arc<dyn Identity>,
    parsed: ArcSwapOption<Parsed>,
    started: Instant,
    /// Milliseconds after `started`.
    status_valid_until: AtomicU64,
}

/// A leaf as rustls needs it. An error is kept too, so that a bad leaf is logged once and not at every handshake.
struct Parsed {
    /// Weak, because the identity erases the key of a replaced leaf. Its address identifies the leaf: while this `Weak` lives, no
    /// other leaf gets that address.
    leaf: Weak<Leaf>,
    certificate: Result<Arc<ServingCertificate>, CertificateError>,
}

impl CertificateSource {
    pub(crate) fn new(identity: Arc<dyn Identity>) -> Self {
        let (parsed, status_valid_until) = (ArcSwapOption::empty(), AtomicU64::new(0));
        Self { identity, parsed, started: Instant::now(), status_valid_until }
    }

    /// The current certificate, if there is one.
    pub(crate) fn certificate(&self) -> Option<Result<Arc<ServingCertificate>, CertificateError>> {
        Some(self.parse(&self.identity.present()?))
    }

    fn parse(&self, leaf: &Arc<Leaf>) -> Result<Arc<ServingCertificate>, CertificateError> {
        if let Some(parsed) = &*self.parsed.load()
            && ptr::eq(parsed.leaf.as_ptr(), Arc::as_ptr(leaf))
        {
            return parsed.certificate.clone();
        }
        let certificate = ServingCertificate::new(leaf.chain.clone(), &leaf.key).map(Arc::new);
        if let Err(error) = &certificate {
            tracing::warn!(%error, "the certificate cannot be presented");
        }
        let parsed = Parsed { leaf: Arc::downgrade(leaf), certificate: certificate.clone() };
        self.parsed.store(Some(Arc::new(parsed)));
        certificate
    }
}

impl PresentCertificate for CertificateSource {
    fn present(&self) -> Option<Arc<ServingCertificate>> {
        self.certificate()?.ok()
    }

    fn missing(&self) -> Option<String> {
        let now = u64::try_from(self.started.elapsed().as_millis()).unwrap_or(u64::MAX);
        let certificate = self.certificate();
        if certificate.as_ref().is_some_and(Result::is_ok)
            && now < self.status_valid_until.load(Ordering::Relaxed)
        {
            return None;
        }
        let missing = match (self.identity.status().waiting_for, certificate) {
            (Some(what), _) => format!("certificate waits for {what}"),
            (None, Some(Err(error))) => format!("certificate ({error})"),
            (None, None) => "certificate".to_owned(),
            (None, Some(Ok(_))) => {
                self.status_valid_until.store(now.saturating_add(STATUS_VALID_MS), Ordering::Relaxed);
                return None;
            }
        };
        Some(missing)
    }
}

#[cfg(test)]
mod tests;
