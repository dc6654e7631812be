//! The rotation protocol. [`step`] orders the decisions; the rules are in the modules below.

mod bundle;
mod leaf;
mod plan;
mod recover;

use crate::ring::{
    Action, Blocked, CaId, Configuration, Facts, Moment, Observations, Policy, RingFacts, Rule,
};

/// The actions of a replica, most urgent first, from the ring as last read, the replica's observations, and its clock.
///
/// The function keeps no state: the same input gives the same actions. An empty list means that the replica waits for an
/// event or for time to pass.
#[must_use]
pub fn step(ring: &RingFacts, seen: &Observations, now: Moment, policy: &Policy) -> Vec<Action> {
    let now = seen.corrected(now, policy);
    let context = StepContext { seen, now, policy };
    match ring {
        RingFacts::Absent | RingFacts::Unreadable => context.recover(None),
        RingFacts::Newer(facts) => {
            let actions = facts.iter().flat_map(|facts| context.actions_without_writes(facts));
            actions.chain([Action::Report(Blocked::NewerSchema)]).collect()
        }
        RingFacts::Known(facts) if context.is_dead(facts) => context.recover(Some(facts)),
        RingFacts::Known(facts) => context.known(facts),
    }
}

/// The input of [`step`] besides the ring.
struct StepContext<'a> {
    seen: &'a Observations,
    /// Corrected.
    now: Moment,
    policy: &'a Policy,
}

impl StepContext<'_> {
    /// A graft comes first, then bundles and leaf, which keep calls working, then the planned rotation.
    fn known(&self, facts: &Facts) -> Vec<Action> {
        if let Some(actions) = self.graft(facts) {
            return actions;
        }
        let mut actions = Vec::new();
        actions.extend(self.publish_where(facts, |seen| seen.differs(facts)));
        actions.extend(self.leaf(facts));
        actions.extend(self.plan(facts));
        // Reports come last, because the caller carries out the first action.
        actions.sort_by_key(Action::is_report);
        actions
    }

    /// The actions under a ring of a newer version: missing CAs are published and leaves signed; the ring is not written.
    fn actions_without_writes(&self, facts: &Facts) -> Vec<Action> {
        let mut actions = self.publish_missing(facts);
        actions.extend(self.leaf(facts));
        actions.sort_by_key(Action::is_report);
        actions
    }

    /// Rule L2: the configurations that a decision waits for. A configuration is left out if it refuses our writes or is
    /// absent, and holds neither a CA of the ring nor one that verifies our leaf: waiting for it would stop the calls of all
    /// others. A ring whose active CA was never held waits for it too, because a first installation may still create it.
    fn reachable<'b>(&'b self, facts: &'b Facts) -> impl Iterator<Item = &'b Configuration> {
        let leaf = self.seen.leaf.as_ref().filter(|leaf| leaf.not_after >= self.now);
        let ends = leaf.map(|leaf| [Some(leaf.issuer), leaf.cross_signature]);
        let is_needed =
            move |id| facts.authority(id).is_some() || ends.is_some_and(|ends| ends.contains(&Some(id)));
        let has_past = facts.generation > 1 || facts.active().is_some_and(|active| active.held.is_some());
        let is_lost = move |configuration: &Configuration| {
            self.policy.enforces(Rule::L2)
                && (configuration.denied || self.is_gone(configuration))
                && has_past
                && !configuration.trusted().any(is_needed)
        };
        self.seen.configurations.iter().filter(move |configuration| !is_lost(configuration))
    }

    /// Since when every reachable configuration was seen with this CA, without a gap.
    fn everywhere_since(&self, id: CaId, facts: &Facts) -> Option<Moment> {
        let mut since = self.reachable(facts).map(|configuration| configuration.bundle.get(&id).copied());
        since.try_fold(Moment(0), |latest, since| Some(latest.max(since?)))
    }

    /// Whether the object has been absent for `hold_cold`, so that every API server knows it.
    fn is_gone(&self, configuration: &Configuration) -> bool {
        configuration.absent.is_some_and(|since| self.now.since(since) >= self.policy.hold_cold)
    }

    /// Whether clients refuse the active CA: it has expired, or is not valid yet because the API server's clock was set back.
    fn is_dead(&self, facts: &Facts) -> bool {
        facts.active().is_none_or(|ca| ca.not_after <= self.now || ca.not_before > self.now)
    }
}

#[cfg(test)]
mod tests;
