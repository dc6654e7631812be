//! What is presented, as a fact.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use fire::Fact;
use rustls::crypto::aws_lc_rs::sign::any_supported_type;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use vestibule_identity::Leaf;
use x509_cert::Certificate;
use x509_cert::der::Decode;

use crate::{Source, tell};

/// Presents whatever leaf there is, and tells of each when a client first gets it: a leaf that nobody saw proves nothing.
pub(crate) struct Presenter {
    source: Arc<dyn Source>,
    last: Mutex<Option<(Arc<Leaf>, Arc<CertifiedKey>)>>,
}

impl Presenter {
    pub(crate) fn of(source: Arc<dyn Source>) -> Self {
        Self { source, last: Mutex::new(None) }
    }
}

impl ResolvesServerCert for Presenter {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        let leaf = self.source.present()?;
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((known, certified)) = &*last
            && Arc::ptr_eq(known, &leaf)
        {
            return Some(Arc::clone(certified));
        }
        let certified = Arc::new(CertifiedKey::new(leaf.chain.clone(), any_supported_type(&leaf.key).ok()?));
        tell(&describe(&leaf)?);
        *last = Some((leaf, Arc::clone(&certified)));
        Some(certified)
    }
}

impl fmt::Debug for Presenter {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Presenter")
    }
}

fn describe(leaf: &Leaf) -> Option<Fact> {
    let read = Certificate::from_der(leaf.chain.first()?).ok()?;
    let certificate = read.tbs_certificate();
    Some(Fact::Presented {
        serial: certificate.serial_number().to_string(),
        issuer: certificate.issuer().to_string(),
        crossed: leaf.chain.len() > 1,
        not_after: leaf.not_after.as_secs(),
    })
}
