//! When a replica signs a leaf (rules S1, S2, S3, E1).

use super::*;

const PREDECESSOR: CaId = CaId(1);
const ACTIVE: CaId = CaId(2);

/// The leaf that the replica signs now, if any.
fn signed(cluster: &Cluster) -> Option<LeafFacts> {
    cluster.steps().into_iter().find_map(|action| match action {
        Action::SignLeaf(leaf) => Some(leaf),
        _ => None,
    })
}

/// A ring after a promotion, and a replica whose leaf is of the predecessor.
fn before_the_switch() -> Cluster {
    let mut cluster = Cluster::settled();
    let leaf = cluster.seen.leaf.clone();
    cluster.change(|facts| facts.rotation.asked = 5);
    cluster.pass(1);
    cluster.seen.leaf = leaf;
    assert_eq!(signed(&cluster).unwrap().issuer, ACTIVE);
    cluster
}

#[test]
fn a_leaf_is_signed_again_at_two_thirds_of_its_life() {
    let mut cluster = Cluster::settled();
    let leaf = cluster.seen.leaf.clone().unwrap();
    let life = cluster.policy.leaf_life;
    assert_eq!(leaf.renew, leaf.not_after.minus(life / 3));
    cluster.pass(leaf.renew.since(cluster.now).as_secs() - 1);
    assert_eq!(cluster.log, []);
    cluster.pass(1);
    assert!(matches!(cluster.log[..], [Action::SignLeaf(_)]), "{:?}", cluster.log);
    // The ring was not read since, so a new leaf would end with this one (rule S3).
    cluster.now = cluster.seen.leaf.as_ref().unwrap().renew;
    assert_eq!(cluster.steps(), []);
}

#[test]
fn no_leaf_is_signed_when_the_ring_was_not_read_for_the_life_of_a_leaf() {
    let mut cluster = Cluster::settled();
    cluster.seen.leaf = None;
    cluster.now = cluster.seen.confirmed.unwrap().plus(cluster.policy.leaf_life);
    assert_eq!(cluster.steps(), []);
    cluster.now = cluster.now.minus(Duration::from_secs(1));
    assert_eq!(signed(&cluster).unwrap().not_after, cluster.now.plus(Duration::from_secs(1)));
}

#[test]
fn a_configuration_that_was_read_before_the_ring_is_read_again_before_the_first_leaf() {
    let mut cluster = Cluster::settled();
    cluster.seen.leaf = None;
    // The second may not be read, so nothing waits for it.
    let mut hidden = Observations::new(1).configurations.remove(0);
    hidden.denied = true;
    cluster.seen.configurations.push(hidden);
    cluster.pass(0);
    let [Action::ReadConfiguration(0), Action::SignLeaf(_)] = cluster.log[..] else {
        panic!("{:?}", cluster.log)
    };
}

/// Whether each CA is held, whether the configuration shows it, and the leaf: signed or not, and with the
/// cross-signed certificate or without, in its last second and after it.
#[test]
fn a_leaf_needs_a_held_ca_and_a_known_one_in_every_configuration() {
    let both = [PREDECESSOR, ACTIVE].as_slice();
    for (held, known, before, after) in [
        (both, both, Some(true), Some(false)),
        (&[PREDECESSOR], &[PREDECESSOR], Some(true), None),
        (&[PREDECESSOR], both, Some(true), None),
        (&[ACTIVE], &[PREDECESSOR], Some(true), None),
        (&[], both, None, None),
        (both, &[], None, None),
    ] {
        let mut cluster = before_the_switch();
        let (seen, end) = (cluster.now, cluster.now.plus(Duration::from_secs(100)));
        cluster.change(|facts| {
            for ca in &mut facts.authorities {
                ca.held = held.contains(&ca.id).then_some(seen);
                if let Some(cross_signature) = &mut ca.cross_signature {
                    cross_signature.not_after = end;
                }
            }
        });
        cluster.seen.configurations[0].bundle.retain(|id, _| known.contains(id));
        for (now, expected) in [(end.minus(Duration::from_secs(1)), before), (end, after)] {
            cluster.now = now;
            let leaf = signed(&cluster);
            let crossed = leaf.map(|leaf| leaf.cross_signature == Some(PREDECESSOR));
            assert_eq!(crossed, expected, "held: {held:?}, known: {known:?}, {now:?}");
        }
    }
}

#[test]
fn rule_e1_keeps_a_leaf_whose_ca_is_missing_in_a_configuration() {
    let mut cluster = Cluster::settled();
    let drops = |cluster: &Cluster, policy: &Policy| {
        step(&cluster.ring, &cluster.seen, cluster.now, policy).contains(&Action::DropLeaf)
    };
    let without = cluster.policy.clone().without(Rule::E1);
    assert!(!drops(&cluster, &without));
    cluster.seen.configurations[0].bundle.clear();
    assert!(drops(&cluster, &without) && !drops(&cluster, &cluster.policy));
}
