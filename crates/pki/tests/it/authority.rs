use vestibule_pki::{Authority, AuthorityError, VerifyError, verify};
use x509_cert::Certificate;
use x509_cert::der::Decode;
use x509_cert::der::oid::ObjectIdentifier;
use x509_cert::ext::pkix::{
    AuthorityKeyIdentifier, BasicConstraints, ExtendedKeyUsage, SubjectAltName, SubjectKeyIdentifier,
};

use crate::{DAY, HOUR, NAMES, authority, later, now};

#[test]
fn a_leaf_has_the_form_that_clients_ask_for() {
    let leaf = authority().issue(&NAMES, now(), DAY * 365).unwrap();
    let parsed = Certificate::from_der(&leaf.chain[0]).unwrap();
    let certificate = parsed.tbs_certificate();

    let (_, usages) = certificate.get_extension::<ExtendedKeyUsage>().unwrap().unwrap();
    assert_eq!(usages.0, [ObjectIdentifier::new_unwrap("1.3.6.1.5.5.7.3.1")]);
    let (_, constraints) = certificate.get_extension::<BasicConstraints>().unwrap().unwrap();
    assert!(!constraints.ca);
    let (_, names) = certificate.get_extension::<SubjectAltName>().unwrap().unwrap();
    assert_eq!(names.0.len(), NAMES.len());
    assert!(certificate.get_extension::<SubjectKeyIdentifier>().unwrap().is_some());
    let curve = certificate.subject_public_key_info().algorithm.parameters.as_ref().unwrap();
    let p256 = ObjectIdentifier::new_unwrap("1.2.840.10045.3.1.7");
    assert_eq!(curve.decode_as::<ObjectIdentifier>().unwrap(), p256);
    assert!(leaf.not_before.as_secs() + 300 <= now().as_secs());
    assert_eq!(certificate.validity().not_before.to_unix_duration().as_secs(), leaf.not_before.as_secs());
    assert_eq!(certificate.validity().not_after.to_unix_duration().as_secs(), leaf.not_after.as_secs());
}

#[test]
fn a_leaf_points_at_its_authority_by_key() {
    let authority = authority();
    for authority in
        [&authority, &Authority::from_pem(authority.certificate_pem(), &authority.key_pem()).unwrap()]
    {
        let leaf = authority.issue(&NAMES, now(), DAY).unwrap();
        let leaf = Certificate::from_der(&leaf.chain[0]).unwrap();
        let root = authority.certificate_pem();
        let root = x509_cert_of(root);
        let (_, issuer) = leaf.tbs_certificate().get_extension::<AuthorityKeyIdentifier>().unwrap().unwrap();
        let (_, subject) = root.tbs_certificate().get_extension::<SubjectKeyIdentifier>().unwrap().unwrap();
        assert_eq!(issuer.key_identifier.unwrap(), subject.0);
        assert_eq!(leaf.tbs_certificate().issuer(), root.tbs_certificate().subject());
    }
}

#[test]
fn serial_numbers_and_keys_are_new_every_time() {
    let authority = authority();
    let serial = |_| {
        let leaf = authority.issue(&NAMES, now(), DAY).unwrap();
        Certificate::from_der(&leaf.chain[0]).unwrap().tbs_certificate().serial_number().to_string()
    };
    let serials: std::collections::HashSet<_> = (0..50).map(serial).collect();
    assert_eq!(serials.len(), 50);
}

#[test]
fn an_authority_survives_being_written_down() {
    let written = authority();
    let read = Authority::from_pem(written.certificate_pem(), &written.key_pem()).unwrap();
    assert_eq!(read.certificate_pem(), written.certificate_pem());
    assert_eq!(read.not_after(), written.not_after());
    let leaf = read.issue(&NAMES, now(), DAY).unwrap();
    assert_eq!(verify(written.certificate_pem(), &leaf.chain, &NAMES, now()), Ok(()));
}

