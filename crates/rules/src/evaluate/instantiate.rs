//! The rule with the values of its expressions, and its first condition that does not hold.
//!
//! [`fixpoint`](super::fixpoint) asks [`first_false_condition`] whether the conditions hold, and [`instantiate`] for a rule without
//! expressions before `merge` applies it.

use std::sync::Arc;

use super::iteration::repeat;
use crate::diagnostic::Position;
use crate::expression::{EvaluationError, Scope};
use crate::logic::Condition;
use crate::merge::Failure;
use crate::overlay::{Member, Overlay};
use crate::pod_types::type_error;
use crate::rule::{Base, Clause, Item, PartDestination, Rule};
use crate::syntax;

/// The first condition of `rule` that does not hold.
pub(super) fn first_false_condition(rule: &Rule, scope: &Scope<'_>) -> Result<Option<Clause>, Failure> {
    for Condition { clause, expression } in &rule.logic.conditions {
        let clause = || Clause { text: Arc::clone(clause), at: expression.at };
        match expression.holds(scope) {
            Ok(true) => {}
            Ok(false) => return Ok(Some(clause())),
            Err(error) => return Err(failure(clause(), &error)),
        }
    }
    Ok(None)
}

/// `rule` with the values of its expressions, which get the same checks as written values. `None` where it has no
/// expressions.
pub(super) fn instantiate(rule: &Rule, scope: &Scope<'_>) -> Result<Option<Rule>, Failure> {
    if !rule.logic.dynamic {
        return Ok(None);
    }
    let mut rule = rule.clone();
    // Nothing is left to repeat, unless it failed when keys were computed.
    repeat(&mut rule, scope)?;
    rule.retain_parts(|destination, item| instantiate_item(&destination, item, scope))?;
    Ok(Some(rule))
}

/// Gives the expressions of `item` their values; `false` if the item is left out.
fn instantiate_item(
    destination: &PartDestination<'_>,
    item: &mut Item,
    scope: &Scope<'_>,
) -> Result<bool, Failure> {
    let Some(overlay) = computed(item, scope)? else { return Ok(false) };
    match (destination.list, destination.base) {
        (Some(list), _) => checked(item, list, &overlay)?,
        (None, Base::Metadata) => {}
        (None, base) => {
            let field = if matches!(base, Base::Spec) { "pod.spec" } else { "containerPatches" };
            let innermost = if destination.is_item {
                Overlay::List(vec![overlay.clone()])
            } else {
                Overlay::map([(item.key.clone(), overlay.clone())])
            };
            let nested = |below, name: &str| Overlay::map([(name.to_owned(), below)]);
            checked(item, field, &destination.path().rev().fold(innermost, nested))?;
            // The key of an item in a list without keys is the item itself.
            if destination.is_item && item.key == item.overlay.to_json() {
                item.key = overlay.to_json();
            }
        }
    }
    item.set(overlay);
    Ok(true)
}

fn computed(item: &Item, scope: &Scope<'_>) -> Result<Option<Overlay>, Failure> {
    resolved(&item.overlay, scope).map_err(|(error, at)| {
        let clause = Clause { text: Arc::clone(&item.clause.text), at };
        failure(clause, &error)
    })
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
                kept.extend(value.map(|value| Member { name: name.clone(), value, known: *known }));
            }
            Ok(Some(Overlay::Map(kept)))
        }
        Overlay::Text(_) | Overlay::Literal(_) | Overlay::Loop(_) => Ok(Some(overlay.clone())),
    }
}

fn checked(item: &Item, field: &str, overlay: &Overlay) -> Result<(), Failure> {
    if !item.overlay.is_dynamic() {
        return Ok(());
    }
    let ports = if field == "ports" { std::slice::from_ref(overlay) } else { ports(overlay) };
    let named = ports.iter().filter_map(|port| port.text("name")).try_for_each(syntax::port);
    let invalid_port = named.err().map(|wanted| format!("the name of a port wants {wanted}"));
    match invalid_port.or_else(|| type_error(field, overlay)) {
        Some(sentence) => Err(Failure { clause: item.clause.clone(), sentence, conflict: None }),
        None => Ok(()),
    }
}

fn ports(overlay: &Overlay) -> &[Overlay] {
    overlay.get("ports").map(Overlay::items).unwrap_or_default()
}

pub(super) fn failure(clause: Clause, error: &EvaluationError) -> Failure {
    let sentence = format!("`{}`: {}", clause.text, error.sentence());
    Failure { clause, sentence, conflict: None }
}
