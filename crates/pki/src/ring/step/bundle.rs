//! Publishes the bundle in configurations (rules W2, W3).

use super::StepContext;
use crate::ring::{Action, Blocked, Configuration, Facts, Mark, Rule};

impl StepContext<'_> {
    pub(super) fn publish(&self, facts: &Facts) -> Vec<Action> {
        let configurations = self.seen.configurations.iter().enumerate();
        let differs = configurations.filter(|(_, configuration)| self.differs(configuration, facts));
        differs.map(|(position, configuration)| self.write((position, configuration), facts)).collect()
    }

    /// The bundle for configurations that show neither a later generation nor a CA that the ring does not know.
    pub(super) fn publish_uncontested(&self, facts: &Facts) -> Vec<Action> {
        let configurations = self.seen.configurations.iter().enumerate();
        let differs = configurations.filter(|(_, configuration)| {
            self.differs(configuration, facts)
                && !self.shows_later(configuration, facts)
                && !self.contests(configuration, Some(facts))
        });
        differs.map(|(position, configuration)| self.write((position, configuration), facts)).collect()
    }

    /// Publishes missing CAs of a newer version's bundle. Additional CAs stay, because the newer version may need them.
    pub(super) fn publish_missing(&self, facts: &Facts) -> Vec<Action> {
        let configurations = self.seen.configurations.iter().enumerate();
        let lacks = configurations.filter(|(_, configuration)| {
            configuration.changed.is_some()
                && !self.shows_later(configuration, facts)
                && facts.bundle().iter().any(|id| !configuration.bundle.contains_key(id))
        });
        lacks.map(|(position, configuration)| self.write((position, configuration), facts)).collect()
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

    fn differs(&self, configuration: &Configuration, facts: &Facts) -> bool {
        let mark = Mark { lineage: facts.lineage, generation: facts.generation };
        // An absent object cannot be written.
        configuration.changed.is_some()
            && (configuration.untidy
                || configuration.mark.or(configuration.stripped) != Some(mark)
                || !configuration
                    .trusted()
                    .eq(facts.bundle_over(|id| configuration.bundle.contains_key(&id))))
    }
}
