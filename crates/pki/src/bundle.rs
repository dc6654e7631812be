//! Reads a CA bundle as Go does. Go passes over blocks that hold no certificate, and over two blocks without a line break between them.

use std::collections::BTreeMap;

use rustls_pki_types::CertificateDer;
use rustls_pki_types::pem::PemObject;
use x509_cert::der::pem::{LineEnding, encode_string};

use crate::VerifyError;
use crate::certificate::Certificate;
use crate::ring::CaId;

/// The kind of the PEM blocks of certificates.
const CERTIFICATE: &str = "CERTIFICATE";

/// No CA comes near; a larger one cannot be carried over into a Secret of 1 MiB.
const CERTIFICATE_LIMIT: usize = 16 * 1024;

/// A `caBundle` as a client reads it.
///
/// ```
/// # use vestibule_pki::{Bundle, VerifyError};
/// let empty = Bundle::read(b"\n");
/// assert_eq!(empty.problem, Some(VerifyError::EmptyBundle));
/// assert_eq!(Bundle::pem(empty.certificates.values()), "");
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Bundle {
    /// Each certificate once, under its name. Empty if Go would read none.
    pub certificates: BTreeMap<CaId, CertificateDer<'static>>,
    /// Blocks of PEM that hold no certificate, or one too large for any CA; clients pass over them.
    pub unreadable: usize,
    /// Why Go would read nothing of it. For an empty bundle, Go uses the system's roots.
    pub problem: Option<VerifyError>,
    /// Whether the bytes are exactly what [`pem`](Self::pem) writes.
    pub is_canonical: bool,
}

impl Bundle {
    /// Reads the bytes of a `caBundle`; no bytes are an error.
    #[must_use]
    pub fn read(pem: &[u8]) -> Self {
        let text = String::from_utf8_lossy(pem);
        let (found, mut problem) = match certificates(&text) {
            Ok(found) => (found, None),
            Err(problem) => (Vec::new(), Some(problem)),
        };
        let found: Vec<_> = found.into_iter().filter(fits).collect();
        if found.is_empty() {
            problem = problem.or(Some(VerifyError::EmptyBundle));
        }
        let unreadable = text.matches("-----BEGIN ").count().saturating_sub(found.len());
        let certificates = found.into_iter().map(|der| (CaId::of(&der), der)).collect::<BTreeMap<_, _>>();
        let is_canonical = Self::pem(certificates.values()).as_bytes() == pem;
        Self { certificates, unreadable, problem, is_canonical }
    }

    /// Certificates in PEM, in their order, each ending in a line break: joined ones are none to Go.
    #[must_use]
    pub fn pem<'a>(certificates: impl IntoIterator<Item = &'a CertificateDer<'a>>) -> String {
        certificates.into_iter().map(pem).collect()
    }
}

/// Whether a ring can carry it over.
pub(crate) fn fits(der: &CertificateDer<'_>) -> bool {
    der.len() <= CERTIFICATE_LIMIT && Certificate::read(der).is_some()
}

/// Every certificate of the text. As Go's `AppendCertsFromPEM`, text between blocks, blocks of other kinds and broken
/// blocks are passed over.
pub(crate) fn certificates(pem: &str) -> Result<Vec<CertificateDer<'static>>, VerifyError> {
    let mut certificates = Vec::new();
    // The kind of the block that has begun, and its base64 if it is a certificate: a key is not copied.
    let mut block: Option<(&str, String)> = None;
    for line in pem.split('\n').map(|line| line.trim_end_matches(['\r', ' ', '\t'])) {
        if let Some(kind) = line.strip_prefix("-----END ") {
            let ended = block
                .take()
                .filter(|(begun, _)| *begun == CERTIFICATE && kind.strip_suffix("-----") == Some(*begun));
            certificates.extend(ended.and_then(|(_, base64)| decode(&base64)));
        }
        if line.contains("-----BEGIN ") {
            // Go reads no block that begins within a line.
            let kind = line.strip_prefix("-----BEGIN ").and_then(|rest| rest.strip_suffix("-----"));
            block = kind.map(|kind| (kind, String::new()));
        } else if let Some((CERTIFICATE, base64)) = &mut block {
            base64.extend(line.chars().filter(|character| !matches!(character, ' ' | '\t')));
        }
    }
    match certificates.is_empty() {
        false => Ok(certificates),
        true if is_joined(pem) => Err(VerifyError::JoinedBundle),
        true => Err(VerifyError::EmptyBundle),
    }
}

/// Whether a block begins on the line where another ends; Go reads neither.
pub(crate) fn is_joined(pem: &str) -> bool {
    pem.lines().any(|line| line.starts_with("-----END ") && line.contains("-----BEGIN "))
}

fn decode(base64: &str) -> Option<CertificateDer<'static>> {
    let block = format!("-----BEGIN {CERTIFICATE}-----\n{base64}\n-----END {CERTIFICATE}-----\n");
    CertificateDer::from_pem_slice(block.as_bytes()).ok()
}

/// One certificate in PEM, ending in a line break.
pub(crate) fn pem(certificate: &CertificateDer<'_>) -> String {
    encode_string(CERTIFICATE, LineEnding::LF, certificate).unwrap_or_default()
}
