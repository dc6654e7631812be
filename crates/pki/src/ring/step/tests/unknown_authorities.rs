//! CAs that others write into a configuration of ours.

use super::*;

const UNKNOWN_CA: CaId = CaId(4711);

/// A ring with two configurations; a stranger has written its CA into the first, under this mark.
fn planted(mark: impl FnOnce(&Facts) -> BundleMark) -> Cluster {
    let mut cluster = Cluster::settled();
    cluster.seen.configurations.push(cluster.seen.configurations[0].clone());
    let (mark, policy) = (mark(cluster.facts()), cluster.policy.clone());
    let bundle = BTreeSet::from([UNKNOWN_CA]);
    let seen = Seen { bundle: &bundle, mark: Some(mark), changed: Some(cluster.now), untidy: false };
    cluster.seen.configuration_seen(0, seen, cluster.now, &policy);
    cluster
}

fn a_generation_ahead(facts: &Facts) -> BundleMark {
    BundleMark { lineage: facts.lineage, generation: facts.generation + 1 }
}

fn another_lineage(_: &Facts) -> BundleMark {
    BundleMark { lineage: Lineage(99), generation: 3 }
}

fn trusted(cluster: &Cluster, at: usize) -> BTreeSet<CaId> {
    cluster.seen.configurations[at].trusted().collect()
}

#[test]
fn an_unknown_ca_in_one_configuration_reaches_no_other_and_is_removed() {
    for mark in [a_generation_ahead, another_lineage] {
        let mut cluster = planted(mark);
        for _ in 0..8 {
            cluster.pass(5);
            assert!(!trusted(&cluster, 1).contains(&UNKNOWN_CA), "{:?}", cluster.log);
        }
        assert_eq!(cluster.facts().authority(UNKNOWN_CA), None);
        assert_eq!(trusted(&cluster, 0), cluster.facts().trusted(), "{:?}", cluster.log);
        assert!(cluster.seen.has_leaf(cluster.now));
    }
}

#[test]
fn a_foreign_edit_of_one_configuration_delays_no_other() {
    let mut cluster = planted(a_generation_ahead);
    cluster.pass(0);
    let nothing = Seen { bundle: &BTreeSet::new(), mark: None, changed: Some(cluster.now), untidy: false };
    cluster.seen.configuration_seen(1, nothing, cluster.now, &cluster.policy);
    cluster.pass(0);
    assert_eq!(trusted(&cluster, 0), BTreeSet::from([UNKNOWN_CA]), "the contested one waits");
    assert_eq!(trusted(&cluster, 1), cluster.facts().trusted(), "{:?}", cluster.log);
    assert!(cluster.steps().contains(&Action::Report(Blocked::Contested)));
}

/// The edit added a CA and left ours, so API servers accept the leaf of a new replica.
#[test]
fn a_replica_begins_while_a_configuration_is_contested() {
    let mut cluster = planted(a_generation_ahead);
    let (mark, begun) = (a_generation_ahead(cluster.facts()), cluster.now.minus(cluster.policy.hold_cold));
    let bundle = cluster.facts().trusted().into_iter().chain([UNKNOWN_CA]).collect();
    let seen = Seen { bundle: &bundle, mark: Some(mark), changed: Some(begun), untidy: false };
    let policy = cluster.policy.clone();
    cluster.seen.configuration_seen(0, seen, cluster.now, &policy);
    cluster.seen.leaf = None;
    cluster.pass(0);
    assert!(cluster.seen.has_leaf(cluster.now), "{:?}", cluster.log);
    assert!(cluster.steps().contains(&Action::Report(Blocked::Contested)));
}

#[test]
fn a_ca_that_is_kept_for_a_migration_stays_where_it_was_found() {
    for mark in [a_generation_ahead, another_lineage] {
        let mut cluster = planted(mark);
        cluster.policy.unknown_authorities = UnknownAuthorities::Keep;
        cluster.pass(0);
        assert!(cluster.facts().authority(UNKNOWN_CA).is_some(), "{:?}", cluster.log);
        assert!(trusted(&cluster, 0).contains(&UNKNOWN_CA), "{:?}", cluster.log);
        assert!(!trusted(&cluster, 1).contains(&UNKNOWN_CA), "{:?}", cluster.log);
        // Also after the Secret was lost.
        cluster.ring = RingFacts::Absent;
        cluster.pass(0);
        assert!(trusted(&cluster, 0).contains(&UNKNOWN_CA) && !trusted(&cluster, 1).contains(&UNKNOWN_CA));
    }
}

#[test]
fn replicas_that_know_a_ca_are_given_time_to_name_it() {
    let mut cluster = planted(another_lineage);
    let policy = cluster.policy.clone();
    cluster.pass(0);
    assert_eq!(trusted(&cluster, 0), BTreeSet::from([UNKNOWN_CA]));
    assert!(cluster.steps().contains(&Action::Report(Blocked::Contested)));
    // A replica that signs with it grafts it.
    let mut other = Observations::new(0);
    other.leaf = cluster.seen.leaf.clone().map(|leaf| LeafFacts { issuer: UNKNOWN_CA, ..leaf });
    other.ring_read(&cluster.ring, cluster.now, &policy);
    let actions = step(&cluster.ring, &other, cluster.now, &policy);
    let [Action::WriteRing(change @ Change::Graft { .. })] = &actions[..] else { panic!("{actions:?}") };
    let grafted = change.apply(cluster.ring.facts(), cluster.now, &policy, &mut cluster.factory).unwrap();
    cluster.ring = RingFacts::Known(grafted);
    cluster.pass(1);
    assert!(trusted(&cluster, 0).contains(&UNKNOWN_CA) && trusted(&cluster, 1).contains(&UNKNOWN_CA));
    assert!(cluster.facts().made.contains(&UNKNOWN_CA), "its replicas are of this ring");
}

#[test]
fn a_ca_that_this_ring_once_made_is_taken_again() {
    let mut cluster = planted(a_generation_ahead);
    cluster.change(|facts| facts.made.push(UNKNOWN_CA));
    cluster.pass(0);
    assert!(trusted(&cluster, 0).contains(&UNKNOWN_CA) && trusted(&cluster, 1).contains(&UNKNOWN_CA));
}

#[test]
fn a_lost_ring_is_not_made_anew_before_replicas_could_restore_it() {
    let mut cluster = planted(another_lineage);
    cluster.ring = RingFacts::Absent;
    (cluster.seen.memory, cluster.seen.leaf) = (None, None);
    cluster.pass(29);
    assert_eq!(cluster.ring, RingFacts::Absent);
    cluster.pass(30);
    assert!(!cluster.facts().trusted().contains(&UNKNOWN_CA));
}

#[test]
fn the_issuer_of_a_replicas_own_leaf_is_added() {
    let mut cluster = planted(another_lineage);
    cluster.ring = RingFacts::Absent;
    cluster.seen.memory = None;
    cluster.seen.leaf.as_mut().unwrap().issuer = UNKNOWN_CA;
    cluster.pass(0);
    cluster.pass(30);
    let foreign = cluster.facts().authorities.iter().filter(|ca| ca.is_foreign()).map(|ca| ca.id);
    assert_eq!(foreign.collect::<Vec<_>>(), [UNKNOWN_CA]);
}
