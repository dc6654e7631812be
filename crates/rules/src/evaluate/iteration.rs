//! Repeats the items with `forEach`, and splits maps that expressions give (docs/adr/0101, docs/adr/0102).
//!
//! The loops decide the keys of items, so [`repeat`] is called before keys are computed, and before any rule is applied.

use std::sync::Arc;

use kube_cel::cel::Value;
use vestibule_patch::Schema;

use super::computed_checks::{check_fields, check_types, failure};
use crate::diagnostic::Position;
use crate::expression::{EvaluationError, Scope};
use crate::key;
use crate::merge::{Failure, is_open};
use crate::overlay::{Loop, Member, Overlay};
use crate::pod::{self, Shape};
use crate::rule::{Copied, Item, Rule};

/// How many items all loops and maps of a rule may add together.
const MAX_ITEMS: usize = 1_000;

/// Replaces each item with `forEach` by one item for each value, and each map that an expression gives by its members.
pub(super) fn repeat(rule: &mut Rule, scope: &Scope<'_>, shape: &Shape) -> Result<(), Failure> {
    let mut repetition = Repetition { scope, items_left: MAX_ITEMS };
    rule.replace_parts(|destination, item| {
        let Item { clause, key, on_conflict, .. } = item;
        let failed = |(error, at)| failure(&clause.text, at, &error);
        match &item.overlay {
            Overlay::Expression(expression) if expression.gives_parts => {
                let failed = |error| failed((error, expression.at));
                let Some(map) = expression.overlay(scope).map_err(failed)? else {
                    return Ok(Some(Vec::new()));
                };
                let (name, schema) = (destination.name(), destination.schema(shape));
                check_fields(item, &map, name, schema)?;
                check_types(&destination, item, &map, shape)?;
                let mut members = Members { item, found: Vec::new() };
                members.split(map, name, schema, &[]).map_err(failed)?;
                repetition.take(members.found.len()).map_err(failed)?;
                Ok(Some(members.found))
            }
            overlay if overlay.contains(&|value| matches!(value, Overlay::Loop(_))) => {
                let copy =
                    |overlay| Copied::in_place(Item::new(clause.clone(), key.clone(), overlay, *on_conflict));
                let overlays = repetition.items(overlay).map_err(failed)?;
                Ok(Some(overlays.into_iter().map(copy).collect()))
            }
            _ => Ok(None),
        }
    })
}

/// The members of a map, as they would be split if they were written in the rule.
struct Members<'i> {
    item: &'i Item,
    found: Vec<Copied>,
}

impl Members<'_> {
    // Recursion is bounded by the depth of values.
    fn split(
        &mut self,
        value: Overlay,
        name: &str,
        schema: Schema<'_>,
        below: &[String],
    ) -> Result<(), EvaluationError> {
        let Overlay::Map(members) = value else { return Ok(()) };
        for Member { name: key, value, .. } in members {
            let schema = schema.field(&key);
            let inner = || [below, std::slice::from_ref(&key)].concat();
            match value {
                value @ Overlay::Map(_) if !pod::is_text_map(name) && pod::is_split(&key, schema) => {
                    self.split(value, &key, schema, &inner())?;
                }
                Overlay::List(items) if is_open(&items, &key, schema) => {
                    for value in items {
                        let item_key = key::of_item(&value, &key, schema.list());
                        self.add(inner(), Some(true), item_key, value);
                    }
                }
                Overlay::List(_) => {
                    // The key may be a value of the object.
                    let message =
                        format!("`{name}` has a list that is replaced as one value; write it in the rule");
                    return Err(EvaluationError::failed(message));
                }
                value => self.add(below.to_vec(), None, key, value),
            }
        }
        Ok(())
    }

    fn add(&mut self, below: Vec<String>, listed: Option<bool>, key: String, overlay: Overlay) {
        let Item { clause, on_conflict, .. } = self.item;
        self.found.push(Copied {
            below,
            listed,
            item: Item::new(clause.clone(), key, overlay, *on_conflict),
        });
    }
}

struct Repetition<'e> {
    scope: &'e Scope<'e>,
    items_left: usize,
}

impl Repetition<'_> {
    fn take(&mut self, count: usize) -> Result<(), EvaluationError> {
        self.items_left = self.items_left.checked_sub(count).ok_or_else(|| {
            let message = format!("all loops and maps of a rule may add {MAX_ITEMS} items together");
            EvaluationError::failed(message)
        })?;
        Ok(())
    }

    /// The items in the place of `item`.
    // Recursion is bounded by the depth of the rule's document.
    fn items(&mut self, item: &Overlay) -> Result<Vec<Overlay>, (EvaluationError, Position)> {
        let Overlay::Loop(repeated) = item else { return Ok(vec![self.value(item)?]) };
        let Loop { over, item, size } = &**repeated;
        let values = over.values_of_each(self.scope, *size).map_err(|error| (error, over.at))?;
        self.take(values.len()).map_err(|error| (error, over.at))?;
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

/// `value` for one value of `each`. A loop within a loop is refused when rules are loaded.
fn with_each(value: &Overlay, each: &Value) -> Overlay {
    value.replaced(&|value| match value {
        Overlay::Expression(expression) if expression.reads.each => {
            Some(Overlay::Expression(Arc::new(expression.with_each(each))))
        }
        _ => None,
    })
}
