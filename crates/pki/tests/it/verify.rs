use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, CustomExtension, ExtendedKeyUsagePurpose,
    GeneralSubtree, IsCa, KeyPair, KeyUsagePurpose, NameConstraints, date_time_ymd,
};
use rustls_pki_types::CertificateDer;
use vestibule_pki::{Bundle, VerifyError, verify};

use crate::{DAY, HOUR, NAMES, authority, later, now};

type Root = CertifiedIssuer<'static, KeyPair>;

fn root(change: impl FnOnce(&mut CertificateParams)) -> Root {
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    change(&mut params);
    CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap()
}

fn leaf(root: &Root, change: impl FnOnce(&mut CertificateParams)) -> Vec<CertificateDer<'static>> {
    let mut params = CertificateParams::new(NAMES.map(str::to_owned)).unwrap();
    change(&mut params);
    vec![params.signed_by(&KeyPair::generate().unwrap(), root).unwrap().der().clone()]
}

#[test]
fn several_certificates_and_text_make_a_bundle() {
    let (one, other) = (authority(), authority());
    let leaf = one.issue(&NAMES, now(), DAY).unwrap();
    let bundle = format!(
        "# first\n{}some words\n-----BEGIN CERTIFICATE-----\n%%%\n-----END CERTIFICATE-----\n{}",
        other.certificate_pem(),
        one.certificate_pem()
    );
    assert_eq!(verify(&bundle, &leaf.chain, &NAMES, now()), Ok(()));
    let unknown = verify(other.certificate_pem(), &leaf.chain, &NAMES, now());
    assert_eq!(unknown, Err(VerifyError::UnknownAuthority));
}

#[test]
fn a_bundle_without_a_certificate_is_an_error() {
    let authority = authority();
    let leaf = authority.issue(&NAMES, now(), DAY).unwrap();
    for bundle in ["", "\n", "words", &*authority.key_pem()] {
        assert_eq!(verify(bundle, &leaf.chain, &NAMES, now()), Err(VerifyError::EmptyBundle));
    }
    // Go reads nothing at all from this; so it must not pass for one readable certificate.
    let joined = authority.certificate_pem().trim_end().repeat(2);
    assert_eq!(verify(&joined, &leaf.chain, &NAMES, now()), Err(VerifyError::JoinedBundle));
}

#[test]
fn dates_of_leaf_and_root_count() {
    let good = root(|_| {});
    let expired = leaf(&good, |params| params.not_after = date_time_ymd(2000, 1, 1));
    assert!(matches!(
        verify(&good.pem(), &expired, &NAMES, now()),
        Err(VerifyError::Expired { which: "certificate", .. })
    ));
    let early = leaf(&good, |params| params.not_before = date_time_ymd(3000, 1, 1));
    assert!(matches!(
        verify(&good.pem(), &early, &NAMES, now()),
        Err(VerifyError::NotYetValid { which: "certificate", .. })
    ));
    // webpki alone would accept both of these.
    let old = root(|params| params.not_after = date_time_ymd(2000, 1, 1));
    let error = verify(&old.pem(), &leaf(&old, |_| {}), &NAMES, now()).unwrap_err();
    assert_eq!(error.to_string(), "the CA certificate expired at 2000-01-01T00:00:00Z");
    let young = root(|params| params.not_before = date_time_ymd(3000, 1, 1));
    assert!(matches!(
        verify(&young.pem(), &leaf(&young, |_| {}), &NAMES, now()),
        Err(VerifyError::NotYetValid { which: "CA certificate", .. })
    ));
    // Beside a good root, the expired one is still the explanation.
    let bundle = format!("{}{}", good.pem(), old.pem());
    assert!(matches!(
        verify(&bundle, &leaf(&old, |_| {}), &NAMES, now()),
        Err(VerifyError::Expired { which: "CA certificate", .. })
    ));
}

#[test]
fn a_root_must_be_allowed_to_sign_for_servers() {
    let roots = [
        root(|params| params.is_ca = IsCa::NoCa),
        root(|params| params.key_usages = vec![KeyUsagePurpose::DigitalSignature]),
        root(|params| params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth]),
    ];
    for root in roots {
        let chain = leaf(&root, |_| {});
        assert_eq!(verify(&root.pem(), &chain, &NAMES, now()), Err(VerifyError::NotAnAuthority));
    }
    let any = root(|params| params.extended_key_usages = vec![ExtendedKeyUsagePurpose::Any]);
    assert_eq!(verify(&any.pem(), &leaf(&any, |_| {}), &NAMES, now()), Ok(()));
}

#[test]
fn a_leaf_is_for_servers_or_says_nothing() {
    let root = root(|_| {});
    assert_eq!(verify(&root.pem(), &leaf(&root, |_| {}), &NAMES, now()), Ok(()));
    let client = leaf(&root, |params| params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth]);
    assert_eq!(verify(&root.pem(), &client, &NAMES, now()), Err(VerifyError::Usage));
}

