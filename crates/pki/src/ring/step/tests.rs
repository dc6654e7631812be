mod absence;
mod observations;
mod persistent_writers;
mod plan;
mod recover;
mod revocation;
mod schedules;
mod sign;
mod unknown_authorities;

use std::collections::BTreeSet;
use std::time::Duration;

use crate::ring::*;

const DAY: u64 = 86_400;

struct Counter(u64);

impl CaFactory for Counter {
    fn authority(&mut self, _now: Moment, _not_after: Moment) -> Option<CaId> {
        self.0 += 1;
        Some(CaId(self.0))
    }
    fn lineage(&mut self) -> Lineage {
        Lineage(7)
    }
}

/// One replica and one configuration that always does as it is told.
struct Cluster {
    ring: RingFacts,
    seen: Observations,
    policy: Policy,
    now: Moment,
    factory: Counter,
    log: Vec<Action>,
}

impl Cluster {
    fn empty() -> Self {
        let mut policy = Policy::default();
        policy.leaf_life = Duration::from_secs(7 * 86_400);
        let now = Moment(1_000_000_000);
        let mut seen = Observations::new(1);
        let nothing = Seen { bundle: &BTreeSet::new(), mark: None, changed: Some(Moment(0)), untidy: false };
        seen.configuration_seen(0, nothing, now, &policy);
        Self { ring: RingFacts::Absent, seen, policy, now, factory: Counter(0), log: Vec::new() }
    }

    fn settled() -> Self {
        let mut cluster = Self::empty();
        cluster.run();
        cluster.pass(30);
        cluster.pass(86_400);
        cluster.log.clear();
        cluster
    }

    fn facts(&self) -> &Facts {
        self.ring.facts().unwrap()
    }

    /// The API server refuses a read of the configuration.
    fn may_not_read(&mut self, position: usize) {
        self.seen.configuration_missed(position);
        self.seen.configurations[position].denied = true;
    }

    fn change(&mut self, change: impl FnOnce(&mut Facts)) {
        let RingFacts::Known(facts) = &mut self.ring else { panic!("there is no ring") };
        change(facts);
    }

    fn steps(&self) -> Vec<Action> {
        step(&self.ring, &self.seen, self.now, &self.policy)
    }

    fn pass(&mut self, seconds: u64) {
        self.now = self.now.plus(Duration::from_secs(seconds));
        let (ring, policy) = (self.ring.clone(), self.policy.clone());
        self.seen.ring_read(&ring, self.now, &policy);
        self.run();
    }

    fn run(&mut self) {
        for _ in 0..20 {
            let actions = self.steps();
            let Some(action) = actions.into_iter().find(|action| !action.is_report()) else { return };
            self.carry_out(action);
        }
        panic!("no end of it: {:?}", self.log);
    }

    fn carry_out(&mut self, action: Action) {
        let (now, policy) = (self.now, self.policy.clone());
        match &action {
            Action::ReadRing => self.seen.ring_read(&self.ring, now, &policy),
            Action::ReadConfiguration(at) => {
                let seen = &self.seen.configurations[*at];
                let (bundle, mark, changed) = (seen.trusted().collect(), seen.mark, seen.changed);
                let seen = Seen { bundle: &bundle, mark, changed, untidy: seen.untidy };
                self.seen.configuration_seen(*at, seen, now, &policy);
            }
            Action::WriteRing(change) => {
                let facts = change.apply(self.ring.facts(), now, &policy, &mut self.factory).unwrap();
                self.seen.ring_written(&facts, now, &policy);
                self.ring = RingFacts::Known(facts);
            }
            Action::PublishBundle(at) => {
                let facts = self.facts();
                let mark = BundleMark { lineage: facts.lineage, generation: facts.generation };
                let bundle = facts.bundle_over(|id| self.seen.configurations[*at].bundle.contains_key(&id));
                let seen = Seen { bundle: &bundle, mark: Some(mark), changed: Some(now), untidy: false };
                self.seen.configuration_seen(*at, seen, now, &policy);
            }
            Action::SignLeaf(leaf) => self.seen.leaf = Some(leaf.clone()),
            Action::DropLeaf => self.seen.leaf = None,
            Action::Report(_) => {}
        }
        self.log.push(action);
    }
}

#[test]
fn an_empty_cluster_gets_a_ring_then_a_bundle_and_a_leaf_when_it_is_quiet() {
    let mut cluster = Cluster::empty();
    cluster.run();
    let begun = [
        Action::ReadRing,
        Action::WriteRing(Change::Create { trust: BTreeSet::new(), imported: BTreeSet::new() }),
    ];
    assert_eq!(cluster.log[..2], begun);
    assert_eq!(cluster.log[2..], [Action::PublishBundle(0)]);
    cluster.pass(29);
    assert_eq!(cluster.seen.leaf, None);
    cluster.pass(1);
    assert!(cluster.seen.has_leaf(cluster.now));
}

#[test]
fn a_settled_ring_asks_for_nothing_for_months_but_a_leaf() {
    let mut cluster = Cluster::settled();
    for _ in 0..100 {
        cluster.pass(86_400);
    }
    assert!(cluster.log.iter().all(|action| matches!(action, Action::SignLeaf(_))), "{:?}", cluster.log);
    assert!(cluster.log.len() >= 20);
}

