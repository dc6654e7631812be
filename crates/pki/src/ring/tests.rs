//! Properties of every history of a ring, and of every data that a Secret may hold.

mod carry_out;
mod damage;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::LazyLock;
use std::time::Duration;

use proptest::prelude::*;
use proptest::sample::Index;
use rustls_pki_types::CertificateDer;

use crate::Bundle;
use crate::ring::with_keys::unix;
use crate::ring::*;

pub(super) const NOW: Moment = Moment(1_800_000_000);
pub(super) const NAMES: [&str; 2] = ["hooks.demo.svc", "hooks.demo.svc.cluster.local"];

/// One step of a history, to be fitted to the ring that it meets.
#[derive(Clone, Debug)]
enum Move {
    Create(Vec<Index>),
    Restore(Vec<Index>, bool),
    Graft(Vec<Index>, u8),
    Hold(bool),
    Promote,
    Remove(Vec<Index>),
    Revoke,
}

fn moves() -> impl Strategy<Value = Move> {
    let some = || prop::collection::vec(any::<Index>(), 0..3);
    prop_oneof![
        1 => some().prop_map(Move::Create),
        2 => (some(), any::<bool>()).prop_map(|(trust, rotate)| Move::Restore(trust, rotate)),
        2 => (some(), 1..9_u8).prop_map(|(trust, ahead)| Move::Graft(trust, ahead)),
        2 => any::<bool>().prop_map(Move::Hold),
        4 => Just(Move::Promote),
        3 => some().prop_map(Move::Remove),
        1 => Just(Move::Revoke),
    ]
}

impl Move {
    fn change(&self, ring: Option<&Ring>) -> Option<Change> {
        // The first is one of the ring's own of which it knows nothing any more.
        let pick = |indices: &[Index]| -> (BTreeSet<CaId>, BTreeSet<CaId>) {
            let picked: Vec<_> = indices.iter().map(|index| CaId::of(index.get(&STRANGERS))).collect();
            let (own, imported) = picked.split_at(picked.len().min(1));
            (own.iter().copied().collect(), imported.iter().copied().collect())
        };
        if let Self::Create(trust) = self {
            let (trust, imported) = pick(trust);
            return Some(Change::Create { trust, imported });
        }
        let facts = ring?.facts();
        Some(match self {
            Self::Create(_) => return None,
            Self::Restore(trust, rotate) => {
                let (memory, (trust, imported)) = (Box::new(facts.clone()), pick(trust));
                Change::Restore { memory, trust, imported, generation: facts.generation + 1, rotate: *rotate }
            }
            Self::Graft(trust, ahead) => {
                let (trust, imported) = pick(trust);
                Change::Graft { trust, imported, generation: facts.generation + u64::from(*ahead) }
            }
            Self::Hold(active) => Change::Hold(if *active { facts.active()?.id } else { facts.next()?.id }),
            Self::Promote => Change::Promote,
            Self::Remove(indices) => {
                let old: Vec<_> = facts.authorities.iter().filter(|ca| !ca.signs()).map(|ca| ca.id).collect();
                if old.is_empty() {
                    return None;
                }
                Change::Remove(indices.iter().map(|index| *index.get(&old)).collect())
            }
            Self::Revoke => Change::Revoke,
        })
    }
}

/// The CAs of two other rings, and a leaf that a stranger put into a bundle: no CA at all.
static STRANGERS: LazyLock<Vec<CertificateDer<'static>>> = LazyLock::new(|| {
    let mut certificates = Vec::new();
    for _ in 0..2 {
        let ring = begin(&mut keys(Algorithm::P256));
        certificates.extend(ring.certificates.into_values());
    }
    let authority = crate::Authority::new("stranger", unix(NOW), Duration::from_secs(9_000)).unwrap();
    certificates
        .push(authority.issue(&NAMES, unix(NOW), Duration::from_secs(3_600)).unwrap().chain[0].clone());
    certificates
});

pub(super) fn keys(algorithm: Algorithm) -> KeySource {
    KeySource::new("vestibule", &["demo.svc", "demo.svc.cluster.local"], algorithm)
}

pub(super) fn begin(keys: &mut KeySource) -> Ring {
    let change = Change::Create { trust: BTreeSet::new(), imported: BTreeSet::new() };
    carry_out(&change, None, keys, NOW, &Policy::default()).unwrap()
}

/// Names as they were drawn, in the order of their making.
struct Drawn(VecDeque<CaId>, Lineage);

