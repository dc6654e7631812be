mod beyond;
mod bounds;

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use crate::ring::tests::{self, NAMES, NOW, begin, data};
use crate::ring::*;

fn keys() -> KeySource {
    tests::keys(Algorithm::P256)
}

fn created() -> Ring {
    begin(&mut keys())
}

fn promoted() -> Ring {
    carry_out(&Change::Promote, Some(created()), &mut keys(), NOW, &Policy::default()).unwrap()
}

fn read(data: &BTreeMap<String, Vec<u8>>) -> Result<Ring, RingError> {
    Ring::decode(data, (0, 0), NOW)
}

/// A leaf of the active CA that is valid for an hour.
fn leaf_below(ring: &Ring, names: &[&str]) -> Result<crate::Leaf, RingError> {
    let active = ring.facts().active().unwrap();
    let cross_signature = active.cross_signature.map(|cross_signature| cross_signature.issuer);
    let not_after = NOW.plus(Duration::from_secs(3600));
    let facts = LeafFacts { issuer: active.id, cross_signature, renew: NOW, not_before: NOW, not_after };
    ring.sign(&facts, names, NOW)
}

fn problem(data: &BTreeMap<String, Vec<u8>>) -> (String, Problem) {
    match read(data).err() {
        Some(RingError::Field { field, problem }) => (field, problem),
        other => panic!("{other:?}"),
    }
}

#[test]
fn a_ring_survives_being_stored() {
    for ring in [created(), promoted()] {
        let stored = data(&ring);
        let again = read(&stored).unwrap();
        assert_eq!(again.facts(), ring.facts());
        assert_eq!(data(&again), stored);
    }
}

#[test]
fn a_ring_knows_the_names_of_its_fields() {
    let stored = data(&promoted());
    assert!(stored.keys().any(|field| field.starts_with("cross-")));
    assert!(stored.keys().all(|field| Ring::is_field(field)));
    assert!(!["tls.crt", "ca-bundle", "ca.key"].map(Ring::is_field).contains(&true));
}

#[test]
fn only_active_and_next_keep_their_keys() {
    let ring = promoted();
    let keys: Vec<_> = data(&ring).into_keys().filter(|field| field.ends_with(".key")).collect();
    assert_eq!(keys.len(), 2);
    let retired = ring.facts().active().unwrap().cross_signature.unwrap().issuer;
    assert!(!keys.contains(&format!("ca-{retired}.key")));
}

#[test]
fn a_crossed_leaf_verifies_for_the_old_bundle_the_new_and_both() {
    let (old, now) = (created(), with_keys::unix(NOW));
    let before = old.bundle_pem();
    let ring = carry_out(&Change::Promote, Some(old), &mut keys(), NOW, &Policy::default()).unwrap();
    let active = ring.facts().active().unwrap();
    let leaf = leaf_below(&ring, &NAMES).unwrap();
    assert_eq!(leaf.chain.len(), 2);
    assert_eq!(leaf.not_after.as_secs(), NOW.0 + 3600);
    let alone = crate::bundle::pem(ring.certificate(active.id).unwrap());
    let predecessor = crate::bundle::pem(ring.certificate(active.cross_signature.unwrap().issuer).unwrap());
    for bundle in [&before, &ring.bundle_pem(), &alone, &predecessor] {
        assert_eq!(crate::verify(bundle, &leaf.chain, &NAMES, now), Ok(()));
    }
}

#[test]
fn names_outside_the_constraint_are_refused() {
    let ring = created();
    assert!(leaf_below(&ring, &["hooks.other.svc"]).is_err());
    assert!(leaf_below(&ring, &["hooks.demo.svc", "127.0.0.1"]).is_ok());
}

