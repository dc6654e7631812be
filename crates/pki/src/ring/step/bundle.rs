//! Publishes the bundle in configurations (rules W2, W3).

use super::StepContext;
use crate::ring::{Action, Blocked, Configuration, Facts, Rule};

impl StepContext<'_> {
    /// The bundle for configurations that show neither a later generation nor a CA that the ring does not know.
    pub(super) fn publish_uncontested(&self, facts: &Facts) -> Vec<Action> {
        self.publish_where(facts, |seen| {
            seen.differs(facts) && !self.shows_later(seen, facts) && !self.contests(seen, Some(facts))
        })
    }

    /// Publishes missing CAs of a newer version's bundle. Additional CAs stay, because the newer version may need them.
    pub(super) fn publish_missing(&self, facts: &Facts) -> Vec<Action> {
        self.publish_where(facts, |seen| {
            seen.changed.is_some()
                && !self.shows_later(seen, facts)
                && facts.bundle().iter().any(|id| !seen.bundle.contains_key(id))
        })
    }

    pub(super) fn publish_where(
        &self,
        facts: &Facts,
        is_wrong: impl Fn(&Configuration) -> bool,
    ) -> Vec<Action> {
        let configurations = self.seen.configurations.iter().enumerate();
        let wrong = configurations.filter(|(_, configuration)| is_wrong(configuration));
        wrong.map(|(position, configuration)| self.write((position, configuration), facts)).collect()
    }

    fn write(&self, (position, configuration): (usize, &Configuration), facts: &Facts) -> Action {
        if configuration.denied {
            Action::Report(Blocked::Denied(position))
        } else if self.policy.enforces(Rule::W2) && !configuration.ring_read_since {
            Action::ReadRing
        } else if self.contests(configuration, Some(facts)) && !self.has_waited() {
            // Other replicas have `hold_cold`, from the next read of the ring on, to add these CAs to it.
            self.await_others()
        } else {
            Action::PublishBundle(position)
        }
    }
}
