//! Keys that were stolen.

use super::*;

fn revoked() -> (Cluster, Facts, LeafFacts) {
    let mut cluster = Cluster::settled();
    let (before, leaf) = (cluster.facts().clone(), cluster.seen.leaf.clone().unwrap());
    cluster.change(|facts| facts.revocation.asked = 9);
    cluster.pass(1);
    cluster.pass(30);
    cluster.pass(120);
    cluster.log.clear();
    (cluster, before, leaf)
}

#[test]
fn a_laggard_does_not_bring_back_what_was_revoked() {
    let (mut cluster, before, leaf) = revoked();
    // This replica slept during the revocation, and wakes with a leaf of the stolen CA.
    (cluster.seen.memory, cluster.seen.leaf) = (Some(before.clone()), Some(leaf));
    cluster.pass(0);
    assert!(cluster.facts().trusted().is_disjoint(&before.trusted()));
    assert!(cluster.log.iter().all(|action| matches!(action, Action::SignLeaf(_))), "{:?}", cluster.log);
    let serving = cluster.seen.leaf.unwrap().issuer;
    assert_eq!(serving, cluster.ring.facts().unwrap().active().unwrap().id);
}

#[test]
fn a_backup_with_stolen_keys_is_revoked_again() {
    let (mut cluster, before, _) = revoked();
    let serving = cluster.seen.leaf.clone().unwrap().issuer;
    cluster.ring = RingFacts::Known(before.clone());
    cluster.pass(0);
    let signing = cluster.facts().active().unwrap().id;
    assert!(!before.trusted().contains(&signing), "{:?}", cluster.log);
    assert!(cluster.facts().authority(serving).is_some(), "it serves until the new one is known");
    for _ in 0..10 {
        cluster.pass(DAY);
    }
    assert!(cluster.facts().trusted().is_disjoint(&before.trusted()));
}

#[test]
fn stolen_cas_go_even_where_a_configuration_cannot_be_written() {
    let mut cluster = Cluster::settled();
    let stolen = cluster.facts().trusted();
    cluster.seen.configurations[0].denied = true;
    cluster.change(|facts| facts.revocation.asked = 9);
    cluster.pass(1);
    for _ in 0..7 {
        cluster.pass(DAY);
        assert!(stolen.is_subset(&cluster.facts().trusted()), "leaves of theirs may be all that works there");
    }
    cluster.pass(DAY);
    assert!(cluster.facts().trusted().is_disjoint(&stolen));
}

#[test]
fn cas_carried_over_from_a_stolen_ring_are_revoked_with_it() {
    let mut cluster = Cluster::settled();
    let (stolen, leaf) = (cluster.facts().trusted(), cluster.seen.leaf.clone());
    // Secret and memory are gone, so the new ring knows them as strangers.
    cluster.ring = RingFacts::Absent;
    cluster.seen.memory = None;
    cluster.pass(0);
    cluster.pass(30);
    assert!(cluster.facts().authority(CaId(1)).unwrap().is_foreign());
    cluster.change(|facts| facts.revocation.asked = 9);
    cluster.pass(1);
    cluster.pass(30);
    cluster.pass(120);
    // A laggard does not bring them back.
    cluster.seen.leaf = leaf;
    cluster.pass(0);
    assert!(cluster.facts().trusted().is_disjoint(&stolen), "{:?}", cluster.facts());
}
