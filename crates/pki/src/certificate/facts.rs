//! The fields of a certificate, for display.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use rustls_pki_types::{CertificateDer, UnixTime};
use x509_cert::der::oid::ObjectIdentifier;
use x509_cert::ext::pkix::name::GeneralName;
use x509_cert::ext::pkix::{BasicConstraints, SubjectAltName};

use super::Certificate;

/// The fields of a certificate, for display. None is verified.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CertificateFacts {
    /// As RFC 4514 writes names: `CN=example CA,O=example`.
    pub subject: String,
    /// The issuer that the certificate names.
    pub issuer: String,
    /// The first second of its validity.
    pub not_before: UnixTime,
    /// The last second of its validity.
    pub not_after: UnixTime,
    /// DNS names and IP addresses, in its order.
    pub names: Vec<String>,
    /// The domains that a CA is confined to; none if it may sign for all.
    pub permitted_domains: Vec<String>,
    /// Whether it may sign others, by its basic constraints.
    pub is_authority: bool,
    /// `ECDSA P-256`, `RSA` and so on; the number of an algorithm that is not known here.
    pub key_algorithm: String,
    /// In hexadecimal digits.
    pub serial: String,
}

/// Reads a certificate. [`None`] if these bytes are none.
///
/// ```
/// # use std::time::Duration;
/// # use rustls_pki_types::UnixTime;
/// # let now = UnixTime::since_unix_epoch(Duration::from_secs(1_800_000_000));
/// let authority = vestibule_pki::Authority::new("example CA", now, Duration::from_secs(3600))?;
/// let leaf = authority.issue(&["hooks.demo.svc"], now, Duration::from_secs(60))?;
/// let facts = vestibule_pki::describe(&leaf.chain[0]).ok_or("no certificate")?;
/// assert_eq!((facts.issuer.as_str(), facts.key_algorithm.as_str()), ("CN=example CA", "ECDSA P-256"));
/// assert_eq!((facts.names, facts.is_authority), (vec!["hooks.demo.svc".to_owned()], false));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[must_use]
pub fn describe(der: &CertificateDer<'_>) -> Option<CertificateFacts> {
    let certificate = Certificate::read(der)?;
    let fields = certificate.0.tbs_certificate();
    let constraints = fields.get_extension::<BasicConstraints>().ok().flatten();
    let serial = fields.serial_number().as_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
    Some(CertificateFacts {
        subject: fields.subject().to_string(),
        issuer: fields.issuer().to_string(),
        not_before: certificate.not_before(),
        not_after: certificate.not_after(),
        names: certificate.names(),
        permitted_domains: certificate.domains(),
        is_authority: constraints.is_some_and(|(_, constraints)| constraints.ca),
        key_algorithm: certificate.key_algorithm(),
        serial,
    })
}

impl Certificate {
    /// DNS names and IP addresses among the subject alternative names.
    pub(crate) fn names(&self) -> Vec<String> {
        let found = self.0.tbs_certificate().get_extension::<SubjectAltName>().ok().flatten();
        let names = found.map(|(_, names)| names.0).unwrap_or_default();
        names.iter().filter_map(text_of).collect()
    }

    fn key_algorithm(&self) -> String {
        const EC: ObjectIdentifier = ObjectIdentifier::new_unwrap("1.2.840.10045.2.1");
        let algorithm = &self.0.tbs_certificate().subject_public_key_info().algorithm;
        let curve = || algorithm.parameters.as_ref()?.decode_as::<ObjectIdentifier>().ok();
        let number = if algorithm.oid == EC { curve().unwrap_or(EC) } else { algorithm.oid };
        match number.to_string().as_str() {
            "1.2.840.10045.3.1.7" => "ECDSA P-256".to_owned(),
            "1.3.132.0.34" => "ECDSA P-384".to_owned(),
            "1.3.132.0.35" => "ECDSA P-521".to_owned(),
            "1.2.840.113549.1.1.1" => "RSA".to_owned(),
            "1.3.101.112" => "Ed25519".to_owned(),
            number => number.to_owned(),
        }
    }
}

fn text_of(name: &GeneralName) -> Option<String> {
    match name {
        GeneralName::DnsName(name) => Some(name.to_string()),
        GeneralName::IpAddress(bytes) => {
            let bytes = bytes.as_bytes();
            let v4 = <[u8; 4]>::try_from(bytes).map(|bytes| IpAddr::V4(Ipv4Addr::from(bytes)));
            let v6 = <[u8; 16]>::try_from(bytes).map(|bytes| IpAddr::V6(Ipv6Addr::from(bytes)));
            v4.or(v6).ok().map(|address| address.to_string())
        }
        _ => None,
    }
}
