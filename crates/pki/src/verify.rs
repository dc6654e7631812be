//! Would kube-apiserver accept this certificate?

use rustls_pki_types::{CertificateDer, ServerName, TrustAnchor, UnixTime};
use webpki::{ALL_VERIFICATION_ALGS, EndEntityCert, Error, KeyUsage, VerifiedPath, anchor_from_trusted_cert};

use crate::certificate::Certificate;
use crate::{VerifyError, bundle};

/// Checks a chain as kube-apiserver's TLS client (Go's `crypto/x509`) does when all it knows is the `caBundle`: dates
/// of every certificate including the root, signatures, path length, usage, and each of the names, which must be among
/// the subject alternative names.
///
/// The bundle may hold several certificates and text between them. One check is stricter than Go's: a leaf that is itself
/// in the bundle is refused unless a CA of the bundle signed it.
///
/// # Errors
/// The first check that fails, in the order of a client.
pub fn verify(
    bundle: &str,
    chain: &[CertificateDer<'_>],
    names: &[impl AsRef<str>],
    now: UnixTime,
) -> Result<(), VerifyError> {
    let bundle = bundle::certificates(bundle)?;
    let roots = Roots::of(&bundle, now)?;
    let (leaf, intermediates) = chain.split_first().ok_or(VerifyError::EmptyChain)?;
    let leaf = EndEntityCert::try_from(leaf).map_err(|_| VerifyError::Unreadable { position: 1 })?;

    let check_path = |path: &VerifiedPath<'_>| roots.check_path(path);
    leaf.verify_for_usage(
        ALL_VERIFICATION_ALGS,
        &roots.anchors,
        intermediates,
        now,
        KeyUsage::server_auth(),
        None,
        Some(&check_path),
    )
    .map_err(|error| roots.explain(error))?;
    names.iter().try_for_each(|name| check_name(&leaf, name.as_ref()))
}

/// The certificates of the bundle that Go would take as a root now.
struct Roots<'a> {
    anchors: Vec<TrustAnchor<'a>>,
    path_lengths: Vec<Option<u8>>,
    /// Why the last one left out was left out: the best explanation when no root fits.
    left_out: Option<VerifyError>,
}

impl<'a> Roots<'a> {
    fn of(bundle: &'a [CertificateDer<'a>], now: UnixTime) -> Result<Self, VerifyError> {
        let mut roots = Self { anchors: Vec::new(), path_lengths: Vec::new(), left_out: None };
        for der in bundle {
            // As in Go, what cannot be read is passed over.
            let (Some(certificate), Ok(anchor)) = (Certificate::read(der), anchor_from_trusted_cert(der))
            else {
                continue;
            };
            match certificate.check_root(now) {
                Ok(()) => {
                    roots.anchors.push(anchor);
                    roots.path_lengths.push(certificate.path_length());
                }
                Err(error) => roots.left_out = Some(error),
            }
        }
        if roots.anchors.is_empty() {
            return Err(roots.left_out.unwrap_or(VerifyError::EmptyBundle));
        }
        Ok(roots)
    }

    /// webpki counts CAs against the limits of intermediates, not against the root's.
    fn check_path(&self, path: &VerifiedPath<'_>) -> Result<(), Error> {
        let used = path.anchor();
        let intermediates = path.intermediate_certificates().count();
        let fits = self.anchors.iter().zip(&self.path_lengths).any(|(anchor, limit)| {
            anchor == used && limit.is_none_or(|limit| intermediates <= usize::from(limit))
        });
        if fits { Ok(()) } else { Err(Error::PathLenConstraintViolated) }
    }

    fn explain(&self, error: Error) -> VerifyError {
        let which = "certificate";
        match error {
            Error::CertExpired { not_after, .. } => VerifyError::Expired { which, not_after },
            Error::CertNotValidYet { not_before, .. } => VerifyError::NotYetValid { which, not_before },
            Error::UnknownIssuer | Error::InvalidSignatureForPublicKey => {
                self.left_out.clone().unwrap_or(VerifyError::UnknownAuthority)
            }
            Error::PathLenConstraintViolated => VerifyError::PathLength,
            Error::RequiredEkuNotFoundContext(_) | Error::EmptyEkuExtension => VerifyError::Usage,
            other => VerifyError::Other(other.to_string()),
        }
    }
}

fn check_name(leaf: &EndEntityCert<'_>, name: &str) -> Result<(), VerifyError> {
    let wanted = ServerName::try_from(name).map_err(|_| VerifyError::BadName { name: name.to_owned() })?;
    leaf.verify_is_valid_for_subject_name(&wanted).map_err(|error| match error {
        Error::CertNotValidForName(context) => VerifyError::Name {
            name: name.to_owned(),
            presented: context.presented.iter().map(|name| name_of(name)).collect(),
        },
        other => VerifyError::Other(other.to_string()),
    })
}

/// webpki tells names as Rust would print its own types: `DnsName("a.b")`, `IpAddress(127.0.0.1)`.
fn name_of(name: &str) -> String {
    name.split_once('(').map_or(name, |(_, name)| name.trim_end_matches(')')).trim_matches('"').to_owned()
}
