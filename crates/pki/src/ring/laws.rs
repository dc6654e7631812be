//! What holds for any history of a ring, and for any data that a Secret may hold.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::sync::LazyLock;
use std::time::Duration;

use proptest::prelude::*;
use proptest::sample::Index;
use rustls_pki_types::CertificateDer;

use crate::Bundle;
use crate::ring::stored::unix;
use crate::ring::*;

const NOW: Moment = Moment(1_800_000_000);
const NAMES: [&str; 2] = ["hooks.demo.svc", "hooks.demo.svc.cluster.local"];

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
        let pick = |indices: &[Index]| -> BTreeSet<CaId> {
            indices.iter().map(|index| CaId::of(index.get(&STRANGERS))).collect()
        };
        if let Self::Create(trust) = self {
            return Some(Change::Create { trust: pick(trust) });
        }
        let facts = ring?.facts();
        Some(match self {
            Self::Create(_) => return None,
            Self::Restore(trust, rotate) => Change::Restore {
                memory: Box::new(facts.clone()),
                trust: pick(trust),
                generation: facts.generation + 1,
                rotate: *rotate,
            },
            Self::Graft(trust, ahead) => {
                Change::Graft { trust: pick(trust), generation: facts.generation + u64::from(*ahead) }
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

fn keys(algorithm: Algorithm) -> KeySource {
    KeySource::new("vestibule", &["demo.svc", "demo.svc.cluster.local"], algorithm)
}

fn begin(keys: &mut KeySource) -> Ring {
    let change = Change::Create { trust: BTreeSet::new() };
    carry_out(&change, None, keys, NOW, &Policy::default()).unwrap()
}

/// Names as they were drawn, in the order of their making.
struct Drawn(VecDeque<CaId>, Lineage);

impl Fresh for Drawn {
    fn authority(&mut self, _now: Moment, _not_after: Moment) -> Option<CaId> {
        self.0.pop_front()
    }
    fn lineage(&mut self) -> Lineage {
        self.1
    }
}

fn drawn(before: Option<&Facts>, after: &Facts) -> Drawn {
    let new = |ca: &&AuthorityFacts| before.is_none_or(|before| before.authority(ca.id).is_none());
    let made = [after.active(), after.next()].into_iter().flatten().filter(new).map(|ca| ca.id);
    Drawn(made.collect(), after.lineage)
}

/// A change knows nothing of the dates of others' certificates.
fn without_foreign_dates(mut facts: Facts) -> Facts {
    facts.authorities.iter_mut().filter(|ca| ca.is_foreign()).for_each(|ca| ca.not_after = Moment(0));
    facts
}

fn data(ring: &Ring) -> BTreeMap<String, Vec<u8>> {
    ring.encode().into_iter().map(|(field, bytes)| (field, bytes.to_vec())).collect()
}

fn assert_sound(ring: &Ring, now: Moment) {
    let stored = data(ring);
    // I2, I3: one active, one next, and their keys alone.
    let facts = ring.facts();
    let signing: BTreeSet<_> =
        [facts.active(), facts.next()].into_iter().flatten().map(|ca| format!("ca-{}.key", ca.id)).collect();
    let keys: BTreeSet<_> = stored.keys().filter(|field| field.ends_with(".key")).cloned().collect();
    assert_eq!((signing.len(), &signing), (2, &keys));
    let secrets = stored.values().filter(|bytes| String::from_utf8_lossy(bytes).contains("PRIVATE KEY"));
    assert_eq!(secrets.count(), 2);
    // I5, and the bundle is the one that a configuration is compared with.
    let bundle = Bundle::read(ring.bundle_pem().as_bytes());
    assert_eq!((bundle.problem, bundle.unreadable, bundle.is_canonical), (None, 0, true));
    assert_eq!(bundle.certificates.into_keys().collect::<BTreeSet<_>>(), facts.trusted());
    // What was written is read, and says the same.
    let requests = (facts.rotation.asked, facts.revocation.asked);
    let read = Ring::decode(&stored, requests, now).unwrap();
    assert_eq!((read.facts(), data(&read)), (facts, stored));
    read.check(now, &Policy::default()).unwrap();
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 60, failure_persistence: None, ..ProptestConfig::default() })]

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

/// A ring with everything in it: a bridge, a retired CA, strangers, somebody revoked.
static WHOLE: LazyLock<BTreeMap<String, Vec<u8>>> = LazyLock::new(|| {
    let policy = Policy::default();
    let mut source = keys(Algorithm::P256);
    source.learn(STRANGERS.iter().cloned());
    let graft = Change::Graft { trust: STRANGERS.iter().map(CaId::of).collect(), generation: 9 };
    let changes = [Change::Revoke, graft, Change::Promote];
    let ring = changes.iter().fold(begin(&mut source), |ring, change| {
        carry_out(change, Some(ring), &mut source, NOW, &policy).unwrap()
    });
    data(&ring)
});

#[derive(Clone, Debug)]
enum Damage {
    Remove,
    Truncate(Index),
    Flip(Index, u8),
    Replace(Vec<u8>),
    Swap(Index),
    Number(u64),
}

fn damages() -> impl Strategy<Value = Damage> {
    prop_oneof![
        Just(Damage::Remove),
        any::<Index>().prop_map(Damage::Truncate),
        (any::<Index>(), 1..=255_u8).prop_map(|(at, bits)| Damage::Flip(at, bits)),
        prop::collection::vec(any::<u8>(), 0..64).prop_map(Damage::Replace),
        any::<Index>().prop_map(Damage::Swap),
        any::<u64>().prop_map(Damage::Number),
    ]
}

impl Damage {
    fn apply(&self, data: &mut BTreeMap<String, Vec<u8>>, at: Index) {
        let fields: Vec<_> = data.keys().cloned().collect();
        if fields.is_empty() {
            return;
        }
        let field = at.get(&fields).clone();
        let bytes = data.get_mut(&field).unwrap();
        match self {
            Self::Remove => drop(data.remove(&field)),
            Self::Truncate(at) if !bytes.is_empty() => bytes.truncate(at.index(bytes.len())),
            Self::Flip(at, bits) if !bytes.is_empty() => {
                let at = at.index(bytes.len());
                bytes[at] ^= bits;
            }
            Self::Truncate(_) | Self::Flip(..) => {}
            Self::Replace(other) => bytes.clone_from(other),
            Self::Swap(other) => {
                let other = other.get(&fields);
                let (one, two) = (data[&field].clone(), data[other].clone());
                data.extend([(field, two), (other.clone(), one)]);
            }
            // A number of the description becomes any other.
            Self::Number(number) => {
                let Some(text) = data.get_mut("ring.json") else { return };
                let old = String::from_utf8_lossy(text).into_owned();
                let numbers: Vec<_> = old.match_indices(':').map(|(at, _)| at + 1).collect();
                if numbers.is_empty() {
                    return;
                }
                let from = *at.get(&numbers);
                let length = old[from..].find(|byte: char| !byte.is_ascii_digit()).unwrap_or(0);
                *text = format!("{}{number}{}", &old[..from], &old[from + length..]).into_bytes();
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 800, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn damaged_data_is_named_or_does_no_harm(
        damages in prop::collection::vec((any::<Index>(), damages()), 1..3)
    ) {
        let mut data = WHOLE.clone();
        for (at, damage) in &damages {
            damage.apply(&mut data, *at);
        }
        match Ring::read(Some(&data), (0, 0), NOW) {
            Reading::Known(ring) => assert_sound(&ring, NOW),
            Reading::Newer(Some(ring)) => ring.check(NOW, &Policy::default()).unwrap(),
            // A damaged name is that of a field which is missing.
            Reading::Unreadable(RingError::Field { field, problem }) => {
                prop_assert!(WHOLE.contains_key(&field) || problem == Problem::Missing, "{field} {problem}");
            }
            Reading::Unreadable(other) => prop_assert!(false, "{}", other),
            Reading::Newer(None) => {}
            Reading::Absent => prop_assert!(data.is_empty()),
        }
    }

    #[test]
    fn any_data_is_read_without_a_panic(
        data in prop::collection::btree_map("ring.json|ca.crt|ca-[0-9a-f]{16}.(crt|key)|.{0,9}", prop::collection::vec(any::<u8>(), 0..99), 0..5)
    ) {
        let reading = Ring::read(Some(&data), (1, 2), NOW);
        prop_assert!(reading.ring().is_none());
        prop_assert_eq!(reading.facts() == RingFacts::Absent, data.is_empty());
    }
}
