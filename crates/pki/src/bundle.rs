//! Reading a CA bundle with Go's leniency and its one trap.

use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use x509_cert::der::pem::{LineEnding, encode_string};

use crate::VerifyError;

/// Every certificate of the text. As Go's `AppendCertsFromPEM`, text between blocks, blocks of other kinds and broken
/// blocks are passed over.
pub(crate) fn certificates(pem: &str) -> Result<Vec<CertificateDer<'static>>, VerifyError> {
    if pem.lines().any(|line| line.contains("-----END ") && line.contains("-----BEGIN ")) {
        return Err(VerifyError::JoinedBundle);
    }
    let certificates: Vec<_> = CertificateDer::pem_slice_iter(pem.as_bytes()).flatten().collect();
    if certificates.is_empty() { Err(VerifyError::EmptyBundle) } else { Ok(certificates) }
}

/// One certificate in PEM, ending in a line break.
pub(crate) fn pem(certificate: &CertificateDer<'_>) -> String {
    encode_string("CERTIFICATE", LineEnding::LF, certificate).unwrap_or_default()
}
