//! Decides when a replica signs a leaf, and for how long (rules S1, S2, S3, E1).

use super::StepContext;
use crate::authority::BACKDATED;
use crate::ring::{Action, Configuration, Facts, LeafFacts, Rule};

impl StepContext<'_> {
    pub(super) fn leaf(&self, facts: &Facts) -> Option<Action> {
        let fresh = self.fresh_leaf(facts)?;
        let Some(leaf) = self.seen.leaf.as_ref() else {
            let begins = self.may_switch(facts) && self.may_begin(facts);
            return begins.then(|| self.reread_before_first_leaf().unwrap_or(Action::SignLeaf(fresh)));
        };
        if !self.policy.enforces(Rule::E1) && !self.may_switch(facts) {
            return Some(Action::DropLeaf);
        }
        // A new active CA gets this time to become held. After it, a leaf that clients may refuse is better than none.
        let patience = self.policy.hold_cold.saturating_mul(2);
        let ends = leaf.not_after.plus(patience) <= self.now && self.policy.enforces(Rule::E1);
        let is_due = if leaf.issuer == fresh.issuer {
            // While the ring cannot be read, rule S3 gives a new leaf the same end as the old one.
            leaf.renew <= self.now && fresh.not_after > leaf.not_after || leaf.not_before > self.now
        } else {
            ends || self.may_switch(facts)
        };
        is_due.then_some(Action::SignLeaf(fresh))
    }

    /// The leaf that could be signed now. [`None`] if it would have expired already.
    fn fresh_leaf(&self, facts: &Facts) -> Option<LeafFacts> {
        let active = facts.active()?;
        let life = self.policy.leaf_life;
        // Rule S3: the ring may have changed since it was read.
        let from = if self.policy.enforces(Rule::S3) { self.seen.confirmed?.min(self.now) } else { self.now };
        let not_after = from.plus(life).min(active.not_after);
        let renew = self.now.plus(not_after.since(self.now) / 3 * 2);
        let not_before = self.now.minus(BACKDATED).max(active.not_before);
        (not_after > self.now).then_some(LeafFacts {
            issuer: active.id,
            cross_signature: active.crossed_by(self.now),
            renew,
            not_before,
            not_after,
        })
    }

    /// Rule S1: every configuration now holds a CA that verifies the new leaf, and one such CA is held. The cross-signed
    /// certificate also verifies against a predecessor that the ring has already removed.
    fn may_switch(&self, facts: &Facts) -> bool {
        if !self.policy.enforces(Rule::S1) {
            return true;
        }
        let Some(active) = facts.active() else { return false };
        let ends = [Some(active.id), active.crossed_by(self.now)];
        let verifies = |configuration: &Configuration| {
            ends.iter().flatten().any(|id| configuration.bundle.contains_key(id))
        };
        facts.anchors(self.now).any(|ca| ca.held.is_some()) && self.reachable(facts).all(verifies)
    }

    /// Rule S2: a configuration that was read before the ring may have changed in between, so it is read again.
    fn reread_before_first_leaf(&self) -> Option<Action> {
        let is_earlier =
            |configuration: &Configuration| configuration.ring_read_since && !configuration.is_hidden();
        let before = self.seen.configurations.iter().position(is_earlier);
        before.filter(|_| self.policy.enforces(Rule::S2)).map(Action::ReadConfiguration)
    }

    /// Rule S2: API servers may not have the latest configurations yet when a replica starts, so it waits until all were quiet
    /// for `hold_cold`. A tool that rewrites a configuration all the time must not keep the replica waiting: after watching
    /// for twice `hold_cold` it has seen every version that an API server may still hold.
    fn may_begin(&self, facts: &Facts) -> bool {
        let is_quiet = |changed| self.has_watched() || self.now.since(changed) >= self.policy.hold_cold;
        !self.policy.enforces(Rule::S2)
            || self.reachable(facts).all(|configuration| configuration.changed.is_some_and(is_quiet))
    }

    /// Whether the replica has watched the configurations, or tried to, for twice `hold_cold`.
    pub(super) fn has_watched(&self) -> bool {
        let quiet = self.policy.hold_cold;
        self.seen.begun.is_some_and(|begun| self.now.since(begun) >= quiet.saturating_mul(2))
    }
}
