//! Recovers from a ring that is lost or does not continue the known one (rules G1, G2, W3).

use std::collections::BTreeSet;

use super::StepContext;
use crate::ring::{
    Action, Blocked, BundleMark, CaId, Change, Configuration, Facts, Moment, Observations, Policy, RingFacts,
    Rule, UnknownAuthorities,
};

/// A mark further ahead than this is forged: no ring advances so far between two reads, and following it would exhaust the
/// generation numbers.
const MAX_GENERATION_GAP: u64 = 1 << 32;

impl Observations {
    /// Records a quorum read of the ring. The ring is remembered unless it does not continue the remembered one; `step`
    /// decides then.
    pub fn ring_read(&mut self, ring: &RingFacts, now: Moment, policy: &Policy) {
        let now = self.corrected(now, policy);
        self.confirmed = Some(now);
        for configuration in &mut self.configurations {
            configuration.ring_read_since = true;
        }
        if let Some(facts) = ring.facts()
            && !(StepContext { seen: self, now, policy }).breaks(facts)
        {
            self.memory = Some(facts.clone());
        }
        let is_known = |seen: &Configuration| seen.read > Moment(0) || seen.is_hidden();
        if self.begun.is_none() && self.configurations.iter().all(is_known) {
            self.begun = Some(now);
        }
        let context = StepContext { seen: self, now, policy };
        let mut seen = self.configurations.iter();
        let is_contested = seen.any(|configuration| context.contests(configuration, ring.facts()));
        self.contested = is_contested.then(|| self.contested.unwrap_or(now));
    }
}

