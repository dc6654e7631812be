//! Verifies a chain as kube-apiserver does.

mod authority_as_leaf;

use rustls_pki_types::{CertificateDer, ServerName, TrustAnchor, UnixTime};
use webpki::{
    ALL_VERIFICATION_ALGS, EndEntityCert, Error, ExtendedKeyUsageValidator, KeyPurposeId, KeyPurposeIdIter,
    VerifiedPath, anchor_from_trusted_cert,
};

use crate::certificate::{ANY_USAGE, Certificate, SERVER_AUTH};
use crate::{VerifyError, bundle};

/// Checks a chain as kube-apiserver's TLS client (Go's `crypto/x509`) does when all it knows is the `caBundle`: dates
/// of every certificate including the root, signatures, path length, usage, and each of the names, which must be among
/// the subject alternative names.
///
/// The bundle may hold several certificates and text between them. A leaf that is itself in the bundle needs no signer, and a leaf
/// may be a CA, as `openssl req -x509` makes it.
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
    let (first, intermediates) = chain.split_first().ok_or(VerifyError::EmptyChain)?;
    check_form(chain)?;
    let unreadable = VerifyError::Unreadable { position: 1 };
    let leaf = EndEntityCert::try_from(first).map_err(|_| unreadable.clone())?;
    if bundle.iter().any(|trusted| trusted == first) {
        Certificate::read(first).ok_or(unreadable)?.check_leaf(now)?;
    } else {
        verify_signers(&bundle, &leaf, first, intermediates, now)?;
    }
    names.iter().try_for_each(|name| check_name(&leaf, name.as_ref()))
}

/// Go reads every certificate that a server presents, also those that no path needs, before it verifies any.
fn check_form(chain: &[CertificateDer<'_>]) -> Result<(), VerifyError> {
    let problem = |der| Certificate::read(der).and_then(|certificate| certificate.malformation());
    let mut problems = chain.iter().map(problem).zip(1..);
    let found = problems.find_map(|(problem, position)| Some((problem?, position)));
    found.map_or(Ok(()), |(problem, position)| Err(VerifyError::Malformed { position, problem }))
}

fn verify_signers(
    bundle: &[CertificateDer<'_>],
    leaf: &EndEntityCert<'_>,
    first: &CertificateDer<'_>,
    intermediates: &[CertificateDer<'_>],
    now: UnixTime,
) -> Result<(), VerifyError> {
    let roots = Roots::of(bundle, now)?;
    let check_path = |path: &VerifiedPath<'_>| roots.check_path(path);
    let verified = leaf.verify_for_usage(
        ALL_VERIFICATION_ALGS,
        &roots.anchors,
        intermediates,
        now,
        ForServers,
        None,
        Some(&check_path),
    );
    match verified {
        Ok(_) => Ok(()),
        // webpki refuses every leaf that is a CA, and Go does not care.
        Err(Error::CaUsedAsEndEntity) => authority_as_leaf::verify(bundle, first, intermediates, now)
            .map_err(|error| match error {
                VerifyError::UnknownAuthority => roots.left_out.clone().unwrap_or(error),
                error => error,
            }),
        Err(error) => Err(roots.explain(error)),
    }
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
            let certificate = Certificate::read(der).filter(|read| read.malformation().is_none());
            let (Some(certificate), Ok(anchor)) = (certificate, anchor_from_trusted_cert(der)) else {
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

    /// webpki counts CAs against the limits of intermediates, not against the root's, and reads no key usage.
    fn check_path(&self, path: &VerifiedPath<'_>) -> Result<(), Error> {
        let used = path.anchor();
        let signs = |der| Certificate::read(&der).is_none_or(|certificate| certificate.signs());
        if !path.intermediate_certificates().all(|intermediate| signs(intermediate.der())) {
            return Err(Error::EndEntityUsedAsCa);
        }
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
            // A root of the right name with another kind of key did not sign either.
            Error::UnknownIssuer
            | Error::InvalidSignatureForPublicKey
            | Error::UnsupportedSignatureAlgorithmForPublicKeyContext(_) => {
                self.left_out.clone().unwrap_or(VerifyError::UnknownAuthority)
            }
            Error::UnsupportedSignatureAlgorithmContext(_) => VerifyError::SignatureAlgorithm,
            Error::PathLenConstraintViolated => VerifyError::PathLength,
            Error::EndEntityUsedAsCa => VerifyError::IntermediateNotAnAuthority,
            Error::RequiredEkuNotFoundContext(_) | Error::EmptyEkuExtension => VerifyError::Usage,
            other => VerifyError::Other(other.to_string()),
        }
    }
}

/// As in Go, a certificate for any usage is for servers too.
struct ForServers;

impl ExtendedKeyUsageValidator for ForServers {
    fn validate(&self, usages: KeyPurposeIdIter<'_, '_>) -> Result<(), Error> {
        let accepted = [SERVER_AUTH, ANY_USAGE];
        let usages = usages.collect::<Result<Vec<_>, _>>()?;
        let is_accepted = |usage: &KeyPurposeId<'_>| {
            accepted.iter().any(|accepted| KeyPurposeId::new(accepted.as_bytes()) == *usage)
        };
        // There is no usage where the extension is absent.
        if usages.is_empty() || usages.iter().any(is_accepted) {
            Ok(())
        } else {
            Err(Error::EmptyEkuExtension)
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
