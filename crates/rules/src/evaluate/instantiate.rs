//! The rule with the values of its expressions, and its first condition that does not hold.
//!
//! [`fixpoint`](super::fixpoint) calls [`first_false_condition`] to check the conditions. It calls [`instantiate`] for a copy of the
//! rule in which values replace the expressions; `merge` applies that copy.

use std::sync::Arc;

use vestibule_patch::List;

use super::computed_checks::{check_fields, check_types, failure};
use super::iteration::repeat;
use crate::diagnostic::Position;
use crate::expression::{EvaluationError, Scope};
use crate::key;
use crate::logic::Condition;
use crate::merge::Failure;
use crate::overlay::{Member, Overlay};
use crate::pod::{self, Shape};
use crate::rule::{Base, Clause, Copied, Item, PartDestination, Rule};

/// The first condition of `rule` that does not hold.
pub(super) fn first_false_condition(rule: &Rule, scope: &Scope<'_>) -> Result<Option<Clause>, Failure> {
    for Condition { clause, expression } in &rule.logic.conditions {
        match expression.holds(scope) {
            Ok(true) => {}
            Ok(false) => return Ok(Some(Clause::new(Arc::clone(clause), expression.at))),
            Err(error) => return Err(failure(clause, expression.at, &error)),
        }
    }
    Ok(None)
}

/// `rule` with the values of its expressions, which get the same checks as written values. `None` where it has no
/// expressions.
pub(super) fn instantiate(rule: &Rule, scope: &Scope<'_>, shape: &Shape) -> Result<Option<Rule>, Failure> {
    if !rule.logic.dynamic {
        return Ok(None);
    }
    let mut rule = rule.clone();
    // `with_keys` has repeated the items; if that failed, this reports the error.
    repeat(&mut rule, scope, shape)?;
    rule.replace_parts(|destination, item| instantiate_item(&destination, item, scope, shape).map(Some))?;
    Ok(Some(rule))
}

/// `item` with the values of its expressions, or nothing if it is left out.
fn instantiate_item(
    destination: &PartDestination<'_>,
    item: &Item,
    scope: &Scope<'_>,
    shape: &Shape,
) -> Result<Vec<Copied>, Failure> {
    let computed = resolved(&item.overlay, scope);
    let computed = computed.map_err(|(error, at)| failure(&item.clause.text, at, &error))?;
    let Some(overlay) = computed else { return Ok(Vec::new()) };
    let of_pod = destination.list.is_none() && !matches!(destination.base, Base::Metadata);
    let schema = destination.schema(shape);
    let innermost = match destination.is_item {
        true => {
            check_fields(item, &overlay, destination.name(), schema.item())?;
            Overlay::List(vec![overlay.clone()])
        }
        false => {
            check_fields(item, &overlay, &item.key, schema.field(&item.key))?;
            Overlay::map([(item.key.clone(), overlay.clone())])
        }
    };
    check_types(destination, item, if of_pod { &innermost } else { &overlay }, shape)?;
    // Merge keys are computed before; the key of an item in another list may read the object.
    let key = match of_pod && destination.is_item && !matches!(schema.list(), List::Map(_)) {
        true => key::of_item(&overlay, destination.name(), schema.list()),
        false => item.key.clone(),
    };
    Ok(vec![Copied::in_place(Item::new(item.clause.clone(), key, overlay, item.on_conflict))])
}

/// `overlay` with the values of its expressions; `None` where it is left out.
// Recursion is bounded by the depth of the rule's document.
fn resolved(overlay: &Overlay, scope: &Scope<'_>) -> Result<Option<Overlay>, (EvaluationError, Position)> {
    match overlay {
        Overlay::Expression(expression) => {
            let value = expression.overlay(scope).map_err(|error| (error, expression.at))?;
            Ok(value.filter(|value| !matches!(value, Overlay::List(items) if items.is_empty())))
        }
        Overlay::List(items) => {
            let mut kept = Vec::with_capacity(items.len());
            for item in items {
                kept.extend(resolved(item, scope)?);
            }
            Ok(Some(Overlay::List(kept)).filter(|list| !list.items().is_empty()))
        }
        Overlay::Map(members) => {
            let mut kept = Vec::with_capacity(members.len());
            for Member { name, value, known } in members {
                let value = resolved(value, scope)?;
                // The API server omits an empty map of texts. If it were added, a further call would not find it.
                let is_omitted =
                    matches!(&value, Some(Overlay::Map(all)) if all.is_empty() && pod::is_text_map(name));
                let value = value.filter(|_| !is_omitted);
                kept.extend(value.map(|value| Member { name: name.clone(), value, known: *known }));
            }
            Ok(Some(Overlay::Map(kept)))
        }
        Overlay::Text(_) | Overlay::Literal(_) | Overlay::Loop(_) => Ok(Some(overlay.clone())),
    }
}
