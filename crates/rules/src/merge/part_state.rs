//! Whether the final object has the parts of a rule, so that an explanation can say why a part changed nothing.

use std::collections::HashMap;
use std::sync::Arc;

use super::draft::Draft;
use super::presence::{PlacedPart, PodContents, Presence};
use crate::rule::{OnConflict, Rule};

/// By the name of the rule and the text of the clause.
pub(crate) type PartStates = HashMap<(Arc<str>, Arc<str>), PartState>;

/// Whether the object has a part of a rule, in all containers that it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PartState {
    /// The object has it.
    Present,
    /// The object is without the field, which means the same.
    Omitted,
    /// The object has something else, which the rule keeps.
    Kept,
    /// The object has something else, which a later rule or block has set.
    Overridden,
    /// The block of the part selects no container.
    NotSelected,
}

/// The states of the parts of `rules`, which have been applied to `draft`.
pub(crate) fn part_states(rules: &[&Rule], draft: &mut Draft<'_>) -> PartStates {
    let contents = PodContents::new(rules, draft);
    let mut states = PartStates::new();
    for rule in rules {
        let mut note = |part: PlacedPart<'_>| {
            let state = match (part.presence, part.item.on_conflict) {
                (Presence::NotSelected, _) => PartState::NotSelected,
                (Presence::Present, _) => PartState::Present,
                (Presence::Omitted, _) => PartState::Omitted,
                (Presence::Absent, OnConflict::Override) => PartState::Overridden,
                (Presence::Absent, _) => PartState::Kept,
            };
            let clause = (Arc::clone(&rule.name), Arc::clone(&part.item.clause.text));
            let known = states.entry(clause).or_insert(state);
            // A container that differs takes precedence over containers that have the part.
            if matches!(known, PartState::Present | PartState::Omitted | PartState::NotSelected) {
                *known = state;
            }
        };
        contents.parts_of_pod(rule, &mut note);
        contents.parts_of_blocks(rule, &mut note);
    }
    states
}
