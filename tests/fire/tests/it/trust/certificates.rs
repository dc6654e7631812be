//! The certificates of a ring after a rotation, and certificates that no ring would issue.

use std::collections::BTreeSet;
use std::time::Duration;

use rcgen::{
    BasicConstraints, CertificateParams, CertifiedIssuer, DnType, ExtendedKeyUsagePurpose, GeneralSubtree,
    IsCa, KeyPair, NameConstraints,
};
use rustls_pki_types::{CertificateDer, UnixTime};
use vestibule_pki::ring::{CaId, Change, KeySource, LeafFacts, Moment, Policy, Ring, carry_out};
use vestibule_pki::{Authority, Leaf};

use super::{DAY, NAME};

/// A server's chain and its key in PKCS#8.
pub(crate) struct Served {
    pub(crate) chain: Vec<CertificateDer<'static>>,
    pub(crate) key: Vec<u8>,
}

/// Bundles and leaves of two successive CAs.
pub(crate) struct Rotated {
    pub(crate) old: String,
    pub(crate) new: String,
    pub(crate) old_leaf: Served,
    pub(crate) new_leaf: Served,
    pub(crate) crossed_leaf: Served,
}

/// A ring made at `start` and rotated after 10 and after 20 days. The first two CAs have the same age, so only the second
/// rotation has an old CA that expires ten days before its successor, on day 30.
pub(crate) fn rotated(start: u64) -> Rotated {
    let mut policy = Policy::default();
    policy.authority_life = Duration::from_secs(30 * DAY);
    let mut keys = KeySource::new("trust", &["demo.svc"], Default::default());
    let mut change = |change: Change, ring, at| carry_out(&change, ring, &mut keys, at, &policy).unwrap();
    let day = |day| Moment(start + day * DAY);
    let ring = change(Change::Create { trust: BTreeSet::new(), imported: BTreeSet::new() }, None, day(0));
    let ring = change(Change::Promote, Some(ring), day(10));
    let old = active(&ring);
    let old_leaf = sign(&ring, None, day(10), day(38));
    let ring = change(Change::Promote, Some(ring), day(20));
    let new = active(&ring);
    Rotated {
        old: pem(&ring, old),
        new: pem(&ring, new),
        old_leaf,
        new_leaf: sign(&ring, None, day(20), day(38)),
        crossed_leaf: sign(&ring, Some(old), day(20), day(38)),
    }
}

fn active(ring: &Ring) -> CaId {
    ring.facts().active().unwrap().id
}

/// The CA's certificate from the ring's Secret.
fn pem(ring: &Ring, id: CaId) -> String {
    String::from_utf8(ring.encode()[&format!("ca-{id}.crt")].to_vec()).unwrap()
}

fn sign(ring: &Ring, bridge: Option<CaId>, now: Moment, not_after: Moment) -> Served {
    let facts = LeafFacts {
        issuer: active(ring),
        cross_signature: bridge,
        renew: not_after,
        not_before: not_after,
        not_after,
    };
    let leaf = ring.sign(&facts, &[NAME], now).unwrap();
    assert_eq!(leaf.chain.len(), 1 + usize::from(bridge.is_some()));
    served(&leaf)
}

fn served(leaf: &Leaf) -> Served {
    Served { chain: leaf.chain.clone(), key: leaf.key.secret_der().to_vec() }
}

/// A bundle of `count` CAs that differ only in their keys, and a leaf of the last.
pub(crate) fn many_of_one_name(count: usize, start: u64, name: &str) -> (String, Served) {
    let now = UnixTime::since_unix_epoch(Duration::from_secs(start));
    let life = Duration::from_secs(365 * DAY);
    let all: Vec<_> = (0..count).map(|_| Authority::new("one name", now, life).unwrap()).collect();
    let leaf = all.last().unwrap().issue(&[name], now, life).unwrap();
    (all.iter().map(Authority::certificate_pem).collect(), served(&leaf))
}

/// A CA that is constrained to `demo.svc`, and a leaf with other names too.
pub(crate) fn forged_by_name(start: u64, names: &[&str]) -> (String, Served) {
    let mut params = authority("constrained", start, 0);
    let permitted_subtrees = vec![GeneralSubtree::DnsName("demo.svc".to_owned())];
    params.name_constraints = Some(NameConstraints { permitted_subtrees, excluded_subtrees: Vec::new() });
    let authority = CertifiedIssuer::self_signed(params, KeyPair::generate().unwrap()).unwrap();
    let leaf = leaf(&authority, start, names);
    (authority.pem(), leaf)
}

/// A CA with path length 0, and a chain with an intermediate CA.
pub(crate) fn forged_by_path(start: u64, name: &str) -> (String, Served) {
    let old =
        CertifiedIssuer::self_signed(authority("short", start, 0), KeyPair::generate().unwrap()).unwrap();
    let params = authority("successor", start, 0);
    let successor = CertifiedIssuer::self_signed(params.clone(), KeyPair::generate().unwrap()).unwrap();
    let cross = params.signed_by(successor.key(), &old).unwrap();
    let mut served = leaf(&successor, start, &[name]);
    served.chain.push(cross.der().clone());
    (old.pem(), served)
}

fn authority(name: &str, start: u64, below: u8) -> CertificateParams {
    let mut params = dated(&[], start);
    params.distinguished_name.push(DnType::CommonName, name);
    params.is_ca = IsCa::Ca(BasicConstraints::Constrained(below));
    params
}

fn leaf(issuer: &CertifiedIssuer<'_, KeyPair>, start: u64, names: &[&str]) -> Served {
    let key = KeyPair::generate().unwrap();
    let mut params = dated(names, start);
    params.use_authority_key_identifier_extension = true;
    params.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    let certificate = params.signed_by(&key, issuer).unwrap();
    Served { chain: vec![certificate.der().clone()], key: key.serialize_der() }
}

fn dated(names: &[&str], start: u64) -> CertificateParams {
    let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
    let mut params = CertificateParams::new(names).unwrap();
    let date = |seconds: u64| time::OffsetDateTime::from_unix_timestamp(seconds.cast_signed()).unwrap();
    (params.not_before, params.not_after) = (date(start), date(start + 365 * DAY));
    params
}
