//! What configurations must hold (rules W2, W3).

use super::Around;
use crate::ring::{Action, Blocked, Configuration, Facts, Mark, Rule};

impl Around<'_> {
    pub(super) fn publish(&self, facts: &Facts) -> Vec<Action> {
        let configurations = self.seen.configurations.iter().enumerate();
        let differs = configurations.filter(|(_, configuration)| self.differs(configuration, facts));
        differs
            .map(|(position, configuration)| {
                if configuration.denied {
                    Action::Report(Blocked::Denied(position))
                } else if self.policy.enforces(Rule::W2) && !configuration.ring_read_since {
                    Action::ReadRing
                } else {
                    Action::PublishBundle(position)
                }
            })
            .collect()
    }

    fn differs(&self, configuration: &Configuration, facts: &Facts) -> bool {
        let mark = Mark { lineage: facts.lineage, generation: facts.generation };
        // An object that is not there cannot be written.
        configuration.changed.is_some()
            && (configuration.untidy
                || configuration.mark != Some(mark)
                || !configuration.trusted().eq(facts.authorities.iter().map(|ca| ca.id)))
    }
}
