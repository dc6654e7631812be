//! Data that is not as a ring was written.

use super::*;

/// A ring with everything in it: a cross-signed certificate, a retired CA, unknown CAs, revoked CAs.
static WHOLE: LazyLock<BTreeMap<String, Vec<u8>>> = LazyLock::new(|| {
    let policy = Policy::default();
    let mut source = keys(Algorithm::P256);
    source.learn(STRANGERS.iter().cloned());
    let graft = Change::Graft {
        trust: BTreeSet::new(),
        imported: STRANGERS.iter().map(CaId::of).collect(),
        generation: 9,
    };
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
    #![proptest_config(cases(800))]

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
