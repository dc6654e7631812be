//! Rings that are gone, or that do not continue what is known (rules G1, G2, W3).

use std::collections::BTreeSet;

use super::Around;
use crate::ring::{Action, CaId, Change, Configuration, Facts, Moment, Observations, Policy, Rule};

/// Whether this ring does not continue what the replica knows (rule G1).
pub(in crate::ring) fn breaks(facts: &Facts, seen: &Observations, now: Moment, policy: &Policy) -> bool {
    let around = Around { seen, now, policy };
    around.breaks_memory(facts) || around.breaks_leaf(facts) || around.breaks_configurations(facts)
}

impl Around<'_> {
    /// Rule G1: never over a valid ring with own memory, only onto it.
    pub(super) fn graft(&self, facts: &Facts) -> Option<Action> {
        let mine = self.policy.enforces(Rule::G1) && (self.breaks_memory(facts) || self.breaks_leaf(facts));
        let theirs = self.breaks_configurations(facts);
        if !mine && !theirs {
            return None;
        }
        if let Some(look) = self.look_before_trusting() {
            return Some(look);
        }
        let trust = self.everything_trusted();
        Some(Action::WriteRing(Change::Graft { trust, generation: self.above_all(Some(facts)) }))
    }

    /// Rule G2.
    pub(super) fn recover(&self) -> Vec<Action> {
        let usable = |memory: &&Facts| !self.is_dead(memory);
        if !self.policy.enforces(Rule::G2) {
            return Vec::new();
        }
        if let Some(look) = self.look_before_trusting() {
            return vec![look];
        }
        let trust = self.everything_trusted();
        let change = match self.seen.memory.as_ref().filter(usable) {
            None => Change::Create { trust },
            Some(memory) => Change::Restore {
                memory: Box::new(memory.clone()),
                trust,
                generation: self.above_all(None),
                rotate: self
                    .seen
                    .restored
                    .is_none_or(|before| self.now.since(before) >= self.policy.restore_pause),
            },
        };
        vec![Action::WriteRing(change)]
    }

    /// What is forgotten now is trusted by nobody afterwards; and a ring read before a configuration proves nothing.
    fn look_before_trusting(&self) -> Option<Action> {
        let mut seen = self.seen.configurations.iter();
        self.look_again().or_else(|| seen.any(|seen| !seen.ring_read_since).then_some(Action::ReadRing))
    }

    fn breaks_memory(&self, facts: &Facts) -> bool {
        self.seen.memory.as_ref().is_some_and(|memory| {
            if memory.lineage == facts.lineage {
                facts.generation < memory.generation
            } else {
                !memory.trusted().is_subset(&facts.trusted())
            }
        })
    }

    fn breaks_leaf(&self, facts: &Facts) -> bool {
        let leaf = self.seen.leaf.as_ref().filter(|leaf| leaf.not_after >= self.now);
        leaf.is_some_and(|leaf| facts.authority(leaf.issuer).is_none())
    }

    /// Rule W3: a configuration shows a ring that this one does not continue.
    fn breaks_configurations(&self, facts: &Facts) -> bool {
        self.policy.enforces(Rule::W3)
            && self.seen.configurations.iter().any(|configuration| {
                configuration.mark.is_some_and(|mark| {
                    if mark.lineage == facts.lineage {
                        facts.generation < mark.generation
                    } else {
                        let trusted = facts.trusted();
                        configuration.trusted().any(|id| !trusted.contains(&id))
                    }
                })
            })
    }

    /// All that a client or a replica may rely on at this moment.
    fn everything_trusted(&self) -> BTreeSet<CaId> {
        let leaf = self.seen.leaf.iter().filter(|leaf| leaf.not_after >= self.now).map(|leaf| leaf.issuer);
        let published = self.seen.configurations.iter().flat_map(Configuration::trusted);
        let remembered = self.seen.memory.iter().flat_map(Facts::trusted);
        leaf.chain(published).chain(remembered).collect()
    }

    fn above_all(&self, facts: Option<&Facts>) -> u64 {
        let memory = self.seen.memory.as_ref();
        let family = facts.or(memory).map(|facts| facts.lineage);
        let marks = self.seen.configurations.iter().filter_map(|configuration| configuration.mark);
        let marks = marks.filter(|mark| Some(mark.lineage) == family).map(|mark| mark.generation);
        let memory = memory.filter(|memory| Some(memory.lineage) == family).map(|memory| memory.generation);
        marks.chain(memory).chain(facts.map(|facts| facts.generation)).max().unwrap_or(0) + 1
    }
}
