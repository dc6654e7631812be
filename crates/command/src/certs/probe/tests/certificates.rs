//! Certificates, right and wrong.

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, CustomExtension, DnType, ExtendedKeyUsagePurpose,
    GeneralSubtree, IsCa, KeyPair, KeyUsagePurpose, NameConstraints,
};
use rustls_pki_types::CertificateDer;
use time::OffsetDateTime;

use super::{NAME, NOW};

const DAY: u64 = 24 * 60 * 60;

/// A server, a client, and what it must say.
pub(super) struct Case {
    pub(super) what: &'static str,
    pub(super) bundle: String,
    pub(super) chain: Vec<CertificateDer<'static>>,
    pub(super) key: Vec<u8>,
    pub(super) name: &'static str,
    pub(super) expected: Option<&'static str>,
}

type Authority = CertifiedIssuer<'static, KeyPair>;

/// The properties of a leaf.
struct Shape {
    names: &'static [&'static str],
    common_name: &'static str,
    days: (u64, u64),
    usage: ExtendedKeyUsagePurpose,
}

/// Valid, for the name that is asked for.
fn good() -> Shape {
    let usage = ExtendedKeyUsagePurpose::ServerAuth;
    Shape { names: &[NAME], common_name: "server", days: (100, 300), usage }
}

pub(super) fn cases() -> Vec<Case> {
    let ca = authority("example CA", (1, 900));
    let other = authority("other CA", (1, 900));
    let namesake = authority("example CA", (1, 900));
    let ended = authority("example CA", (1, 150));
    let to_come = authority("example CA", (250, 900));
    let case = |what, bundle: &str, (chain, key): (Vec<_>, Vec<u8>), expected| Case {
        what,
        bundle: bundle.to_owned(),
        chain,
        key,
        name: NAME,
        expected,
    };
    let named = |what, shape: Shape, name, expected| Case {
        name,
        ..case(what, &ca.pem(), leaf(&ca, &shape), expected)
    };
    let joined = format!("{}{}", ca.pem().trim_end(), other.pem());
    let both = format!("# the old\n{}\n# the new\n{}", other.pem(), ca.pem());
    let partly_joined = format!("{}{}{}", ca.pem(), other.pem().trim_end(), namesake.pem());
    let (own, own_pem) = self_signed(ExtendedKeyUsagePurpose::ServerAuth);
    let (own_for_clients, own_for_clients_pem) = self_signed(ExtendedKeyUsagePurpose::ClientAuth);
    let (plain, plain_root) = signed_by_no_authority();
    vec![
        case("fine", &ca.pem(), leaf(&ca, &good()), None),
        case("two CAs and words", &both, leaf(&ca, &good()), None),
        case("a self-signed certificate that is trusted itself", &own_pem, own, None),
        case("the same for clients", &own_for_clients_pem, own_for_clients, Some("usage")),
        named("a wildcard", Shape { names: &["*.demo.svc"], ..good() }, NAME, None),
        named("an address", Shape { names: &["127.0.0.1"], ..good() }, "127.0.0.1", None),
        case("an intermediate CA", &ca.pem(), below(&ca, true), None),
        case("an intermediate CA that is not sent", &ca.pem(), below(&ca, false), Some("unknown_authority")),
        case("another CA", &other.pem(), leaf(&ca, &good()), Some("unknown_authority")),
        case("another CA of the same name", &namesake.pem(), leaf(&ca, &good()), Some("unknown_authority")),
        case(
            "another CA beside one that has ended",
            &format!("{}{}", authority("old CA", (1, 100)).pem(), other.pem()),
            leaf(&ca, &good()),
            Some("unknown_authority"),
        ),
        named("over", Shape { days: (1, 199), ..good() }, NAME, Some("expired")),
        named("to come", Shape { days: (201, 300), ..good() }, NAME, Some("not_yet_valid")),
        case("a CA that has ended", &ended.pem(), leaf(&ended, &good()), Some("authority_expired")),
        case("a CA to come", &to_come.pem(), leaf(&to_come, &good()), Some("not_yet_valid")),
        named("another Service", good(), "other.demo.svc", Some("wrong_name")),
        named(
            "the long form only",
            Shape { names: &["hooks.demo.svc.cluster.local"], ..good() },
            NAME,
            Some("wrong_name"),
        ),
        named("no address", good(), "127.0.0.1", Some("wrong_name")),
        named("another address", Shape { names: &["10.0.0.1"], ..good() }, "127.0.0.1", Some("wrong_name")),
        named(
            "a common name only",
            Shape { names: &[], common_name: NAME, ..good() },
            NAME,
            Some("legacy_common_name"),
        ),
        named("no name", Shape { names: &[], ..good() }, NAME, Some("wrong_name")),
        named(
            "for clients",
            Shape { usage: ExtendedKeyUsagePurpose::ClientAuth, ..good() },
            NAME,
            Some("usage"),
        ),
        named("for any usage", Shape { usage: ExtendedKeyUsagePurpose::Any, ..good() }, NAME, None),
        case(
            "a leaf that is a CA, as `openssl req -x509` makes it",
            &ca.pem(),
            leaf_and_authority(&ca, &[]),
            None,
        ),
        case(
            "the same below a confined intermediate CA",
            &ca.pem(),
            leaf_and_authority(&ca, &["demo.svc"]),
            None,
        ),
        case(
            "an intermediate CA that may sign no certificates",
            &ca.pem(),
            below_usage(&ca, KeyUsagePurpose::CrlSign),
            Some("not_an_authority"),
        ),
        case("an extension twice", &ca.pem(), with_extension_twice(&ca), Some("unreadable")),
        case(
            "an extension twice in a certificate beside",
            &ca.pem(),
            beside_malformed(&ca),
            Some("unreadable"),
        ),
        constrained(),
        path(),
        case("signed by what is no CA", &plain_root, plain, Some("not_an_authority")),
        case("joined", &joined, leaf(&ca, &good()), Some("joined_bundle")),
        case("joined behind a readable one", &partly_joined, leaf(&ca, &good()), None),
        case(
            "words after the end",
            &format!("{} x\n", ca.pem().trim_end()),
            leaf(&ca, &good()),
            Some("empty_bundle"),
        ),
        case(
            "a block without an end before",
            &format!("-----BEGIN CERTIFICATE-----\nMIIB\n{}", ca.pem()),
            leaf(&ca, &good()),
            None,
        ),
        case("a line break for a bundle", "\n", leaf(&ca, &good()), Some("empty_bundle")),
    ]
}

