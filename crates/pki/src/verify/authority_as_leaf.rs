//! Verifies a leaf that is a CA itself, which webpki refuses.

use std::cell::Cell;

use rustls_pki_types::{CertificateDer, UnixTime};

use crate::VerifyError;
use crate::certificate::Certificate;

/// A server may present certificates that make many paths; Go stops at as many signatures.
const MAX_SIGNATURES: usize = 100;

/// Checks dates and usage of the leaf, and looks for a path from it to a root: signatures, names, path lengths, and dates and
/// usage of the CAs.
pub(super) fn verify(
    bundle: &[CertificateDer<'_>],
    leaf: &CertificateDer<'_>,
    intermediates: &[CertificateDer<'_>],
    now: UnixTime,
) -> Result<(), VerifyError> {
    let leaf = Certificate::read(leaf).ok_or(VerifyError::Unreadable { position: 1 })?;
    leaf.check_leaf(now)?;
    let usable = |der| {
        let read = Certificate::read(der).filter(|certificate| certificate.malformation().is_none());
        read.filter(|certificate| certificate.check_root(now).is_ok())
    };
    let search = Search {
        roots: bundle.iter().filter_map(usable).collect(),
        intermediates: intermediates.iter().filter_map(usable).collect(),
        names: leaf.names(),
        signatures: Cell::new(0),
    };
    if search.leads_to_root(&leaf, 0) { Ok(()) } else { Err(VerifyError::UnknownAuthority) }
}

struct Search {
    roots: Vec<Certificate>,
    intermediates: Vec<Certificate>,
    /// The names of the leaf.
    names: Vec<String>,
    /// The number of signatures that were verified.
    signatures: Cell<usize>,
}

impl Search {
    /// `depth` is the number of intermediates from the leaf to this certificate.
    fn leads_to_root(&self, certificate: &Certificate, depth: usize) -> bool {
        self.roots.iter().any(|root| self.is_signed(certificate, root, depth))
            || depth < self.intermediates.len()
                && self.intermediates.iter().any(|intermediate| {
                    self.is_signed(certificate, intermediate, depth)
                        && self.leads_to_root(intermediate, depth + 1)
                })
    }

    fn is_signed(&self, certificate: &Certificate, signer: &Certificate, depth: usize) -> bool {
        if !certificate.names_as_issuer(signer) {
            return false;
        }
        self.signatures.set(self.signatures.get() + 1);
        self.signatures.get() <= MAX_SIGNATURES
            && signer.path_length().is_none_or(|limit| depth <= usize::from(limit))
            && self.names.iter().all(|name| signer.permits(name))
            && certificate.is_signed_by(signer)
    }
}