#[test]
fn an_authority_of_another_tool_can_sign() {
    let key = rcgen::KeyPair::generate_for(&rcgen::PKCS_ECDSA_P384_SHA384).unwrap();
    let mut params = rcgen::CertificateParams::default();
    params.is_ca = rcgen::IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    params.key_identifier_method = rcgen::KeyIdMethod::PreSpecified(b"of another method".to_vec());
    params.distinguished_name = rcgen::DistinguishedName::new();
    params
        .distinguished_name
        .push(rcgen::DnType::CountryName, rcgen::DnValue::PrintableString("CH".try_into().unwrap()));
    params.distinguished_name.push(rcgen::DnType::OrganizationName, "Größe & Söhne");
    let certificate = params.self_signed(&key).unwrap().pem();
    let authority = Authority::from_pem(&certificate, &key.serialize_pem()).unwrap();
    let leaf = authority.issue(&NAMES, now(), DAY).unwrap();
    assert_eq!(verify(&certificate, &leaf.chain, &NAMES, now()), Ok(()));
    let leaf = Certificate::from_der(&leaf.chain[0]).unwrap();
    let (_, issuer) = leaf.tbs_certificate().get_extension::<AuthorityKeyIdentifier>().unwrap().unwrap();
    assert_eq!(issuer.key_identifier.unwrap().as_bytes(), b"of another method");
}

/// rcgen writes one attribute of each kind, so the leaf would name another issuer than this CA.
#[test]
fn an_authority_with_two_organizational_units_is_refused() {
    let key = rcgen::KeyPair::generate().unwrap();
    let mut params = rcgen::CertificateParams::default();
    params.distinguished_name.push(rcgen::DnType::OrganizationalUnitName, "one");
    params.distinguished_name.push(rcgen::DnType::CustomDnType(vec![2, 5, 4, 12]), "other");
    let mut der = params.self_signed(&key).unwrap().der().to_vec();
    // The title (2.5.4.12) becomes the second organizational unit (2.5.4.11), in the issuer and in the subject.
    while let Some(title) = der.windows(5).position(|bytes| bytes == [6, 3, 85, 4, 12]) {
        der[title + 4] = 11;
    }
    let certificate = vestibule_pki::Bundle::pem(&[der.into()]);
    let error = Authority::from_pem(&certificate, &key.serialize_pem()).err();
    assert_eq!(error, Some(AuthorityError::Subject));
}

#[test]
fn a_key_of_another_authority_is_refused() {
    let (one, other) = (authority(), authority());
    let error = Authority::from_pem(one.certificate_pem(), &other.key_pem()).err();
    assert_eq!(error, Some(AuthorityError::Mismatch));
}

#[test]
fn text_that_is_no_authority_is_refused() {
    let authority = authority();
    let (certificate, key) = (authority.certificate_pem(), authority.key_pem());
    let two = format!("{certificate}{certificate}");
    assert_eq!(Authority::from_pem("", &key).err(), Some(AuthorityError::Certificate));
    assert_eq!(Authority::from_pem(&two, &key).err(), Some(AuthorityError::Certificate));
    assert_eq!(Authority::from_pem(certificate, "").err(), Some(AuthorityError::Key));
    assert_eq!(Authority::from_pem(certificate, certificate).err(), Some(AuthorityError::Key));
}

#[test]
fn a_leaf_ends_with_its_authority() {
    let authority = Authority::new("short", now(), HOUR).unwrap();
    let leaf = authority.issue(&NAMES, now(), DAY).unwrap();
    assert_eq!(leaf.not_after.as_secs(), authority.not_after().as_secs());
    let late = authority.issue(&NAMES, later(HOUR * 2), DAY).err();
    assert!(matches!(
        late,
        Some(AuthorityError::Verify(VerifyError::Expired { which: "CA certificate", .. }))
    ));
}

#[test]
fn names_must_be_names() {
    let authority = authority();
    let none: [&str; 0] = [];
    assert_eq!(authority.issue(&none, now(), DAY).err(), Some(AuthorityError::NoNames));
    for name in ["", "a b", "https://a", "a:443", "*.demo.svc", "größe"] {
        let expected = AuthorityError::Name { name: name.to_owned() };
        assert_eq!(authority.issue(&[name], now(), DAY).err(), Some(expected));
    }
}

#[test]
fn a_life_beyond_the_calendar_is_an_error() {
    let error = Authority::new("eternal", now(), DAY * 366 * 9000).err();
    assert_eq!(error, Some(AuthorityError::Time));
}

fn x509_cert_of(pem: &str) -> Certificate {
    use rustls_pki_types::pem::PemObject;
    Certificate::from_der(&rustls_pki_types::CertificateDer::from_pem_slice(pem.as_bytes()).unwrap()).unwrap()
}