impl StepContext<'_> {
    /// Rule G1: a replica never overwrites a valid ring from memory, it only adds CAs to it. [`None`] if the ring continues the
    /// known one; otherwise no other decision is made.
    pub(super) fn graft(&self, facts: &Facts) -> Option<Vec<Action>> {
        let mine = self.policy.enforces(Rule::G1) && (self.breaks_memory(facts) || self.breaks_leaf(facts));
        let theirs = self.breaks_configurations(facts);
        if !mine && !theirs {
            return None;
        }
        if !mine && self.must_await_others(Some(facts)) {
            return Some(self.while_contested(facts));
        }
        if let Some(look) = self.reread_before_trusting() {
            return Some(vec![look]);
        }
        if self.is_resurrected(facts) {
            return Some(vec![Action::WriteRing(Change::Revoke)]);
        }
        let (trust, imported, report) = self.adopted(Some(facts));
        let graft = Change::Graft { trust, imported, generation: self.generation_above_all(Some(facts)) };
        Some([Action::WriteRing(graft)].into_iter().chain(report).collect())
    }

    /// The actions while other replicas have time to name their CAs. One contested configuration delays no other: the
    /// others get the bundle of the ring, and the first leaf is signed when rules S1 and S2 allow it.
    fn while_contested(&self, facts: &Facts) -> Vec<Action> {
        let wait = self.await_others();
        if !wait.is_report() {
            return vec![wait];
        }
        let mut actions = self.publish_uncontested(facts);
        actions.extend(self.leaf(facts));
        actions.push(wait);
        actions.sort_by_key(Action::is_report);
        actions
    }

    /// Rule G2: restores a lost ring from memory, or creates a new one.
    pub(super) fn recover(&self, stored: Option<&Facts>) -> Vec<Action> {
        let usable = |memory: &&Facts| !self.is_dead(memory);
        if !self.policy.enforces(Rule::G2) {
            return Vec::new();
        }
        if let Some(look) = self.reread_before_trusting() {
            return vec![look];
        }
        let memory = self.seen.memory.as_ref().filter(usable);
        if memory.is_none() && self.must_await_others(stored) {
            return vec![self.await_others()];
        }
        let (trust, imported, report) = self.adopted(memory);
        let change = match memory {
            None => Change::Create { trust, imported },
            Some(memory) => Change::Restore {
                memory: Box::new(memory.clone()),
                trust,
                imported,
                generation: self.generation_above_all(None),
                rotate: memory
                    .restored
                    .is_none_or(|before| self.now.since(before) >= self.policy.restore_pause),
            },
        };
        [Action::WriteRing(change)].into_iter().chain(report).collect()
    }

    /// Reads the configurations again, then the ring; otherwise a CA that is still in use could be dropped.
    fn reread_before_trusting(&self) -> Option<Action> {
        let mut seen = self.seen.configurations.iter();
        self.reread_configurations()
            .or_else(|| seen.any(|seen| !seen.ring_read_since).then_some(Action::ReadRing))
    }

    /// Whether this ring does not continue the ring that the replica knows (rule G1).
    fn breaks(&self, facts: &Facts) -> bool {
        self.breaks_memory(facts) || self.breaks_leaf(facts) || self.breaks_configurations(facts)
    }

    fn breaks_memory(&self, facts: &Facts) -> bool {
        self.seen.memory.as_ref().is_some_and(|memory| {
            if memory.lineage == facts.lineage {
                facts.generation < memory.generation
            } else {
                memory.trusted().iter().any(|id| !facts.knows(*id))
            }
        })
    }

    fn breaks_leaf(&self, facts: &Facts) -> bool {
        let leaf = self.seen.leaf.as_ref().filter(|leaf| leaf.not_after >= self.now);
        leaf.is_some_and(|leaf| !facts.knows(leaf.issuer))
    }

    /// A backup brought back CAs that were revoked since.
    fn is_resurrected(&self, facts: &Facts) -> bool {
        let memory = self.seen.memory.as_ref();
        memory.is_some_and(|memory| facts.signing().any(|ca| memory.revoked.contains(&ca.id)))
    }

    /// Rule W3: whether a configuration names a ring that the stored one does not continue.
    fn breaks_configurations(&self, facts: &Facts) -> bool {
        let shows_other = |configuration: &Configuration| match configuration.mark {
            Some(mark) if mark.lineage == facts.lineage => is_ahead(mark, facts.generation),
            // Unknown CAs that the ring would not take are overwritten like any other bundle.
            Some(_) => self.room(Some(facts)) > 0 && configuration.trusted().any(|id| !facts.knows(id)),
            None => false,
        };
        self.policy.enforces(Rule::W3) && self.seen.configurations.iter().any(shows_other)
    }

    /// The CAs to add: the ones that this ring or this replica knows as its own, the unknown ones that the policy keeps where
    /// they are, and a report of the unknown ones above the limit.
    fn adopted(&self, base: Option<&Facts>) -> (BTreeSet<CaId>, BTreeSet<CaId>, Option<Action>) {
        let leaf = self.seen.leaf.iter().filter(|leaf| leaf.not_after >= self.now).map(|leaf| leaf.issuer);
        let memory = self.seen.memory.as_ref();
        let mut own: BTreeSet<CaId> = leaf.chain(memory.map(Facts::bundle).unwrap_or_default()).collect();
        let mut imported: BTreeSet<CaId> = memory.map(Facts::trusted).unwrap_or_default();
        imported.retain(|id| !own.contains(id));

        let published: BTreeSet<CaId> =
            self.seen.configurations.iter().flat_map(Configuration::trusted).collect();
        // CAs that the ring already has are named again, so that their quarantine starts again.
        let (known, unknown): (BTreeSet<CaId>, BTreeSet<CaId>) =
            published.into_iter().partition(|id| imported.contains(id) || !self.is_unknown(*id, base));
        let room = self.room(base);
        let left_out = unknown.len().saturating_sub(room);
        let report = (left_out > 0).then_some(Action::Report(Blocked::UnknownLimit(left_out)));
        own.extend(known.into_iter().filter(|id| !imported.contains(id)));
        imported.extend(unknown.into_iter().take(room));
        (own, imported, report)
    }

    /// Whether the CA is unknown: neither the stored ring nor this replica ever knew it.
    fn is_unknown(&self, id: CaId, base: Option<&Facts>) -> bool {
        let knows = |facts: &Facts| facts.knows(id) || facts.made.contains(&id);
        let signed = self.seen.leaf.as_ref().is_some_and(|leaf| leaf.issuer == id);
        !signed && !base.is_some_and(knows) && !self.seen.memory.as_ref().is_some_and(knows)
    }

    /// Whether this configuration names another ring or a later generation, and holds a CA that would be dropped.
    pub(super) fn contests(&self, configuration: &Configuration, base: Option<&Facts>) -> bool {
        let is_other = |mark: BundleMark| {
            base.is_none_or(|facts| mark.lineage != facts.lineage || is_ahead(mark, facts.generation))
        };
        self.policy.unknown_authorities == UnknownAuthorities::Drop
            && configuration.mark.is_some_and(is_other)
            && configuration.trusted().any(|id| self.is_unknown(id, base))
    }

    /// A replica that presents a leaf of a CA which would be dropped, and can reach the API server, adds it to the ring at once
    /// (rule G1).
    fn must_await_others(&self, base: Option<&Facts>) -> bool {
        let contested = self.seen.configurations.iter().any(|seen| self.contests(seen, base));
        contested && !self.has_waited()
    }

    pub(super) fn has_waited(&self) -> bool {
        self.seen.contested.is_some_and(|since| self.now.since(since) >= self.policy.hold_cold)
    }

    /// The wait starts with the read of the ring after which the contradiction was seen.
    pub(super) fn await_others(&self) -> Action {
        if self.seen.contested.is_some() { Action::Report(Blocked::Contested) } else { Action::ReadRing }
    }

    /// Whether a configuration shows a later generation of this very ring.
    pub(super) fn shows_later(&self, configuration: &Configuration, facts: &Facts) -> bool {
        let is_later = |mark: BundleMark| mark.lineage == facts.lineage && is_ahead(mark, facts.generation);
        self.policy.enforces(Rule::W3) && configuration.mark.is_some_and(is_later)
    }

    /// How many more unknown CAs the ring would take.
    fn room(&self, base: Option<&Facts>) -> usize {
        let imported = |facts: &Facts| facts.authorities.iter().filter(|ca| facts.is_imported(ca)).count();
        match self.policy.unknown_authorities {
            UnknownAuthorities::Keep => self.policy.unknown_limit.saturating_sub(base.map_or(0, imported)),
            UnknownAuthorities::Drop => 0,
        }
    }

    fn generation_above_all(&self, facts: Option<&Facts>) -> u64 {
        let memory = self.seen.memory.as_ref();
        let Some(base) = facts.or(memory) else { return 1 };
        let memory = memory.filter(|memory| memory.lineage == base.lineage).map(|memory| memory.generation);
        let own = base.generation.max(memory.unwrap_or(0));
        let marks = self.seen.configurations.iter().filter_map(|configuration| configuration.mark);
        let ahead = marks.filter(|mark| mark.lineage == base.lineage && is_ahead(*mark, own));
        ahead.map(|mark| mark.generation).fold(own, u64::max).saturating_add(1)
    }
}

fn is_ahead(mark: BundleMark, generation: u64) -> bool {
    mark.generation > generation && mark.generation - generation <= MAX_GENERATION_GAP
}
