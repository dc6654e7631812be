//! The parameters, variables and conditions of a rule, and the rule with the values of its expressions.
//!
//! `evaluate` asks [`Logic::declined`] whether the conditions hold, and [`instantiate`] for a rule without expressions before
//! `merge` applies it. `keys` does the same for keys of lists, which must be known before anything is merged.

mod keys;

use std::sync::Arc;

use crate::diagnostic::Position;
use crate::expression::{EvaluationError, Expression, Scope, Variable};
use crate::merge::Failure;
use crate::overlay::{Member, Overlay};
use crate::parameter::Parameter;
use crate::pod_types::type_error;
use crate::rule::{Base, Clause, Item, PartDestination, Rule};
use crate::syntax;
pub(crate) use keys::{checked as checked_keys, with_keys};

/// The computed parts of a rule.
#[derive(Clone, Default)]
pub(crate) struct Logic {
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) variables: Vec<Variable>,
    /// The conditions; all of them must hold.
    pub(crate) when: Vec<Expression>,
    /// Whether any value of the rule is an expression.
    pub(crate) dynamic: bool,
    /// Whether any key of a list in the rule is an expression.
    pub(crate) computes_keys: bool,
    /// Whether any expression reads the object with the changes of earlier rules.
    pub(crate) reads_object: bool,
    /// Whether any expression or parameter reads the labels or annotations of the namespace.
    pub(crate) reads_namespace: bool,
    /// Whether any expression may read the name of the owner.
    pub(crate) reads_owner_name: bool,
}

impl Logic {
    /// Whether the rule has neither conditions nor parameters.
    pub(crate) fn is_empty(&self) -> bool {
        self.when.is_empty() && self.parameters.is_empty()
    }

    /// Whether the rule is the same for every object.
    pub(crate) fn is_fixed(&self) -> bool {
        self.when.is_empty() && !self.dynamic
    }

    /// The first condition that does not hold.
    pub(crate) fn declined(&self, scope: &Scope<'_>) -> Result<Option<Clause>, Failure> {
        for (index, condition) in self.when.iter().enumerate() {
            let clause = Clause { text: format!("when[{index}]").into(), at: condition.at };
            match condition.holds(scope) {
                Ok(true) => {}
                Ok(false) => return Ok(Some(clause)),
                Err(error) => return Err(failure(clause, &error)),
            }
        }
        Ok(None)
    }
}

/// `rule` with the values of its expressions, which get the same checks as written values. `None` where it has no
/// expressions.
pub(crate) fn instantiate(rule: &Rule, scope: &Scope<'_>) -> Result<Option<Rule>, Failure> {
    if !rule.logic.dynamic {
        return Ok(None);
    }
    let mut rule = rule.clone();
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
            let field = if matches!(base, Base::Spec) { "pod.spec" } else { "containers" };
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
        Overlay::Text(_) | Overlay::Literal(_) => Ok(Some(overlay.clone())),
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

fn failure(clause: Clause, error: &EvaluationError) -> Failure {
    let sentence = format!("`{}`: {}", clause.text, error.sentence());
    Failure { clause, sentence, conflict: None }
}