#[test]
fn a_foreign_certificate_is_carried_over() {
    let other = created();
    let mut source = keys();
    source.learn(other.certificates.values().cloned());
    let trust = other.facts().trusted();
    let change = Change::Create { trust: BTreeSet::new(), imported: trust.clone() };
    let ring = carry_out(&change, None, &mut source, NOW, &Policy::default()).unwrap();
    assert!(ring.facts().trusted().is_superset(&trust));
    assert_eq!(data(&ring).keys().filter(|field| field.ends_with(".key")).count(), 2);
    assert_eq!(read(&data(&ring)).unwrap().facts(), ring.facts());
    let unknown = carry_out(&change, None, &mut keys(), NOW, &Policy::default());
    assert!(matches!(unknown.err(), Some(RingError::Unknown(_))));
}

#[test]
fn every_change_can_be_carried_out() {
    let policy = Policy::default();
    let carry = |change: &Change, ring: Ring, source: &mut KeySource| {
        let before = ring.facts().clone();
        let after = carry_out(change, Some(ring), source, NOW, &policy).unwrap();
        assert!(after.facts().generation >= before.generation, "{change:?}");
        assert_eq!(read(&data(&after)).unwrap().facts().trusted(), after.facts().trusted());
        after
    };
    let ring = promoted();
    let retired = ring.facts().active().unwrap().cross_signature.unwrap().issuer;
    let next = ring.facts().next().unwrap().id;
    let ring = carry(&Change::Hold(next), ring, &mut keys());
    assert_eq!(ring.facts().next().unwrap().held, Some(NOW));

    let ring = carry(&Change::Remove(BTreeSet::from([retired])), ring, &mut keys());
    assert_eq!(ring.certificate(retired), None);
    assert_eq!(read(&data(&ring)).unwrap().facts(), ring.facts());

    let (mut source, other) = (keys(), created());
    source.learn(other.certificates.values().cloned());
    let graft = Change::Graft { trust: other.facts().trusted(), imported: BTreeSet::new(), generation: 40 };
    let ring = carry(&graft, ring, &mut source);
    assert_eq!((ring.facts().authorities.len(), ring.facts().generation), (4, 40));

    let memory = Box::new(ring.facts().clone());
    let (trust, imported) = (BTreeSet::new(), BTreeSet::new());
    let restore = Change::Restore { memory, trust, imported, generation: 41, rotate: true };
    let ring = carry(&restore, ring, &mut keys());

    let ring = carry(&Change::Revoke, ring, &mut keys());
    assert_eq!(data(&ring).keys().filter(|field| field.ends_with(".key")).count(), 2);
}

#[test]
fn a_certificate_has_the_form_that_the_book_asks_for() {
    use x509_cert::der::Decode;
    use x509_cert::ext::pkix::{
        AuthorityKeyIdentifier, BasicConstraints, NameConstraints, SubjectKeyIdentifier,
    };
    let ring = promoted();
    let active = ring.facts().active().unwrap().id;
    for (der, length) in [(&ring.certificates[&active], 1), (&ring.crosses[&active], 0)] {
        let certificate = x509_cert::Certificate::from_der(der).unwrap();
        let certificate = certificate.tbs_certificate();
        let (_, constraints) = certificate.get_extension::<BasicConstraints>().unwrap().unwrap();
        assert_eq!((constraints.ca, constraints.path_len_constraint), (true, Some(length)));
        let (critical, names) = certificate.get_extension::<NameConstraints>().unwrap().unwrap();
        assert!(critical);
        assert_eq!(names.permitted_subtrees.unwrap().len(), 2);
        assert!(certificate.get_extension::<SubjectKeyIdentifier>().unwrap().is_some());
        assert!(certificate.get_extension::<AuthorityKeyIdentifier>().unwrap().is_some());
        assert!((16..=20).contains(&certificate.serial_number().as_bytes().len()));
    }
    let subjects: BTreeSet<_> = ring
        .certificates
        .values()
        .map(|der| x509_cert::Certificate::from_der(der).unwrap().tbs_certificate().subject().to_string())
        .collect();
    assert_eq!(subjects.len(), 3);
}

#[test]
fn the_bundle_is_lines() {
    let bundle = promoted().bundle_pem();
    assert!(bundle.ends_with("-----END CERTIFICATE-----\n"));
    assert_eq!(bundle.matches("-----BEGIN CERTIFICATE-----\n").count(), 3);
}

