//! Whether the final object has the parts of a rule. An explanation says with it why a part changed nothing.

use std::collections::HashMap;
use std::sync::Arc;

use super::draft::Draft;
use super::presence::{PlacedPart, PodContents};
use crate::rule::{Policy, Rule};

/// By the name of the rule and the text of the clause.
pub(crate) type Standings = HashMap<(Arc<str>, Arc<str>), Standing>;

/// Whether the object has a part of a rule, in all containers that it is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Standing {
    /// The object has it.
    There,
    /// The object has something else, which the rule keeps.
    Yielded,
    /// The object has something else, which a later rule or block has set.
    Overruled,
    /// The block of the part selects no container.
    Nowhere,
}

/// The standings of the parts of `rules`, which have been applied to `draft`.
pub(crate) fn standings(rules: &[&Rule], draft: &mut Draft<'_>) -> Standings {
    let contents = PodContents::new(rules, draft);
    let mut standings = Standings::new();
    for rule in rules {
        let mut note = |part: PlacedPart<'_>| {
            let standing = match (part.is_there, part.item.policy) {
                (None, _) => Standing::Nowhere,
                (Some(true), _) => Standing::There,
                (Some(false), Policy::Override) => Standing::Overruled,
                (Some(false), _) => Standing::Yielded,
            };
            let clause = (Arc::clone(&rule.name), Arc::clone(&part.item.clause.text));
            let known = standings.entry(clause).or_insert(standing);
            // A container that differs takes precedence over containers that have the part.
            if matches!(known, Standing::There | Standing::Nowhere) {
                *known = standing;
            }
        };
        contents.parts_of_pod(rule, &mut note);
        contents.parts_of_blocks(rule, &mut note);
    }
    standings
}
