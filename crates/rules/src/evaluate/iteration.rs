//! Repeats the items with `forEach` (docs/adr/0101).
//!
//! The number of items decides about their keys, so [`repeat`] is called before keys are computed, and before any rule is applied.

use std::sync::Arc;

use kube_cel::cel::Value;

use super::instantiate::failure;
use crate::diagnostic::Position;
use crate::expression::{EvaluationError, Scope};
use crate::merge::Failure;
use crate::overlay::{Loop, Member, Overlay};
use crate::rule::{Clause, Item, Rule};

/// How many items all loops of a rule may add together.
const MAX_ITEMS: usize = 1_000;

/// Replaces each item with `forEach` by one item for each value.
pub(super) fn repeat(rule: &mut Rule, scope: &Scope<'_>) -> Result<(), Failure> {
    let mut repetition = Repetition { scope, items_left: MAX_ITEMS };
    rule.replace_parts(|item| {
        if !has_loop(&item.overlay) {
            return Ok(None);
        }
        let Item { clause, key, policy, .. } = item;
        let overlays = repetition
            .items(&item.overlay)
            .map_err(|(error, at)| failure(Clause { text: Arc::clone(&clause.text), at }, &error))?;
        let copy = |overlay| Item::new(clause.clone(), key.clone(), overlay, *policy);
        Ok(Some(overlays.into_iter().map(copy).collect()))
    })
}

struct Repetition<'e> {
    scope: &'e Scope<'e>,
    items_left: usize,
}

impl Repetition<'_> {
    /// The items in the place of `item`.
    // Recursion is bounded by the depth of the rule's document.
    fn items(&mut self, item: &Overlay) -> Result<Vec<Overlay>, (EvaluationError, Position)> {
        let Overlay::Loop(repeated) = item else { return Ok(vec![self.value(item)?]) };
        let Loop { over, item } = &**repeated;
        let values = over.values_of_each(self.scope).map_err(|error| (error, over.at))?;
        self.items_left = self.items_left.checked_sub(values.len()).ok_or_else(|| {
            let message = format!("all loops of a rule may add {MAX_ITEMS} items together");
            (EvaluationError::failed(message), over.at)
        })?;
        Ok(values.iter().map(|each| with_each(item, each)).collect())
    }

    /// `value` with the loops within it repeated.
    fn value(&mut self, value: &Overlay) -> Result<Overlay, (EvaluationError, Position)> {
        Ok(match value {
            Overlay::List(items) => {
                let mut all = Vec::with_capacity(items.len());
                for item in items {
                    all.extend(self.items(item)?);
                }
                Overlay::List(all)
            }
            Overlay::Map(members) => {
                let repeated = members.iter().map(|Member { name, value, known }| {
                    Ok(Member { name: name.clone(), value: self.value(value)?, known: *known })
                });
                Overlay::Map(repeated.collect::<Result<_, _>>()?)
            }
            other => other.clone(),
        })
    }
}

// Recursion is bounded by the depth of the rule's document.
fn has_loop(value: &Overlay) -> bool {
    match value {
        Overlay::Loop(_) => true,
        Overlay::List(items) => items.iter().any(has_loop),
        Overlay::Map(members) => members.iter().any(|member| has_loop(&member.value)),
        Overlay::Text(_) | Overlay::Literal(_) | Overlay::Expression(_) => false,
    }
}

/// `value` for one value of `each`. A loop within a loop is refused when rules are loaded.
// Recursion is bounded by the depth of the rule's document.
fn with_each(value: &Overlay, each: &Value) -> Overlay {
    match value {
        Overlay::Expression(expression) if expression.reads.each => {
            Overlay::Expression(Arc::new(expression.with_each(each)))
        }
        Overlay::List(items) => Overlay::List(items.iter().map(|item| with_each(item, each)).collect()),
        Overlay::Map(members) => {
            let bound = |member: &Member| Member { value: with_each(&member.value, each), ..member.clone() };
            Overlay::Map(members.iter().map(bound).collect())
        }
        Overlay::Text(_) | Overlay::Literal(_) | Overlay::Expression(_) | Overlay::Loop(_) => value.clone(),
    }
}