#[test]
fn every_field_may_be_missing_or_broken() {
    let whole = data(&promoted());
    for field in whole.keys().filter(|field| *field != "ca.crt") {
        let mut less = whole.clone();
        less.remove(field);
        assert_eq!(problem(&less), (field.clone(), Problem::Missing));
        for broken in
            [Vec::new(), b"\n".to_vec(), vec![0xff; 40], whole[field][..whole[field].len() / 2].to_vec()]
        {
            less.insert(field.clone(), broken);
            let (named, problem) = problem(&less);
            assert_eq!(&named, field, "{problem:?}");
        }
        less.insert(field.clone(), vec![b'a'; 2 << 20]);
        assert_eq!(problem(&less), (field.clone(), Problem::TooLarge));
    }
}

#[test]
fn fields_of_each_other_are_noticed() {
    let ring = promoted();
    let whole = data(&ring);
    let (active, next) = (ring.facts().active().unwrap().id, ring.facts().next().unwrap().id);
    let swapped = |one: String, other: String| {
        let mut data = whole.clone();
        data.insert(one.clone(), whole[&other].clone());
        data.insert(other, whole[&one].clone());
        problem(&data).1
    };
    assert_eq!(swapped(format!("ca-{active}.crt"), format!("ca-{next}.crt")), Problem::OtherCertificate);
    assert_eq!(swapped(format!("ca-{active}.key"), format!("ca-{next}.key")), Problem::OtherKey);
    assert_eq!(swapped(format!("cross-{active}.crt"), format!("ca-{next}.crt")), Problem::OtherCertificate);
    let mut data = whole.clone();
    data.insert(format!("cross-{active}.crt"), whole[&format!("ca-{active}.crt")].clone());
    assert_eq!(problem(&data).1, Problem::CrossSignature);
}

#[test]
fn the_description_is_held_to_its_schema() {
    let ring = created();
    let whole = data(&ring);
    let with = |from: &str, to: &str| {
        let mut data = whole.clone();
        let text = String::from_utf8(data["ring.json"].clone()).unwrap();
        assert!(text.contains(from), "{text}");
        data.insert("ring.json".to_owned(), text.replacen(from, to, 1).into_bytes());
        read(&data).err().unwrap()
    };
    assert_eq!(with("\"schema\":2", "\"schema\":3"), RingError::Newer { schema: 3 });
    assert_eq!(with("\"next\"", "\"active\""), RingError::field("ring.json", Problem::States));
    let retired = "\"retired\",\"until\":1";
    assert_eq!(with("\"next\"", retired), RingError::field("ring.json", Problem::States));
    assert_eq!(with("\"next\"", "\"gone\""), RingError::field("ring.json", Problem::Json));
    assert_eq!(with("\"due\"", "\"dew\""), RingError::field("ring.json", Problem::Json));
    let large = format!("\"generation\":{}", u64::MAX / 2 + 1);
    assert_eq!(with("\"generation\":1", &large), RingError::field("ring.json", Problem::States));
    let lineage = ring.facts().lineage.to_string();
    for other in ["+23456789abcdef0", "ABCDEF0123456789", "ab"] {
        assert_eq!(with(&lineage, other), RingError::field("ring.json", Problem::Json), "{other}");
    }
}

#[test]
fn a_ring_from_the_future_is_refused() {
    let past = NOW.minus(Duration::from_secs(2 * 3600));
    let error = Ring::decode(&data(&created()), (0, 0), past).err().unwrap();
    assert!(matches!(error, RingError::Field { problem: Problem::NotYetValid, .. }));
}

#[test]
fn errors_repeat_no_bytes() {
    let mut data = data(&created());
    data.insert("ring.json".to_owned(), b"canary-4711".to_vec());
    let error = read(&data).err().unwrap();
    assert!(!format!("{error} {error:?}").contains("canary"));
}
