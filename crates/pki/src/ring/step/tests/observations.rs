//! The records of a replica: reads and writes of the ring, reads and watch events of configurations.

use super::*;

#[test]
fn a_replica_watches_from_the_first_ring_that_it_reads_after_every_configuration() {
    let mut cluster = Cluster::settled();
    let first = cluster.seen.configurations.remove(0);
    let (ring, now, policy) = (&cluster.ring, cluster.now, &cluster.policy);
    let mut seen = Observations::new(2);
    seen.configurations[0] = first;
    seen.ring_read(ring, now, policy);
    assert_eq!(seen.begun, None, "the second is unread");
    // A configuration that may not be read is not waited for.
    seen.configurations[1].denied = true;
    seen.ring_read(ring, now, policy);
    assert_eq!(seen.begun, Some(now));
}

#[test]
fn only_the_first_of_several_refused_reads_and_the_next_success_are_gaps() {
    let mut cluster = Cluster::settled();
    cluster.may_not_read(0);
    assert_eq!(cluster.seen.begun, None);
    cluster.pass(1);
    let begun = cluster.seen.begun;
    assert!(begun.is_some());
    cluster.may_not_read(0);
    assert_eq!(cluster.seen.begun, begun);
    let seen = Seen { bundle: &BTreeSet::new(), mark: None, changed: Some(Moment(0)), untidy: false };
    cluster.seen.configuration_seen(0, seen, cluster.now, &cluster.policy.clone());
    assert_eq!(cluster.seen.begun, None, "nothing was seen in between");
}

#[test]
fn a_ring_that_the_replica_wrote_is_confirmed_and_remembered() {
    let cluster = Cluster::settled();
    let mut seen = Observations::new(0);
    seen.offset = 7;
    seen.ring_written(cluster.facts(), cluster.now, &cluster.policy);
    assert_eq!(seen.memory.as_ref(), Some(cluster.facts()));
    assert_eq!(seen.confirmed, Some(Moment(cluster.now.0 + 7)));
}

#[test]
fn a_mark_counts_as_removed_by_a_policy_only_while_the_object_exists_without_a_mark() {
    let mut cluster = Cluster::settled();
    let (mark, now, policy) = (cluster.facts().mark(), cluster.now, cluster.policy.clone());
    for (changed, shown, expected) in
        [(Some(now), None, Some(mark)), (Some(now), Some(mark), None), (None, None, None)]
    {
        cluster.seen.configurations[0].stripped = Some(mark);
        let seen = Seen { bundle: &BTreeSet::new(), mark: shown, changed, untidy: false };
        cluster.seen.configuration_seen(0, seen, now, &policy);
        assert_eq!(cluster.seen.configurations[0].stripped, expected);
    }
}

#[test]
fn a_ca_is_everywhere_since_the_last_configuration_showed_it() {
    let mut seen = Observations::new(2);
    seen.configurations[0].bundle.extend([(CaId(1), Moment(10)), (CaId(2), Moment(10))]);
    seen.configurations[1].bundle.insert(CaId(1), Moment(20));
    assert_eq!((seen.everywhere_since(CaId(1)), seen.everywhere_since(CaId(2))), (Some(Moment(20)), None));
}
