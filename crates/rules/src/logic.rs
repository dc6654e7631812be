//! What a rule computes: its parameters, variables and conditions, and itself once expressions have values.

mod keys;

use std::sync::Arc;

use crate::diagnostic::Position;
use crate::expression::{Expression, Scope, Trouble, Variable};
use crate::merge::Failure;
use crate::overlay::{Member, Overlay};
use crate::parameter::Parameter;
use crate::pod_types::type_error;
use crate::rule::{Base, Clause, Item, PartDestination, Rule};
use crate::syntax;
pub(crate) use keys::{checked as checked_keys, with_keys};

/// What is computed for every object.
#[derive(Clone, Default)]
pub(crate) struct Logic {
    pub(crate) parameters: Vec<Parameter>,
    pub(crate) variables: Vec<Variable>,
    /// Each must hold.
    pub(crate) when: Vec<Expression>,
    /// Whether values of the rule are expressions.
    pub(crate) dynamic: bool,
    /// Whether what tells items apart is an expression, anywhere in the rule.
    pub(crate) computes_keys: bool,
    /// Whether the object as it is becoming decides about any of it.
    pub(crate) reads_object: bool,
    /// Whether the annotations or labels of the namespace do.
    pub(crate) reads_namespace: bool,
    /// Whether what the owner is called may.
    pub(crate) reads_owner_name: bool,
}

impl Logic {
    /// Whether nothing can keep the rule from acting.
    pub(crate) fn is_empty(&self) -> bool {
        self.when.is_empty() && self.parameters.is_empty()
    }

    /// Whether there is nothing to compute for an object.
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
                Err(trouble) => return Err(failure(clause, &trouble)),
            }
        }
        Ok(None)
    }
}

/// `rule` with values for its expressions, checked as the reader checks those that are written out.
/// `None` where it has none.
pub(crate) fn instantiate(rule: &Rule, scope: &Scope<'_>) -> Result<Option<Rule>, Failure> {
    if !rule.logic.dynamic {
        return Ok(None);
    }
    let mut rule = rule.clone();
    rule.retain_parts(|destination, item| instantiate_item(&destination, item, scope))?;
    Ok(Some(rule))
}

/// Gives the expressions of `item` their values; `false` where the item is left out.
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
    resolved(&item.overlay, scope).map_err(|(trouble, at)| {
        let clause = Clause { text: Arc::clone(&item.clause.text), at };
        failure(clause, &trouble)
    })
}

/// `overlay` with values for its expressions; `None` where it is left out.
// Recursion is bounded by the depth of the rule's document.
fn resolved(overlay: &Overlay, scope: &Scope<'_>) -> Result<Option<Overlay>, (Trouble, Position)> {
    match overlay {
        Overlay::Expression(expression) => {
            let value = expression.overlay(scope).map_err(|trouble| (trouble, expression.at))?;
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
    let refused = named.err().map(|wanted| format!("the name of a port wants {wanted}"));
    match refused.or_else(|| type_error(field, overlay)) {
        Some(sentence) => Err(Failure { clause: item.clause.clone(), sentence, conflict: None }),
        None => Ok(()),
    }
}

fn ports(overlay: &Overlay) -> &[Overlay] {
    overlay.get("ports").map(Overlay::items).unwrap_or_default()
}

fn failure(clause: Clause, trouble: &Trouble) -> Failure {
    let sentence = format!("`{}`: {}", clause.text, trouble.sentence());
    Failure { clause, sentence, conflict: None }
}
