//! Evaluates an expression: to the truth of a condition, or to the overlay that a rule adds to a field.

use kube_cel::cel::Value;

use super::compiled::Expression;
use super::error::EvaluationError;
use super::interpret::Interpreter;
use super::scope::Scope;
use super::types::kind;
use super::values::as_optional;
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
        let overlay = overlay(&value, &self.field)?;
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
    match (as_optional(result), result) {
        (Some(inner), _) => inner.map_or(Ok(None), |inner| overlay(inner, name)),
        (None, Value::List(items)) => {
            if items.len() > MAX_ITEMS {
                return Err(EvaluationError::failed(format!(
                    "`{name}` would get more than {MAX_ITEMS} items"
                )));
            }
            let items = items.iter().map(|item| single(item, name)).collect::<Result<Vec<_>, _>>()?;
            Ok(Some(Overlay::List(items)))
        }
        (None, other) => single(other, name).map(Some),
    }
}

fn single(value: &Value, name: &str) -> Result<Overlay, EvaluationError> {
    let textual = pod::is_text(name) || pod::is_text_map(name) && !pod::is_quantity(name);
    match value {
        Value::String(text) if text.len() > MAX_TEXT => {
            Err(EvaluationError::failed(format!("`{name}` would get a text of more than {MAX_TEXT} bytes")))
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
