//! Schedules that once ended badly.

use super::*;

#[test]
fn a_clock_that_jumps_ahead_holds_nothing() {
    let mut cluster = Cluster::empty();
    cluster.run();
    cluster.pass(30);
    let next = cluster.facts().next().unwrap().id;
    // The API server's clock is a day ahead for a moment.
    cluster.seen.offset = i64::try_from(DAY).unwrap();
    cluster.pass(1);
    cluster.seen.offset = 0;
    cluster.pass(1);
    assert_eq!(cluster.facts().authority(next).unwrap().held, None);
}

#[test]
fn a_second_rotation_waits_for_the_end_of_the_first() {
    let mut cluster = Cluster::settled();
    cluster.change(|facts| facts.rotation.asked = 1);
    cluster.pass(1);
    let second = cluster.facts().active().unwrap().id;
    cluster.change(|facts| facts.rotation.asked = 2);
    for _ in 0..7 {
        cluster.pass(DAY);
        assert_eq!(cluster.facts().active().unwrap().id, second);
    }
    cluster.pass(DAY);
    assert_ne!(cluster.facts().active().unwrap().id, second);
    assert!(!cluster.facts().rotation.is_open());
}

#[test]
fn after_a_last_call_a_new_replica_has_a_complete_chain() {
    let mut cluster = Cluster::settled();
    // The next CA never became known everywhere; the only one refuses our writes.
    let (active, next) = (cluster.facts().active().unwrap().id, cluster.facts().next().unwrap().id);
    cluster.seen.configurations[0].bundle.retain(|id, _| *id == active);
    cluster.seen.configurations[0].denied = true;
    cluster.change(|facts| {
        let unheld = facts.authorities.iter_mut().filter(|ca| ca.id == next);
        unheld.for_each(|ca| {
            ca.held = None;
            ca.not_after = ca.not_after.plus(Duration::from_secs(100 * DAY));
        });
    });
    let end = cluster.facts().active().unwrap().not_after;
    while cluster.facts().authority(active).is_some() {
        cluster.pass(DAY);
    }
    assert!(cluster.now < end, "the predecessor is removed before it ends");
    // The cross-signed certificate leads clients with the old bundle to the new leaf.
    cluster.begin_anew();
    assert_eq!(cluster.seen.leaf.as_ref().unwrap().cross_signature, Some(active));
    // When the old CA ends, clients with only its certificate are lost, and all others are still served.
    while cluster.now < end.plus(Duration::from_secs(DAY)) {
        cluster.pass(DAY);
    }
    cluster.begin_anew();
    assert!(cluster.seen.has_leaf(cluster.now));
}

/// Both first CAs end on one day, so the last call comes twice: the second successor has no cross-signed certificate of the first.
#[test]
fn a_configuration_is_not_lost_while_our_own_leaf_verifies_there() {
    let mut cluster = Cluster::settled();
    let active = cluster.facts().active().unwrap().id;
    cluster.seen.configurations[0].bundle.retain(|id, _| *id == active);
    cluster.seen.configurations[0].denied = true;
    cluster.change(|facts| facts.authorities[1].held = None);
    let verifies = |leaf: &LeafFacts| leaf.issuer == active || leaf.cross_signature == Some(active);
    let end = cluster.facts().active().unwrap().not_after;
    while cluster.now.plus(Duration::from_secs(DAY)) < end {
        let before = cluster.seen.leaf.clone().unwrap();
        cluster.pass(DAY);
        let leaf = cluster.seen.leaf.as_ref().unwrap();
        assert!(before.not_after < cluster.now || !verifies(&before) || verifies(leaf), "{leaf:?}");
    }
    assert!(cluster.facts().authority(CaId(4)).is_some(), "there were two last calls");
}

#[test]
fn a_lost_configuration_does_not_make_a_first_start_ready() {
    let mut cluster = Cluster::empty();
    cluster.seen.configurations[0].denied = true;
    for _ in 0..5 {
        cluster.pass(60);
    }
    assert_eq!(cluster.seen.leaf, None);
    assert!(cluster.steps().contains(&Action::Report(Blocked::Denied(0))));
}

#[test]
fn a_configuration_that_may_not_be_read_does_not_keep_a_ring_from_being_made() {
    let mut cluster = Cluster::empty();
    cluster.seen = Observations::new(1);
    assert_eq!(cluster.steps(), [Action::ReadConfiguration(0)]);
    cluster.seen.configurations[0].denied = true;
    cluster.run();
    assert!(cluster.ring.facts().is_some());
}

#[test]
fn a_configuration_that_may_not_be_read_any_more_does_not_keep_a_replica_from_beginning() {
    let mut cluster = Cluster::settled();
    cluster.change(|facts| facts.generation = 7);
    cluster.seen = Observations::new(1);
    cluster.seen.configurations[0].denied = true;
    cluster.pass(0);
    assert!(cluster.seen.has_leaf(cluster.now), "{:?}", cluster.log);
}