#[test]
fn a_rotation_is_two_bundles() {
    let mut cluster = Cluster::settled();
    let first = cluster.facts().clone();
    let (active, next) = (first.active().unwrap().id, first.next().unwrap().id);
    for _ in 0..150 {
        cluster.pass(86_400);
    }
    let published = cluster.log.iter().filter(|action| matches!(action, Action::PublishBundle(_))).count();
    assert_eq!(published, 2);
    assert_eq!(cluster.facts().active().unwrap().id, next);
    assert_eq!(cluster.facts().authority(active), None);
    assert_eq!(cluster.facts().authorities.len(), 2);
    assert_eq!(cluster.seen.leaf.as_ref().unwrap().issuer, next);
}

#[test]
fn promotion_crosses_and_overlaps() {
    let mut cluster = Cluster::settled();
    cluster.change(|facts| facts.rotation.asked = 5);
    let old = cluster.facts().active().unwrap().id;
    cluster.pass(1);
    let active = cluster.facts().active().unwrap();
    assert_eq!(active.cross_signature.unwrap().issuer, old);
    assert!(cluster.facts().is_overlapping());
    assert_eq!(cluster.seen.leaf.as_ref().unwrap().cross_signature, Some(old));
    assert_eq!(cluster.facts().rotation, Request { asked: 5, answered: 5 });
}

#[test]
fn a_clock_that_is_off_neither_promotes_nor_removes() {
    let mut cluster = Cluster::settled();
    cluster.change(|facts| facts.rotation.asked = 5);
    cluster.seen.offset = -4000;
    let (ring, policy) = (cluster.ring.clone(), cluster.policy.clone());
    cluster.now = cluster.now.corrected(4000);
    cluster.seen.ring_read(&ring, cluster.now, &policy);
    assert_eq!(cluster.steps(), [Action::Report(Blocked::Clock)]);
}

#[test]
fn a_lost_ring_is_restored_and_rotated_once() {
    let mut cluster = Cluster::settled();
    let before = cluster.facts().clone();
    let serving = cluster.seen.leaf.clone().unwrap().issuer;
    cluster.ring = RingFacts::Absent;
    cluster.run();
    assert!(before.trusted().is_subset(&cluster.facts().trusted()));
    assert!(cluster.facts().generation > before.generation);
    // The rotation that a deletion asks for needs no wait: the next CA was seen everywhere all the while.
    assert_eq!(cluster.facts().active().unwrap().cross_signature.unwrap().issuer, serving);
    assert!(cluster.seen.has_leaf(cluster.now));
}

#[test]
fn a_second_loss_within_the_pause_rotates_nothing() {
    let mut cluster = Cluster::settled();
    cluster.ring = RingFacts::Absent;
    cluster.run();
    let active = cluster.facts().active().unwrap().id;
    // Another replica remembers the ring that it read.
    let read = cluster.facts().clone();
    cluster.seen.memory = Some(read);
    cluster.ring = RingFacts::Absent;
    cluster.pass(60);
    assert_eq!(cluster.facts().active().unwrap().id, active);
    assert!(cluster.facts().restored.is_some());
}

#[test]
fn a_rolled_back_ring_is_grafted_onto() {
    let mut cluster = Cluster::settled();
    let old = cluster.ring.clone();
    cluster.change(|facts| facts.rotation.asked = 5);
    for _ in 0..10 {
        cluster.pass(86_400);
    }
    let (serving, generation) = (cluster.seen.leaf.clone().unwrap().issuer, cluster.facts().generation);
    cluster.ring = old;
    cluster.pass(0);
    assert!(cluster.facts().generation > generation);
    assert!(cluster.facts().authority(serving).is_some());
    assert!(cluster.log.iter().any(|action| matches!(action, Action::WriteRing(Change::Graft { .. }))));
}

#[test]
fn a_newer_ring_is_used_and_not_written() {
    let mut cluster = Cluster::settled();
    cluster.ring = RingFacts::Newer(cluster.ring.facts().cloned());
    for _ in 0..300 {
        cluster.pass(86_400);
    }
    assert!(cluster.log.iter().all(|action| matches!(action, Action::SignLeaf(_))));
}

#[test]
fn a_revocation_replaces_both_and_drops_them_when_the_new_one_is_known() {
    let mut cluster = Cluster::settled();
    let stolen = cluster.facts().trusted();
    cluster.change(|facts| facts.revocation.asked = 9);
    cluster.pass(1);
    assert!(cluster.facts().trusted().is_superset(&stolen));
    cluster.pass(30);
    cluster.pass(120);
    assert!(cluster.facts().trusted().is_disjoint(&stolen));
    assert!(cluster.seen.has_leaf(cluster.now));
}

#[test]
fn a_denied_configuration_blocks_a_rotation_until_the_last_call() {
    let mut cluster = Cluster::settled();
    cluster.seen.configurations[0].bundle.retain(|id, _| *id == CaId(1));
    cluster.seen.configurations[0].denied = true;
    let next = cluster.facts().next().unwrap().id;
    cluster.change(|facts| facts.authorities[1].held = None);
    for _ in 0..130 {
        cluster.pass(86_400);
    }
    assert!(cluster.steps().contains(&Action::Report(Blocked::Hold(next))), "{:?}", cluster.steps());
    let expiry = cluster.facts().active().unwrap().not_after;
    let limit = expiry.minus(cluster.policy.leaf_life);
    while cluster.now < limit {
        cluster.pass(86_400);
    }
    // Both first CAs end on the same day: the last call comes twice.
    assert!(cluster.facts().active().unwrap().not_after > expiry, "{:?}", cluster.facts());
}
