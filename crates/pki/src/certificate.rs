//! Reads the fields of a certificate that Go checks and webpki does not expose or check.

mod constraint;
mod facts;
mod malformed;

use rcgen::{DistinguishedName, DnType, DnValue};
use rustls_pki_types::{CertificateDer, SubjectPublicKeyInfoDer, UnixTime};
use webpki::{ALL_VERIFICATION_ALGS, RawPublicKeyEntity};
use x509_cert::Certificate as X509;
use x509_cert::certificate::Version;
use x509_cert::der::asn1::{AnyRef, Ia5StringRef, PrintableStringRef, Utf8StringRef};
use x509_cert::der::oid::ObjectIdentifier;
use x509_cert::der::{Decode, Encode};
use x509_cert::ext::pkix::{BasicConstraints, ExtendedKeyUsage, KeyUsage, SubjectKeyIdentifier};

pub use self::facts::{CertificateFacts, describe};
use crate::VerifyError;

pub(crate) const SERVER_AUTH: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.3.1");
pub(crate) const ANY_USAGE: ObjectIdentifier = ObjectIdentifier::new_unwrap("2.5.29.37.0");

pub(crate) struct Certificate(X509);

impl Certificate {
    pub(crate) fn read(der: &CertificateDer<'_>) -> Option<Self> {
        X509::from_der(der).ok().map(Self)
    }

    pub(crate) fn not_before(&self) -> UnixTime {
        UnixTime::since_unix_epoch(self.0.tbs_certificate().validity().not_before.to_unix_duration())
    }

    pub(crate) fn not_after(&self) -> UnixTime {
        UnixTime::since_unix_epoch(self.0.tbs_certificate().validity().not_after.to_unix_duration())
    }

    /// Whether Go takes it as the root of a server's chain now. (`x509.Certificate.isValid` and `CheckSignatureFrom`;
    /// webpki trusts an anchor without looking.)
    pub(crate) fn check_root(&self, now: UnixTime) -> Result<(), VerifyError> {
        self.check_dates("CA certificate", now)?;
        let certificate = self.0.tbs_certificate();
        let constraints = certificate.get_extension::<BasicConstraints>();
        let authority = constraints.is_ok_and(|found| match found {
            Some((_, constraints)) => constraints.ca,
            // Certificates of version 1 have no extensions; `openssl x509 -req -signkey` makes such CAs.
            None => certificate.version() == Version::V1,
        });
        if authority && self.signs() && self.is_for_servers() {
            Ok(())
        } else {
            Err(VerifyError::NotAnAuthority)
        }
    }

    /// Go checks the dates and the usage of a leaf that is in the bundle itself, and nothing else.
    pub(crate) fn check_leaf(&self, now: UnixTime) -> Result<(), VerifyError> {
        self.check_dates("certificate", now)?;
        if self.is_for_servers() { Ok(()) } else { Err(VerifyError::Usage) }
    }

    fn check_dates(&self, which: &'static str, now: UnixTime) -> Result<(), VerifyError> {
        let (not_before, not_after) = (self.not_before(), self.not_after());
        if now < not_before {
            return Err(VerifyError::NotYetValid { which, not_before });
        }
        if now > not_after { Err(VerifyError::Expired { which, not_after }) } else { Ok(()) }
    }

    /// Whether its key usage lets it sign certificates.
    pub(crate) fn signs(&self) -> bool {
        let found = self.0.tbs_certificate().get_extension::<KeyUsage>();
        found.is_ok_and(|found| found.is_none_or(|(_, usage)| usage.key_cert_sign()))
    }

    fn is_for_servers(&self) -> bool {
        let found = self.0.tbs_certificate().get_extension::<ExtendedKeyUsage>();
        found.is_ok_and(|found| {
            found.is_none_or(|(_, ExtendedKeyUsage(usages))| {
                usages.contains(&SERVER_AUTH) || usages.contains(&ANY_USAGE)
            })
        })
    }

    pub(crate) fn names_as_issuer(&self, signer: &Self) -> bool {
        self.0.tbs_certificate().issuer() == signer.0.tbs_certificate().subject()
    }

    /// Whether the signer has the issuer's name, and its key made the signature.
    pub(crate) fn is_signed_by(&self, signer: &Self) -> bool {
        self.names_as_issuer(signer) && self.signature_fits(signer).is_some_and(|fits| fits)
    }

    fn signature_fits(&self, signer: &Self) -> Option<bool> {
        let signed = self.0.tbs_certificate().to_der().ok()?;
        let algorithm = self.0.signature_algorithm().to_der().ok()?;
        let algorithm = AnyRef::from_der(&algorithm).ok()?;
        let key = SubjectPublicKeyInfoDer::from(signer.public_key()?);
        let key = RawPublicKeyEntity::try_from(&key).ok()?;
        let signature = self.0.signature().as_bytes()?;
        let mut algorithms = ALL_VERIFICATION_ALGS
            .iter()
            .filter(|candidate| candidate.signature_alg_id().as_ref() == algorithm.value());
        Some(algorithms.any(|candidate| key.verify_signature(*candidate, &signed, signature).is_ok()))
    }

    /// How many CAs may stand between it and the leaf; no limit if absent.
    pub(crate) fn path_length(&self) -> Option<u8> {
        let constraints = self.0.tbs_certificate().get_extension::<BasicConstraints>().ok()??;
        constraints.1.path_len_constraint
    }

    pub(crate) fn public_key(&self) -> Option<Vec<u8>> {
        self.0.tbs_certificate().subject_public_key_info().to_der().ok()
    }

    pub(crate) fn key_identifier(&self) -> Option<Vec<u8>> {
        let (_, identifier) = self.0.tbs_certificate().get_extension::<SubjectKeyIdentifier>().ok()??;
        Some(identifier.0.into_bytes().into_vec())
    }

    pub(crate) fn subject(&self) -> Option<Vec<u8>> {
        self.0.tbs_certificate().subject().to_der().ok()
    }

    /// The subject for rcgen to write as an issuer. The caller compares the outcome: not every name survives.
    pub(crate) fn distinguished_name(&self) -> Option<DistinguishedName> {
        let mut name = DistinguishedName::new();
        for attribute in self.0.tbs_certificate().subject().iter() {
            let arcs: Vec<u64> = attribute.oid.arcs().map(u64::from).collect();
            let value = &attribute.value;
            let value = if let Ok(text) = value.decode_as::<Utf8StringRef<'_>>() {
                DnValue::Utf8String(text.as_str().to_owned())
            } else if let Ok(text) = value.decode_as::<PrintableStringRef<'_>>() {
                DnValue::PrintableString(text.as_str().try_into().ok()?)
            } else {
                DnValue::Ia5String(value.decode_as::<Ia5StringRef<'_>>().ok()?.as_str().try_into().ok()?)
            };
            name.push(DnType::from_oid(&arcs), value);
        }
        Some(name)
    }
}