#[test]
fn a_mark_that_is_far_ahead_is_overwritten() {
    let mut cluster = Cluster::settled();
    let lineage = cluster.facts().lineage;
    cluster.shows(&[4711], Some(BundleMark { lineage, generation: u64::MAX }));
    cluster.run();
    assert_eq!(cluster.log, [Action::ReadRing, Action::PublishBundle(0)]);
}

#[test]
fn unknown_cas_are_kept_up_to_a_limit() {
    let many: Vec<u64> = (100..120).collect();
    let mut cluster = Cluster::settled();
    cluster.policy.unknown_authorities = UnknownAuthorities::Keep;
    cluster.shows(&many, Some(BundleMark { lineage: Lineage(99), generation: 3 }));
    let report = Action::Report(Blocked::UnknownLimit(12));
    cluster.look();
    assert_eq!(cluster.steps().last(), Some(&report));
    cluster.run();
    let foreign: Vec<_> = cluster.facts().authorities.iter().filter(|ca| ca.is_foreign()).collect();
    assert_eq!(foreign.iter().map(|ca| ca.id.0).collect::<Vec<_>>(), many[..8]);
    assert_eq!(cluster.log.last(), Some(&Action::PublishBundle(0)));
}

#[test]
fn a_quarantine_may_be_longer_than_a_leaf() {
    let mut cluster = Cluster::settled();
    cluster.policy.unknown_authorities = UnknownAuthorities::Keep;
    cluster.policy.quarantine = Some(Duration::from_secs(20 * DAY));
    cluster.shows(&[4711], Some(BundleMark { lineage: Lineage(99), generation: 3 }));
    for day in 0..22 {
        assert!(cluster.facts().authority(CaId(4711)).is_some() || day == 0 || day > 20, "day {day}");
        cluster.pass(DAY);
    }
    assert_eq!(cluster.facts().authority(CaId(4711)), None);
}

#[test]
fn an_untidy_bundle_is_published_again() {
    let mut cluster = Cluster::settled();
    cluster.seen.configurations[0].untidy = true;
    cluster.run();
    assert_eq!(cluster.log, [Action::ReadRing, Action::PublishBundle(0)]);
}

#[test]
fn a_hold_survives_replicas_that_live_shorter() {
    for proof in [false, true] {
        let mut cluster = Cluster::empty();
        cluster.run();
        cluster.pass(30);
        let published = cluster.now;
        // Each replica lives for an hour.
        for _ in 0..30 {
            cluster.pass(3_600);
            cluster.begin_anew();
            if proof {
                cluster.seen.configuration_unchanged_since(0, published);
            }
            cluster.run();
        }
        assert_eq!(cluster.facts().next().unwrap().held.is_some(), proof);
    }
}

#[test]
fn repairs_are_not_planned_changes() {
    let trust = BTreeSet::new;
    let mends = [
        Change::Create { trust: trust(), imported: trust() },
        Change::Graft { trust: trust(), imported: trust(), generation: 1 },
        Change::Revoke,
    ];
    assert!(mends.iter().all(|change| !change.is_planned()));
    let planned = [Change::Hold(CaId(1)), Change::Promote, Change::Remove(trust())];
    assert!(planned.iter().all(Change::is_planned));
}

#[test]
fn many_configurations_are_read_to_the_end() {
    let mut cluster = Cluster::empty();
    cluster.seen = Observations::new(20);
    let policy = cluster.policy.clone();
    let mut reads = 0;
    while let [Action::ReadConfiguration(at)] = cluster.steps()[..] {
        let seen = Seen { bundle: &BTreeSet::new(), mark: None, changed: Some(Moment(0)), untidy: false };
        cluster.now = cluster.now.plus(Duration::from_secs(1));
        cluster.seen.configuration_seen(at, seen, cluster.now, &policy);
        reads += 1;
        assert!(reads <= 20, "the first is old again before the last is read");
    }
    assert_eq!(reads, 20);
}

impl Cluster {
    fn shows(&mut self, ids: &[u64], mark: Option<BundleMark>) {
        let (bundle, policy) = (ids.iter().copied().map(CaId).collect(), self.policy.clone());
        let seen = Seen { bundle: &bundle, mark, changed: Some(self.now), untidy: false };
        self.seen.configuration_seen(0, seen, self.now, &policy);
    }

    /// The looks that come before a decision.
    fn look(&mut self) {
        while let Some(action @ (Action::ReadRing | Action::ReadConfiguration(_))) =
            self.steps().first().cloned()
        {
            self.carry_out(action);
        }
    }

    /// The replica is replaced; the configuration stays what it is.
    fn begin_anew(&mut self) {
        let old = self.seen.configurations[0].clone();
        self.seen = Observations::new(1);
        let (bundle, policy) = (old.trusted().collect(), self.policy.clone());
        let seen = Seen { bundle: &bundle, mark: old.mark, changed: old.changed, untidy: false };
        self.seen.configuration_seen(0, seen, self.now, &policy);
        self.seen.configurations[0].denied = old.denied;
        self.pass(0);
    }
}