impl CaFactory for Drawn {
    fn authority(&mut self, _now: Moment, _not_after: Moment) -> Option<CaId> {
        self.0.pop_front()
    }
    fn lineage(&mut self) -> Lineage {
        self.1
    }
}

fn drawn(before: Option<&Facts>, after: &Facts) -> Drawn {
    let new = |ca: &&AuthorityFacts| before.is_none_or(|before| before.authority(ca.id).is_none());
    let made = after.signing().filter(new).map(|ca| ca.id);
    Drawn(made.collect(), after.lineage)
}

/// A change knows nothing of the dates of others' certificates.
fn without_foreign_dates(mut facts: Facts) -> Facts {
    let foreign = facts.authorities.iter_mut().filter(|ca| ca.is_foreign());
    foreign.for_each(|ca| (ca.not_before, ca.not_after) = (Moment(0), Moment(0)));
    facts
}

pub(super) fn data(ring: &Ring) -> BTreeMap<String, Vec<u8>> {
    ring.encode().into_iter().map(|(field, bytes)| (field, bytes.to_vec())).collect()
}

fn assert_sound(ring: &Ring, now: Moment) {
    let stored = data(ring);
    // I2, I3: one active, one next, and their keys alone.
    let facts = ring.facts();
    let signing: BTreeSet<_> = facts.signing().map(|ca| format!("ca-{}.key", ca.id)).collect();
    let keys: BTreeSet<_> = stored.keys().filter(|field| field.ends_with(".key")).cloned().collect();
    assert_eq!((signing.len(), &signing), (2, &keys));
    let secrets = stored.values().filter(|bytes| String::from_utf8_lossy(bytes).contains("PRIVATE KEY"));
    assert_eq!(secrets.count(), 2);
    // I5, and the bundle is the one that a configuration is compared with.
    let bundle = Bundle::read(ring.bundle_pem().as_bytes());
    assert_eq!((bundle.problem, bundle.unreadable, bundle.is_canonical), (None, 0, true));
    assert_eq!(bundle.certificates.into_keys().collect::<BTreeSet<_>>(), facts.bundle());
    let whole = Bundle::read(ring.bundle_pem_over(|_| true).as_bytes());
    assert_eq!(whole.certificates.into_keys().collect::<BTreeSet<_>>(), facts.trusted());
    // The written ring is read back unchanged.
    let requests = (facts.rotation.asked, facts.revocation.asked);
    let read = Ring::decode(&stored, requests, now).unwrap();
    assert_eq!((read.facts(), data(&read)), (facts, stored));
    read.check(now, &Policy::default()).unwrap();
}

/// `usual` cases, or as many as `VESTIBULE_CASES` says: mutation tests run the laws for each mutant.
fn cases(usual: u32) -> ProptestConfig {
    let wanted = std::env::var("VESTIBULE_CASES").ok().and_then(|cases| cases.parse().ok());
    ProptestConfig { cases: wanted.unwrap_or(usual), failure_persistence: None, ..ProptestConfig::default() }
}

proptest! {
    #![proptest_config(cases(60))]

    #[test]
    fn cryptography_does_what_the_protocol_says(
        history in prop::collection::vec((moves(), any::<bool>(), 0..6_u64), 1..12)
    ) {
        let policy = Policy::default();
        let (mut ring, mut now): (Option<Ring>, _) = (None, NOW);
        for (step, large, days) in history {
            now = now.plus(Duration::from_secs(days * 86_400));
            let Some(change) = step.change(ring.as_ref()) else { continue };
            let before = ring.as_ref().map(|ring| ring.facts().clone());
            // Half of the CAs are of the other algorithm: any two may cross.
            let mut source = keys(if large { Algorithm::P384 } else { Algorithm::P256 });
            source.learn(STRANGERS.iter().cloned());
            if let Some(ring) = &ring {
                source.learn(ring.certificates.values().cloned());
            }
            let after = carry_out(&change, ring.take(), &mut source, now, &policy);
            let after = after.unwrap_or_else(|error| panic!("{change:?}: {error}"));
            let applied =
                change.apply(before.as_ref(), now, &policy, &mut drawn(before.as_ref(), after.facts())).unwrap();
            prop_assert_eq!(without_foreign_dates(after.facts().clone()), without_foreign_dates(applied));
            assert_sound(&after, now);
            ring = Some(after);
        }
    }
}