#[test]
fn only_subject_alternative_names_count() {
    let root = root(|_| {});
    let legacy = leaf(&root, |params| {
        params.subject_alt_names.clear();
        params.distinguished_name.push(rcgen::DnType::CommonName, "hooks.demo.svc");
    });
    let error = verify(&root.pem(), &legacy, &["hooks.demo.svc"], now()).unwrap_err();
    assert!(matches!(error, VerifyError::Name { .. }), "{error}");
    let chain = leaf(&root, |_| {});
    for wrong in ["other.demo.svc", "hooks.demo.svc.cluster.local", "127.0.0.2"] {
        let error = verify(&root.pem(), &chain, &[wrong], now()).unwrap_err();
        let words = format!(
            "the certificate is not valid for `{wrong}`; it names hooks.demo.svc, localhost, 127.0.0.1, "
        );
        assert!(error.to_string().starts_with(&words), "{error}");
    }
    let bad = VerifyError::BadName { name: "not a name".to_owned() };
    assert_eq!(verify(&root.pem(), &chain, &["not a name"], now()), Err(bad));
}

#[test]
fn an_intermediate_links_leaf_and_root_within_the_roots_path_length() {
    for (limit, expected) in [(1, Ok(())), (0, Err(VerifyError::PathLength))] {
        let root = root(|params| params.is_ca = IsCa::Ca(BasicConstraints::Constrained(limit)));
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.distinguished_name.push(rcgen::DnType::CommonName, "between");
        let between = CertifiedIssuer::signed_by(params, KeyPair::generate().unwrap(), &root).unwrap();
        let mut chain = leaf(&between, |_| {});
        chain.push(between.der().clone());
        assert_eq!(verify(&root.pem(), &chain, &NAMES, now()), expected);
    }
}

#[test]
fn a_chain_must_be_certificates() {
    let authority = authority();
    let none: [CertificateDer<'_>; 0] = [];
    assert_eq!(verify(authority.certificate_pem(), &none, &NAMES, now()), Err(VerifyError::EmptyChain));
    let garbage = [CertificateDer::from(b"garbage".as_slice())];
    assert_eq!(
        verify(authority.certificate_pem(), &garbage, &NAMES, now()),
        Err(VerifyError::Unreadable { position: 1 })
    );
}

#[test]
fn a_leaf_serves_until_its_last_second() {
    let authority = authority();
    let leaf = authority.issue(&NAMES, now(), HOUR).unwrap();
    let check = |time| verify(authority.certificate_pem(), &leaf.chain, &NAMES, time);
    assert_eq!(check(leaf.not_before), Ok(()));
    assert_eq!(check(leaf.not_after), Ok(()));
    assert!(check(later(HOUR + std::time::Duration::from_secs(1))).is_err());
}

/// As Go: the signer of a certificate that is trusted itself does not matter, but its usage and dates do.
#[test]
fn a_leaf_that_is_in_the_bundle_needs_no_signer() {
    let signer = root(|_| {});
    let pem = |chain: &[CertificateDer<'_>]| Bundle::pem(chain);
    let good = leaf(&signer, |_| {});
    assert_eq!(verify(&pem(&good), &good, &NAMES, now()), Ok(()));
    let client =
        leaf(&signer, |params| params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth]);
    assert_eq!(verify(&pem(&client), &client, &NAMES, now()), Err(VerifyError::Usage));
    let expired = leaf(&signer, |params| params.not_after = date_time_ymd(2000, 1, 1));
    assert!(matches!(verify(&pem(&expired), &expired, &NAMES, now()), Err(VerifyError::Expired { .. })));
}

/// As `openssl req -x509` makes leaves; Go does not care.
#[test]
fn a_leaf_may_be_an_authority() {
    let confine = |domain: &str| NameConstraints {
        permitted_subtrees: vec![GeneralSubtree::DnsName(domain.to_owned())],
        excluded_subtrees: Vec::new(),
    };
    let is_ca = |params: &mut CertificateParams| params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let signer = root(|_| {});
    let chain = leaf(&signer, is_ca);
    assert_eq!(verify(&signer.pem(), &chain, &NAMES, now()), Ok(()));
    let other = root(|_| {});
    assert_eq!(verify(&other.pem(), &chain, &NAMES, now()), Err(VerifyError::UnknownAuthority));
    let confined = root(|params| params.name_constraints = Some(confine("other.svc")));
    assert!(verify(&confined.pem(), &leaf(&confined, is_ca), &NAMES, now()).is_err());
    let client = leaf(&signer, |params| {
        is_ca(params);
        params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    });
    assert_eq!(verify(&signer.pem(), &client, &NAMES, now()), Err(VerifyError::Usage));

    for (limit, expected) in [(1, Ok(())), (0, Err(VerifyError::UnknownAuthority))] {
        let root = root(|params| params.is_ca = IsCa::Ca(BasicConstraints::Constrained(limit)));
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Constrained(0));
        params.distinguished_name.push(rcgen::DnType::CommonName, "between");
        let between = CertifiedIssuer::signed_by(params, KeyPair::generate().unwrap(), &root).unwrap();
        let mut chain = leaf(&between, is_ca);
        chain.push(between.der().clone());
        assert_eq!(verify(&root.pem(), &chain, &NAMES, now()), expected);
        chain.pop();
        assert_eq!(verify(&root.pem(), &chain, &NAMES, now()), Err(VerifyError::UnknownAuthority));
    }
}