fn constrained() -> Case {
    let mut params = ca_params("constrained CA", (1, 900), 0);
    let permitted_subtrees = vec![GeneralSubtree::DnsName("demo.svc".to_owned())];
    params.name_constraints = Some(NameConstraints { permitted_subtrees, excluded_subtrees: Vec::new() });
    let ca = Authority::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let (chain, key) = leaf(&ca, &Shape { names: &[NAME, "hooks.example.com"], ..good() });
    let expected = Some("name_constraint");
    Case { what: "a name that the CA may not sign", bundle: ca.pem(), chain, key, name: NAME, expected }
}

fn path() -> Case {
    let ca =
        Authority::self_signed(ca_params("short CA", (1, 900), 0), KeyPair::generate().unwrap()).unwrap();
    let (chain, key) = below(&ca, true);
    let expected = Some("path_length");
    Case { what: "a CA below one that allows none", bundle: ca.pem(), chain, key, name: NAME, expected }
}

/// As the usual one line of openssl makes it.
fn self_signed(usage: ExtendedKeyUsagePurpose) -> ((Vec<CertificateDer<'static>>, Vec<u8>), String) {
    let mut params = ca_params(NAME, (1, 900), 1);
    params.extended_key_usages = vec![usage];
    params.subject_alt_names = vec![rcgen::SanType::DnsName(NAME.try_into().unwrap())];
    let key = KeyPair::generate().unwrap();
    let certificate = params.self_signed(&key).unwrap();
    ((vec![certificate.der().clone()], key.serialize_der()), certificate.pem())
}

/// A leaf with `CA:TRUE`. With domains it is below an intermediate CA that is confined to them.
fn leaf_and_authority(root: &Authority, domains: &[&str]) -> (Vec<CertificateDer<'static>>, Vec<u8>) {
    let key = KeyPair::generate().unwrap();
    let mut params = ca_params("server", (100, 300), 0);
    params.subject_alt_names = vec![rcgen::SanType::DnsName(NAME.try_into().unwrap())];
    if domains.is_empty() {
        return (vec![params.signed_by(&key, root).unwrap().der().clone()], key.serialize_der());
    }
    let mut between = ca_params("intermediate CA", (1, 900), 0);
    let permitted_subtrees =
        domains.iter().map(|domain| GeneralSubtree::DnsName((*domain).to_owned())).collect();
    between.name_constraints = Some(NameConstraints { permitted_subtrees, excluded_subtrees: Vec::new() });
    let between = CertifiedIssuer::signed_by(between, KeyPair::generate().unwrap(), root).unwrap();
    let chain = vec![params.signed_by(&key, &between).unwrap().der().clone(), between.der().clone()];
    (chain, key.serialize_der())
}

/// As `openssl req -x509 -addext` with an extension that its configuration file has too.
fn with_extension_twice(root: &Authority) -> (Vec<CertificateDer<'static>>, Vec<u8>) {
    let key = KeyPair::generate().unwrap();
    let mut params = dated(&[NAME], (100, 300));
    params.custom_extensions = vec![CustomExtension::from_oid_content(&[1, 2, 3, 4], vec![5, 0]); 2];
    (vec![params.signed_by(&key, root).unwrap().der().clone()], key.serialize_der())
}

/// No path needs the second certificate of the chain.
fn beside_malformed(root: &Authority) -> (Vec<CertificateDer<'static>>, Vec<u8>) {
    let (mut chain, key) = leaf(root, &good());
    chain.extend(with_extension_twice(root).0);
    (chain, key)
}

fn signed_by_no_authority() -> ((Vec<CertificateDer<'static>>, Vec<u8>), String) {
    let mut params = ca_params("no CA", (1, 900), 0);
    params.is_ca = IsCa::ExplicitNoCa;
    let ca = Authority::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    (leaf(&ca, &good()), ca.pem())
}

fn below_usage(root: &Authority, usage: KeyUsagePurpose) -> (Vec<CertificateDer<'static>>, Vec<u8>) {
    let mut params = ca_params("intermediate CA", (1, 900), 0);
    params.key_usages = vec![usage];
    let middle = CertifiedIssuer::signed_by(params, KeyPair::generate().unwrap(), root).unwrap();
    let (mut chain, key) = leaf(&middle, &good());
    chain.push(middle.der().clone());
    (chain, key)
}

fn below(root: &Authority, sent: bool) -> (Vec<CertificateDer<'static>>, Vec<u8>) {
    let params = ca_params("intermediate CA", (1, 900), 0);
    let middle = CertifiedIssuer::signed_by(params, KeyPair::generate().unwrap(), root).unwrap();
    let (mut chain, key) = leaf(&middle, &good());
    if sent {
        chain.push(middle.der().clone());
    }
    (chain, key)
}

fn authority(name: &str, days: (u64, u64)) -> Authority {
    Authority::self_signed(ca_params(name, days, 1), KeyPair::generate().unwrap()).unwrap()
}

fn ca_params(name: &str, days: (u64, u64), below: u8) -> CertificateParams {
    let mut params = dated(&[], days);
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(below));
    params
}

fn leaf(issuer: &Authority, shape: &Shape) -> (Vec<CertificateDer<'static>>, Vec<u8>) {
    let key = KeyPair::generate().unwrap();
    let mut params = dated(shape.names, shape.days);
    params.distinguished_name.push(DnType::CommonName, shape.common_name);
    params.use_authority_key_identifier_extension = true;
    params.extended_key_usages = vec![shape.usage.clone()];
    (vec![params.signed_by(&key, issuer).unwrap().der().clone()], key.serialize_der())
}

/// Now is day 200.
fn dated(names: &[&str], (begin, end): (u64, u64)) -> CertificateParams {
    let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut params = CertificateParams::new(names).unwrap();
    params.distinguished_name = rcgen::DistinguishedName::new();
    let date =
        |day: u64| OffsetDateTime::from_unix_timestamp((NOW - 200 * DAY + day * DAY).cast_signed()).unwrap();
    (params.not_before, params.not_after) = (date(begin), date(end));
    params
}
