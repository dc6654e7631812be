//! Configurations that are deleted while others stay, or may not be read for a while.

use super::*;

/// A settled ring with a second configuration, which was deleted this long ago.
fn without_the_second(ago: u64) -> Cluster {
    let mut cluster = Cluster::settled();
    cluster.seen.configurations.push(cluster.seen.configurations[0].clone());
    cluster.removes(1);
    cluster.pass(ago);
    cluster
}

impl Cluster {
    fn removes(&mut self, at: usize) {
        let (now, policy) = (self.now, self.policy.clone());
        let gone = Seen { bundle: &BTreeSet::new(), mark: None, changed: None, untidy: false };
        self.seen.configuration_seen(at, gone, now, &policy);
    }

    /// A new replica that finds the first configuration as it was, and no second one.
    fn begins_without_the_second(&mut self) {
        let first = self.seen.configurations[0].clone();
        self.seen = Observations::new(2);
        let (bundle, policy) = (first.trusted().collect(), self.policy.clone());
        let seen = Seen { bundle: &bundle, mark: first.mark, changed: first.changed, untidy: false };
        self.seen.configuration_seen(0, seen, self.now, &policy);
        self.removes(1);
        self.pass(0);
    }
}

#[test]
fn a_deleted_configuration_does_not_stop_new_replicas() {
    let mut cluster = without_the_second(60);
    cluster.begins_without_the_second();
    assert_eq!(cluster.seen.leaf, None, "API servers may not have heard of the deletion");
    cluster.pass(30);
    assert!(cluster.seen.has_leaf(cluster.now), "{:?}", cluster.steps());
}

#[test]
fn a_deleted_configuration_does_not_block_a_rotation() {
    let mut cluster = without_the_second(60);
    let next = cluster.facts().next().unwrap().id;
    cluster.change(|facts| facts.rotation.asked = 5);
    cluster.pass(1);
    assert_eq!(cluster.facts().active().unwrap().id, next);
    assert_eq!(cluster.seen.leaf.as_ref().unwrap().issuer, next);
}

#[test]
fn a_configuration_that_comes_back_gets_the_bundle_and_its_hold_begins_anew() {
    let mut cluster = without_the_second(60);
    cluster.change(|facts| facts.rotation.asked = 5);
    cluster.pass(1);
    let policy = cluster.policy.clone();
    let bare = Seen { bundle: &BTreeSet::new(), mark: None, changed: Some(cluster.now), untidy: false };
    cluster.seen.configuration_seen(1, bare, cluster.now, &policy);
    cluster.run();
    let published: BTreeSet<CaId> = cluster.seen.configurations[1].trusted().collect();
    assert_eq!(published, cluster.facts().trusted());
    let next = cluster.facts().next().unwrap().id;
    cluster.pass(DAY - 60);
    assert_eq!(cluster.facts().authority(next).unwrap().held, None);
    cluster.pass(60);
    assert!(cluster.facts().authority(next).unwrap().held.is_some());
}

#[test]
fn a_configuration_that_is_still_to_come_does_not_make_a_first_start_ready() {
    let mut cluster = Cluster::empty();
    cluster.seen = Observations::new(1);
    cluster.removes(0);
    for _ in 0..5 {
        cluster.pass(60);
    }
    assert_eq!(cluster.seen.leaf, None);
}

/// An API server that had just started refused every read. The next CA counted as known everywhere at once, and signed on request
/// before any configuration held it.
#[test]
fn a_ca_is_not_held_while_no_configuration_may_be_read() {
    let mut cluster = Cluster::settled();
    let (active, next) = (cluster.facts().active().unwrap().id, cluster.facts().next().unwrap().id);
    cluster.change(|facts| facts.authorities[1].held = None);
    cluster.may_not_read(0);
    cluster.change(|facts| facts.rotation.asked = 5);
    for _ in 0..3 {
        cluster.pass(60);
    }
    assert_eq!(cluster.facts().active().unwrap().id, active);
    assert_eq!(cluster.facts().authority(next).unwrap().held, None, "{:?}", cluster.steps());
}

/// A revocation that was asked while an API server refused every read signed with a CA that no configuration had, at once. It goes on
/// after a while, because the right to read may be missing for good.
#[test]
fn a_new_active_ca_signs_after_a_while_if_no_configuration_may_be_read() {
    let mut cluster = Cluster::settled();
    let leaf = cluster.seen.leaf.clone();
    cluster.may_not_read(0);
    cluster.change(|facts| facts.revocation.asked = 5);
    cluster.pass(1);
    cluster.pass(10);
    assert_eq!(cluster.seen.leaf, leaf, "{:?}", cluster.log);
    cluster.pass(60);
    assert_eq!(cluster.seen.leaf.as_ref().unwrap().issuer, cluster.facts().active().unwrap().id);
}

/// A configuration whose right to read was taken away counted as lost at once, so the next CA was held without it, and signed on
/// request although an API server may not know it.
#[test]
fn a_rotation_waits_while_one_of_several_configurations_may_not_be_read() {
    let mut cluster = without_the_second(0);
    let (active, next) = (cluster.facts().active().unwrap().id, cluster.facts().next().unwrap().id);
    cluster.change(|facts| facts.authorities[1].held = None);
    cluster.may_not_read(1);
    cluster.change(|facts| facts.rotation.asked = 5);
    for _ in 0..3 {
        cluster.pass(DAY);
    }
    assert_eq!(cluster.facts().authority(next).unwrap().held, None, "{:?}", cluster.steps());
    assert_eq!(cluster.facts().active().unwrap().id, active);
}
