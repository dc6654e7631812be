//! Verification of client certificates.

use std::sync::Arc;

use arc_swap::ArcSwap;
use rustls::crypto::aws_lc_rs;
use rustls::server::WebPkiClientVerifier;
use rustls::server::danger::ClientCertVerifier;
use rustls::{CertificateError, Error, RootCertStore};
use rustls_pki_types::{CertificateDer, UnixTime};
use x509_cert::Certificate;
use x509_cert::der::Decode;
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::ext::pkix::{BasicConstraints, SubjectAltName};

use super::CredentialError;

/// The CAs of client certificates, and the names that may call. The CAs can be replaced at any time; requests on open connections
/// are then judged by the new ones.
pub struct ClientAuthorities {
    verifier: ArcSwap<Verifier>,
    names: Vec<String>,
}

/// Why certificates cannot be used as CAs of clients.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClientAuthoritiesError {
    /// No certificate was given.
    #[error("no certificate was given")]
    Empty,
    /// A certificate cannot be parsed.
    #[error("certificate {number} cannot be read: {why}")]
    Unreadable {
        /// Its position, from 1.
        number: usize,
        /// The reason, in a few words.
        why: String,
    },
    /// A certificate is not a CA's; most often it is the client's own.
    #[error(
        "certificate {number} is not a CA certificate: give the one that signed the client's certificate"
    )]
    NoAuthority {
        /// Its position, from 1.
        number: usize,
    },
}

pub(super) struct Verifier(Arc<dyn ClientCertVerifier>);

impl ClientAuthorities {
    /// Accepts certificates that one of `authorities` signed, directly or through intermediates.
    ///
    /// With `names`, one of these must be the certificate's common name or one of its DNS names and URIs, compared byte by byte.
    /// Without names, every client of these CAs may call.
    ///
    /// # Errors
    /// No certificate was given, or one of them is not a CA's.
    pub fn new(
        authorities: &[CertificateDer<'_>],
        names: Vec<String>,
    ) -> Result<Self, ClientAuthoritiesError> {
        Ok(Self { verifier: ArcSwap::from_pointee(Verifier::new(authorities)?), names })
    }

    /// Accepts certificates of `authorities` from now on, and of no other CA.
    ///
    /// # Errors
    /// As in [`ClientAuthorities::new`]; the previous CAs are then kept.
    pub fn replace(&self, authorities: &[CertificateDer<'_>]) -> Result<(), ClientAuthoritiesError> {
        self.verifier.store(Arc::new(Verifier::new(authorities)?));
        Ok(())
    }

    pub(super) fn verifier(&self) -> Arc<Verifier> {
        self.verifier.load_full()
    }

    /// Whether `chain`, which begins with the leaf, is valid at `now`.
    pub(super) fn judge(
        &self,
        verifier: &Verifier,
        chain: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<(), CredentialError> {
        let (leaf, intermediates) = chain.split_first().ok_or(CredentialError::Unreadable)?;
        verifier.0.verify_client_cert(leaf, intermediates, now).map_err(|error| credential_error(&error))?;
        let may_call = self.names.is_empty() || names(leaf).iter().any(|name| self.names.contains(name));
        may_call.then_some(()).ok_or(CredentialError::Name)
    }
}

impl Verifier {
    fn new(authorities: &[CertificateDer<'_>]) -> Result<Self, ClientAuthoritiesError> {
        let mut roots = RootCertStore::empty();
        for (certificate, number) in authorities.iter().zip(1..) {
            let unreadable = |why: String| ClientAuthoritiesError::Unreadable { number, why };
            let read = Certificate::from_der(certificate).map_err(|error| unreadable(error.to_string()))?;
            if !is_ca(&read) {
                return Err(ClientAuthoritiesError::NoAuthority { number });
            }
            roots.add(certificate.clone().into_owned()).map_err(|error| unreadable(error.to_string()))?;
        }
        let provider = Arc::new(aws_lc_rs::default_provider());
        let verifier = WebPkiClientVerifier::builder_with_provider(Arc::new(roots), provider).build();
        Ok(Self(verifier.map_err(|_| ClientAuthoritiesError::Empty)?))
    }
}

/// A certificate of version 1 has no extension that says so, and counts as a CA.
fn is_ca(certificate: &Certificate) -> bool {
    let certificate = certificate.tbs_certificate();
    let constraints = certificate.get_extension::<BasicConstraints>();
    certificate.extensions().is_none()
        || constraints.is_ok_and(|found| found.is_some_and(|(_, found)| found.ca))
}

fn credential_error(error: &Error) -> CredentialError {
    let Error::InvalidCertificate(error) = error else {
        return CredentialError::Unreadable;
    };
    match error {
        CertificateError::Expired | CertificateError::ExpiredContext { .. } => CredentialError::Expired,
        CertificateError::NotValidYet | CertificateError::NotValidYetContext { .. } => {
            CredentialError::NotYetValid
        }
        CertificateError::InvalidPurpose | CertificateError::InvalidPurposeContext { .. } => {
            CredentialError::Purpose
        }
        CertificateError::BadEncoding => CredentialError::Unreadable,
        // Any other defect: no given CA has signed the chain.
        _ => CredentialError::UnknownAuthority,
    }
}

/// The names in a verified certificate.
fn names(leaf: &CertificateDer<'_>) -> Vec<String> {
    let Ok(certificate) = Certificate::from_der(leaf) else { return Vec::new() };
    let certificate = certificate.tbs_certificate();
    let common = certificate.subject().common_name().ok().flatten();
    let alternatives = certificate.get_extension::<SubjectAltName>().ok().flatten();
    let alternatives =
        alternatives.into_iter().flat_map(|(_, names)| names.0).filter_map(|name| match name {
            GeneralName::DnsName(name) | GeneralName::UniformResourceIdentifier(name) => {
                Some(name.as_str().to_owned())
            }
            _ => None,
        });
    common.map(|name| name.value().into_owned()).into_iter().chain(alternatives).collect()
}
