//! The protocol.

mod bundle;
mod leaf;
mod plan;
mod recover;

pub(super) use recover::{breaks, is_contested};

use crate::ring::{
    Action, Blocked, CaId, Configuration, Facts, Moment, Observations, Policy, RingFacts, Rule,
};

/// What a replica is to do, most urgent first, given the ring as last read, what it has seen, and its own clock.
///
/// Nothing is remembered here: the same facts give the same actions, and an empty list means that nothing is to be done
/// before something is seen or time passes.
#[must_use]
pub fn step(ring: &RingFacts, seen: &Observations, now: Moment, policy: &Policy) -> Vec<Action> {
    let now = seen.corrected(now, policy);
    let context = StepContext { seen, now, policy };
    match ring {
        RingFacts::Absent | RingFacts::Unreadable => context.recover(None),
        RingFacts::Newer(facts) => {
            let kept = facts.iter().flat_map(|facts| context.keep(facts));
            kept.chain([Action::Report(Blocked::NewerSchema)]).collect()
        }
        RingFacts::Known(facts) if context.is_dead(facts) => context.recover(Some(facts)),
        RingFacts::Known(facts) => context.known(facts),
    }
}

/// Everything but the ring.
struct StepContext<'a> {
    seen: &'a Observations,
    /// Corrected.
    now: Moment,
    policy: &'a Policy,
}

impl StepContext<'_> {
    /// A graft before all, then what keeps calls alive, then what was planned.
    fn known(&self, facts: &Facts) -> Vec<Action> {
        if let Some(actions) = self.graft(facts) {
            return actions;
        }
        let mut actions = Vec::new();
        actions.extend(self.publish(facts));
        actions.extend(self.leaf(facts));
        actions.extend(self.plan(facts));
        // Reports last: only what can be done comes before other things that can be done.
        actions.sort_by_key(Action::is_report);
        actions
    }

    /// Under a ring of a newer version: calls are kept alive, and the ring is not written.
    fn keep(&self, facts: &Facts) -> Vec<Action> {
        let mut actions = self.publish_missing(facts);
        actions.extend(self.leaf(facts));
        actions.sort_by_key(Action::is_report);
        actions
    }

    /// Rule L2: the configurations that count when something waits for all of them. Not those that refuse our writes, or
    /// are absent, and hold no CA of the ring, nor one that our own leaf leads to: nothing can be done about such a one
    /// here, and to wait for it would take the calls of all others down with it. A ring that was never known everywhere
    /// waits for it all the same: that is an installation, and its last object may still come.
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

    /// Since when they were seen with this CA, without a gap.
    fn everywhere_since(&self, id: CaId, facts: &Facts) -> Option<Moment> {
        let mut since = self.reachable(facts).map(|configuration| configuration.bundle.get(&id).copied());
        since.try_fold(Moment(0), |latest, since| Some(latest.max(since?)))
    }

    /// Whether the object is absent, and API servers have had time to hear of it.
    fn is_gone(&self, configuration: &Configuration) -> bool {
        configuration.absent.is_some_and(|since| self.now.since(since) >= self.policy.hold_cold)
    }

    /// A ring whose active CA has expired serves nobody; nor does one whose active CA is not valid yet, because the API
    /// server's clock was set back.
    fn is_dead(&self, facts: &Facts) -> bool {
        facts.active().is_none_or(|ca| ca.not_after <= self.now || ca.not_before > self.now)
    }
}

#[cfg(test)]
mod tests;
