//! Evaluates an expression: to the truth of a condition, or to the overlay that a rule adds to a field.

use kube_cel::cel::Value;
use kube_cel::cel::objects::{Key, Map};

use super::compiled::Expression;
use super::error::EvaluationError;
use super::interpret::Interpreter;
use super::scope::Scope;
use super::types::kind;
use super::values::content;
use crate::overlay::Overlay;
use crate::pod;
use crate::syntax;

/// The longest text that an expression may result in, in bytes: the API server's limit for all annotations of an object.
const MAX_TEXT: usize = 256 * 1024;

/// The longest list that an expression may result in.
const MAX_ITEMS: usize = 1_000;

impl Expression {
    /// The value of a condition.
    pub(crate) fn holds(&self, scope: &Scope<'_>) -> Result<bool, EvaluationError> {
        Interpreter::new(scope).truth(&self.tree)
    }

    /// The value for its field; `None` leaves the field out.
    pub(crate) fn overlay(&self, scope: &Scope<'_>) -> Result<Option<Overlay>, EvaluationError> {
        let value = Interpreter::new(scope).with_each(self.each.as_ref()).value(&self.tree)?;
        scope.budget.read(&value)?;
        let overlay = match self.gives_map {
            true => whole_map(&value, &self.field)?,
            false => overlay(&value, &self.field)?,
        };
        match overlay {
            None | Some(Overlay::List(_)) if self.is_key => Err(EvaluationError::failed(format!(
                "`{}` tells the items of a list apart, so it needs a single value",
                self.field
            ))),
            overlay => Ok(overlay),
        }
    }
}

/// The overlay for the field `name`: a single value or a list of single values. `None` leaves the field out.
pub(super) fn overlay(result: &Value, name: &str) -> Result<Option<Overlay>, EvaluationError> {
    match content(result) {
        None => Ok(None),
        Some(Value::List(items)) if items.is_empty() || !pod::is_text_map(name) => {
            if items.len() > MAX_ITEMS {
                return Err(EvaluationError::failed(format!(
                    "`{name}` would get more than {MAX_ITEMS} items"
                )));
            }
            let items = items.iter().map(|item| single(item, name)).collect::<Result<Vec<_>, _>>()?;
            Ok(Some(Overlay::List(items)))
        }
        Some(other) => single(other, name).map(Some),
    }
}

pub(super) fn list_in_map(name: &str) -> EvaluationError {
    EvaluationError::failed(format!("the values of `{name}` are single values, and this is a list"))
}

/// The overlay for the field `name` that holds a map or an object. `None` leaves the field out.
pub(super) fn whole_map(result: &Value, name: &str) -> Result<Option<Overlay>, EvaluationError> {
    match content(result) {
        None => Ok(None),
        Some(Value::Map(map)) => members(map, name).map(Some),
        Some(other) => {
            Err(EvaluationError::failed(format!("`{name}` wants a map, and this is {}", kind(other))))
        }
    }
}

/// The members of the map or object `name`, sorted. Their keys may be values of the object, so messages do not show them.
// Recursion is bounded by the depth that the budget reads.
fn members(map: &Map, name: &str) -> Result<Overlay, EvaluationError> {
    if map.map.len() > MAX_ITEMS {
        return Err(EvaluationError::failed(format!("a map of more than {MAX_ITEMS} members")));
    }
    let mut keys: Vec<_> = map.map.iter().collect();
    keys.sort_unstable_by_key(|(key, _)| *key);
    let mut found = Vec::with_capacity(keys.len());
    for (key, value) in keys {
        let Key::String(key) = key else {
            return Err(EvaluationError::failed("the keys of a map are text; `string()` makes them text"));
        };
        let key = key.to_string();
        let checked = match name {
            "annotations" => syntax::annotation_key(&key),
            "labels" | "limits" | "matchLabels" | "nodeSelector" | "requests" => syntax::label_key(&key),
            _ => Ok(()),
        };
        checked.map_err(|wanted| EvaluationError::failed(format!("a key of `{name}` wants {wanted}")))?;
        let value = match content(value) {
            Some(value) if pod::is_text_map(name) => single(value, name).map(Some),
            _ => member(value, &key),
        };
        found.extend(value?.map(|value| (key, value)));
    }
    let names: Vec<&str> = found.iter().map(|(name, _)| name.as_str()).collect();
    if let Some((one, other)) = pod::excluding(&names) {
        return Err(EvaluationError::failed(format!("`{one}` and `{other}` exclude each other")));
    }
    Ok(Overlay::map(found))
}

/// The member `name` of an object. An empty list, and an empty map of texts, are left out, as in the text of a rule.
fn member(value: &Value, name: &str) -> Result<Option<Overlay>, EvaluationError> {
    let Some(value) = content(value) else { return Ok(None) };
    match value {
        Value::Map(map) => {
            let map = members(map, name)?;
            Ok(Some(map).filter(|map| !pod::is_text_map(name) || !map.members().is_empty()))
        }
        _ if pod::is_text_map(name) => whole_map(value, name),
        Value::List(items) => {
            let mut found = Vec::new();
            for item in items.iter() {
                found.extend(member(item, name)?);
            }
            Ok(Some(Overlay::List(found)).filter(|list| !list.items().is_empty()))
        }
        Value::Null => {
            Err(EvaluationError::failed("a member of a map is null; `optional.none()` leaves it out"))
        }
        other => single(other, name).map(Some),
    }
}

fn single(value: &Value, name: &str) -> Result<Overlay, EvaluationError> {
    let textual = pod::is_text(name) || pod::is_text_map(name) && !pod::is_quantity(name);
    match value {
        Value::String(text) if text.len() > MAX_TEXT => {
            Err(EvaluationError::failed(format!("the result has a text of more than {MAX_TEXT} bytes")))
        }
        Value::String(text) => {
            let checked = if pod::is_quantity(name) {
                syntax::quantity(text)
            } else if matches!(name, "labels" | "matchLabels" | "nodeSelector") {
                syntax::label_value(text)
            } else {
                Ok(())
            };
            checked.map_err(|wanted| EvaluationError::failed(format!("`{name}` wants {wanted}")))?;
            Ok(Overlay::Text(text.to_string()))
        }
        Value::List(_) if pod::is_text_map(name) => Err(list_in_map(name)),
        Value::Int(_) | Value::UInt(_) | Value::Float(_) | Value::Bool(_) if textual => {
            let message =
                format!("`{name}` wants text, and this is {}; `string()` makes it text", kind(value));
            Err(EvaluationError::failed(message))
        }
        Value::Int(number) if pod::is_quantity(name) => Ok(Overlay::Text(number.to_string())),
        Value::Int(number) => Ok(Overlay::Literal(number.to_string())),
        Value::UInt(number) => Ok(Overlay::Literal(number.to_string())),
        Value::Float(number) if number.is_finite() => Ok(Overlay::Literal(number.to_string())),
        Value::Bool(truth) => Ok(Overlay::Literal(truth.to_string())),
        other => Err(EvaluationError::failed(format!(
            "an expression gives single values and lists of them, and this is {}",
            kind(other)
        ))),
    }
}