#[test]
fn an_intermediate_must_be_allowed_to_sign() {
    let root = root(|_| {});
    let changes: [fn(&mut CertificateParams); 2] = [
        |params| params.is_ca = IsCa::ExplicitNoCa,
        |params| params.key_usages = vec![KeyUsagePurpose::DigitalSignature],
    ];
    for change in changes {
        let mut params = CertificateParams::default();
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        change(&mut params);
        params.distinguished_name.push(rcgen::DnType::CommonName, "between");
        let between = CertifiedIssuer::signed_by(params, KeyPair::generate().unwrap(), &root).unwrap();
        let mut chain = leaf(&between, |_| {});
        chain.push(between.der().clone());
        let error = verify(&root.pem(), &chain, &NAMES, now());
        assert_eq!(error, Err(VerifyError::IntermediateNotAnAuthority));
    }
}

/// `openssl x509 -req -signkey` of OpenSSL 1.1 and 3.0 makes such a CA; rcgen makes none.
#[test]
fn a_root_of_version_1_is_a_ca() {
    let pem = include_str!("verify/version_1.pem");
    let (root, leaf) = pem.split_at(pem.rfind("-----BEGIN ").unwrap());
    let chain: Vec<_> = Bundle::read(leaf.as_bytes()).certificates.into_values().collect();
    let now = rustls_pki_types::UnixTime::since_unix_epoch(std::time::Duration::from_secs(1_830_000_000));
    assert_eq!(verify(root, &chain, &["hooks.demo.svc"], now), Ok(()));
}

#[test]
fn a_certificate_for_any_usage_is_for_servers() {
    let root = root(|_| {});
    let any = leaf(&root, |params| params.extended_key_usages = vec![ExtendedKeyUsagePurpose::Any]);
    assert_eq!(verify(&root.pem(), &any, &NAMES, now()), Ok(()));
}

/// The certificate with other bytes in the place of the first such ones. Its signature does not matter: Go refuses to read it.
fn altered(der: &CertificateDer<'_>, from: &[u8], to: &[u8]) -> CertificateDer<'static> {
    let mut bytes = der.to_vec();
    let at = bytes.windows(from.len()).position(|window| window == from).unwrap();
    bytes.splice(at..at + from.len(), to.iter().copied());
    bytes.into()
}

fn extension(oid: &[u64], is_critical: bool) -> CustomExtension {
    let mut extension = CustomExtension::from_oid_content(oid, vec![4, 2, 1, 1]);
    extension.set_criticality(is_critical);
    extension
}

#[test]
fn a_certificate_that_go_cannot_read_is_refused_wherever_it_stands() {
    let signer = root(|_| {});
    let with = |change: fn(&mut CertificateParams)| leaf(&signer, change).remove(0);
    let numbered = with(|params| params.serial_number = Some(vec![1, 2, 3, 4].into()));
    let named = with(|params| {
        let name = rcgen::DnValue::PrintableString("a:b".try_into().unwrap());
        params.distinguished_name.push(rcgen::DnType::CommonName, name);
    });
    let bad = [
        ("negative serial", altered(&numbered, &[2, 4, 1, 2, 3, 4], &[2, 4, 0x81, 2, 3, 4])),
        ("twice", with(|params| params.custom_extensions = vec![extension(&[1, 2, 3, 4], false); 2])),
        ("critical", with(|params| params.custom_extensions = vec![extension(&[2, 5, 29, 14], true)])),
        ("another form", with(|params| params.custom_extensions = vec![extension(&[2, 5, 29, 15], true)])),
        ("characters", altered(&named, b"a:b", b"a_b")),
    ];
    let good = with(|params| params.serial_number = Some(vec![0x81, 2, 3, 4].into()));
    assert_eq!(verify(&signer.pem(), std::slice::from_ref(&good), &NAMES, now()), Ok(()));
    for (words, bad) in bad {
        let check = |bundle: &str, chain: &[CertificateDer<'_>]| verify(bundle, chain, &NAMES, now());
        let alone = check(&signer.pem(), std::slice::from_ref(&bad)).unwrap_err();
        assert!(matches!(alone, VerifyError::Malformed { position: 1, .. }), "{alone}");
        assert!(alone.to_string().contains(words), "{alone}");
        let beside = check(&signer.pem(), &[good.clone(), bad.clone()]).unwrap_err();
        assert!(matches!(beside, VerifyError::Malformed { position: 2, .. }), "{beside}");
        let bundle = Bundle::pem([&bad]);
        assert_eq!(check(&bundle, std::slice::from_ref(&good)), Err(VerifyError::EmptyBundle), "{words}");
        let bundle = format!("{bundle}{}", signer.pem());
        assert_eq!(check(&bundle, std::slice::from_ref(&good)), Ok(()), "{words}");
    }
}
