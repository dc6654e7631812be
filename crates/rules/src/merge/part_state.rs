//! Whether the final object has the parts of a rule, so that an explanation can say why a part changed nothing.

use std::collections::HashMap;
use std::sync::Arc;

use super::draft::Draft;
use super::presence::{PartState, PlacedPart, PodContents};
use crate::rule::Rule;

/// By the name of the rule and the text of the clause: the state in all containers that the part is for.
pub(crate) type PartStates = HashMap<(Arc<str>, Arc<str>), PartState>;

/// The states of the parts of `rules`, which have been applied to `draft`.
pub(crate) fn part_states(rules: &[&Rule], draft: &mut Draft<'_>) -> PartStates {
    let contents = PodContents::new(rules, draft);
    let mut states = PartStates::new();
    for rule in rules {
        let mut note = |part: PlacedPart<'_>| {
            let clause = (Arc::clone(&rule.name), Arc::clone(&part.item.clause.text));
            let known = states.entry(clause).or_insert(part.state);
            // A container that differs takes precedence over containers that have the part.
            if matches!(known, PartState::Present | PartState::Omitted | PartState::NotSelected) {
                *known = part.state;
            }
        };
        contents.parts_of_pod(rule, &mut note);
        contents.parts_of_blocks(rule, &mut note);
    }
    states
}
