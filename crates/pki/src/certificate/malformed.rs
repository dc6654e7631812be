//! Defects for which Go's parser refuses a certificate that webpki and x509-cert read.

use x509_cert::der::asn1::Any;
use x509_cert::der::oid::ObjectIdentifier;
use x509_cert::der::{Tag, Tagged};
use x509_cert::ext::pkix::{BasicConstraints, ExtendedKeyUsage, KeyUsage, SubjectKeyIdentifier};
use x509_cert::name::Name;

use super::Certificate;

/// Subject and authority key identifier, and authority information access.
const NEVER_CRITICAL: [ObjectIdentifier; 3] = [
    ObjectIdentifier::new_unwrap("2.5.29.14"),
    ObjectIdentifier::new_unwrap("2.5.29.35"),
    ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.1.1"),
];

impl Certificate {
    /// The first defect, as the predicate of a sentence. (`parseCertificate` in Go's `crypto/x509/parser.go`; certificates with these
    /// defects are made by other programs.)
    pub(crate) fn malformation(&self) -> Option<&'static str> {
        let fields = self.0.tbs_certificate();
        let extensions = fields.extensions().map(Vec::as_slice).unwrap_or_default();
        let is_repeated = |(position, oid): (usize, &ObjectIdentifier)| {
            extensions.iter().skip(position + 1).any(|later| later.extn_id == *oid)
        };
        if fields.serial_number().as_bytes().first().is_some_and(|first| first & 0x80 != 0) {
            return Some("has a negative serial number (API servers before Kubernetes 1.32 read it)");
        }
        if extensions.iter().map(|extension| &extension.extn_id).enumerate().any(is_repeated) {
            return Some("has an extension twice");
        }
        if extensions.iter().any(|found| found.critical && NEVER_CRITICAL.contains(&found.extn_id)) {
            return Some("has a critical extension that must not be critical");
        }
        let are_readable = fields.get_extension::<BasicConstraints>().is_ok()
            && fields.get_extension::<KeyUsage>().is_ok()
            && fields.get_extension::<ExtendedKeyUsage>().is_ok()
            && fields.get_extension::<SubjectKeyIdentifier>().is_ok();
        if !are_readable {
            return Some("has an extension with a value of another form than its type");
        }
        let names = [fields.subject(), fields.issuer()];
        names
            .into_iter()
            .any(has_wrong_characters)
            .then_some("has a name with characters that its type of string excludes")
    }
}

fn has_wrong_characters(name: &Name) -> bool {
    name.iter().any(|attribute| !is_readable(&attribute.value))
}

fn is_readable(value: &Any) -> bool {
    // As Go, which lets `*` and `&` pass although X.680 excludes them.
    let is_printable = |byte: &u8| byte.is_ascii_alphanumeric() || b" '()+,-./:=?*&".contains(byte);
    match value.tag() {
        Tag::PrintableString => value.value().iter().all(is_printable),
        Tag::Utf8String => std::str::from_utf8(value.value()).is_ok(),
        _ => true,
    }
}
