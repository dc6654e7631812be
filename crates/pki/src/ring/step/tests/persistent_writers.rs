//! Tools, clocks and policies of a cluster that do not give way.

use super::*;

impl Cluster {
    /// A tool replaces the configuration with a manifest that knows nothing of bundles.
    fn is_replaced(&mut self) {
        let (now, policy) = (self.now, self.policy.clone());
        let bare = Seen { bundle: &BTreeSet::new(), mark: None, changed: Some(now), untidy: false };
        self.seen.configuration_seen(0, bare, now, &policy);
    }

    fn forgets(&mut self) {
        self.seen = Observations::new(1);
        self.is_replaced();
        self.pass(0);
    }
}

#[test]
fn a_tool_that_replaces_a_configuration_for_ever_does_not_keep_new_replicas_unready() {
    let mut cluster = Cluster::settled();
    cluster.forgets();
    for _ in 0..12 {
        assert_eq!(cluster.seen.leaf, None);
        cluster.pass(5);
        cluster.is_replaced();
    }
    cluster.pass(0);
    assert!(cluster.seen.has_leaf(cluster.now), "{:?}", cluster.log);
}

#[test]
fn a_gap_in_what_was_seen_begins_the_wait_for_a_restless_configuration_anew() {
    let mut cluster = Cluster::settled();
    cluster.forgets();
    for _ in 0..20 {
        cluster.pass(5);
        cluster.seen.configuration_missed(0);
        cluster.is_replaced();
    }
    cluster.pass(0);
    assert_eq!(cluster.seen.leaf, None);
}

/// The CA and the leaf were made while the API server's clock was a day ahead.
fn ahead() -> Cluster {
    let mut cluster = Cluster::settled();
    let begin = cluster.now.plus(Duration::from_secs(DAY));
    cluster.change(|facts| facts.authorities.iter_mut().for_each(|ca| ca.not_before = begin));
    cluster.seen.memory = cluster.ring.facts().cloned();
    cluster.seen.leaf.as_mut().unwrap().not_before = begin;
    cluster
}

#[test]
fn a_ca_that_is_not_valid_yet_is_replaced() {
    let mut cluster = ahead();
    let before = cluster.facts().active().unwrap().id;
    assert!(!cluster.seen.has_leaf(cluster.now), "clients refuse it");
    cluster.pass(0);
    assert_ne!(cluster.facts().active().unwrap().id, before);
    assert!(cluster.facts().authority(before).is_some(), "replicas present leaves of it yet");
    cluster.pass(30);
    assert!(cluster.seen.has_leaf(cluster.now), "{:?}", cluster.log);
    assert_ne!(cluster.seen.leaf.as_ref().unwrap().issuer, before);
}

#[test]
fn a_leaf_that_is_not_valid_yet_is_signed_again_at_once() {
    let mut cluster = ahead();
    cluster.change(|facts| facts.authorities.iter_mut().for_each(|ca| ca.not_before = Moment(0)));
    cluster.seen.memory = cluster.ring.facts().cloned();
    cluster.run();
    assert!(cluster.seen.has_leaf(cluster.now));
    assert!(matches!(cluster.log[..], [Action::SignLeaf(_)]), "{:?}", cluster.log);
}

#[test]
fn a_next_ca_that_is_not_valid_yet_is_not_promoted() {
    let mut cluster = Cluster::settled();
    let begin = cluster.now.plus(Duration::from_secs(DAY));
    let next = cluster.facts().next().unwrap().id;
    cluster.change(|facts| {
        facts.authorities[1].not_before = begin;
        facts.rotation.asked = 5;
    });
    cluster.pass(DAY - 1);
    assert_eq!(cluster.steps(), [Action::Report(Blocked::Hold(next))]);
    cluster.pass(1);
    assert_eq!(cluster.facts().active().unwrap().id, next);
}

/// Days before the end of the active CA, on a machine whose clock is so many seconds behind the API server's.
fn near_its_end(offset: i64) -> (Cluster, CaId) {
    let mut cluster = Cluster::settled();
    let active = cluster.facts().active().unwrap().clone();
    let limit = active.not_after.minus(cluster.policy.last_call());
    cluster.seen.offset = offset;
    cluster.now = limit.plus(Duration::from_secs(DAY)).corrected(-offset);
    let (ring, policy) = (cluster.ring.clone(), cluster.policy.clone());
    cluster.seen.ring_read(&ring, cluster.now, &policy);
    cluster.run();
    (cluster, active.id)
}

#[test]
fn a_clock_that_is_off_does_not_block_the_last_promotion() {
    for offset in [7_200, -7_200] {
        let (cluster, active) = near_its_end(offset);
        assert_ne!(cluster.facts().active().unwrap().id, active, "{offset}: {:?}", cluster.log);
    }
}

#[test]
fn a_clock_that_jumps_to_the_end_of_a_ca_promotes_nothing() {
    let jump = i64::try_from(60 * DAY).unwrap();
    let (cluster, active) = near_its_end(jump);
    assert_eq!(cluster.facts().active().unwrap().id, active);
    assert!(cluster.steps().contains(&Action::Report(Blocked::Clock)));
}

#[test]
fn under_a_newer_ring_a_wiped_bundle_is_published_again() {
    let mut cluster = Cluster::settled();
    cluster.ring = RingFacts::Newer(cluster.ring.facts().cloned());
    cluster.is_replaced();
    cluster.run();
    assert_eq!(cluster.log, [Action::ReadRing, Action::PublishBundle(0)]);
    let published: BTreeSet<CaId> = cluster.seen.configurations[0].trusted().collect();
    assert_eq!(published, cluster.ring.facts().unwrap().trusted());
}

#[test]
fn cas_published_by_a_newer_version_are_kept() {
    let mut cluster = Cluster::settled();
    let mut bundle = cluster.facts().trusted();
    bundle.insert(CaId(4711));
    let Facts { lineage, generation, .. } = *cluster.facts();
    let policy = cluster.policy.clone();
    for generation in [generation, generation + 1] {
        let mark = Some(BundleMark { lineage, generation });
        let seen = Seen { bundle: &bundle, mark, changed: Some(cluster.now), untidy: true };
        cluster.seen.configuration_seen(0, seen, cluster.now, &policy);
        cluster.ring = RingFacts::Newer(cluster.ring.facts().cloned());
        cluster.run();
        assert_eq!(cluster.log, []);
        bundle.clear();
    }
}

#[test]
fn a_policy_that_removes_annotations_is_not_raced() {
    let mut cluster = Cluster::settled();
    let (bundle, policy) = (cluster.facts().trusted(), cluster.policy.clone());
    let mark = BundleMark { lineage: cluster.facts().lineage, generation: cluster.facts().generation };
    let strip = |cluster: &mut Cluster| {
        let seen = Seen { bundle: &bundle, mark: None, changed: Some(Moment(0)), untidy: false };
        cluster.seen.configuration_seen(0, seen, cluster.now, &policy);
    };
    strip(&mut cluster);
    let (now, ring) = (cluster.now, cluster.ring.clone());
    cluster.seen.ring_read(&ring, now, &policy);
    assert_eq!(cluster.steps(), [Action::PublishBundle(0)]);
    // The bundle is written, and the stored configuration lacks the mark again.
    strip(&mut cluster);
    cluster.seen.configuration_written(0, mark);
    assert_eq!(cluster.steps(), []);
    // The next generation is written once.
    cluster.change(|facts| facts.generation += 1);
    assert_eq!(cluster.steps(), [Action::ReadRing]);
}
