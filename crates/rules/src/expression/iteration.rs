//! `forEach`: the values that an item of a list is repeated for, and `each` in the expressions of the item.

use kube_cel::cel::Value;

use super::compiled::Expression;
use super::error::EvaluationError;
use super::interpret::Interpreter;
use super::scope::Scope;
use super::types::{Mismatch, Type, kind};
use super::values::{content, keys};

/// The field of an item that repeats it.
pub(crate) const FOR_EACH: &str = "forEach";

/// How often an item may be repeated.
pub(crate) const MAX_EACH: usize = 100;

const WANTED: &str = "`forEach` goes over a list or a map, and this is";

impl Expression {
    /// The type of `each`, if this is the expression of `forEach`.
    pub(crate) fn type_of_each(&self) -> Result<Type, Mismatch> {
        let given = match &self.result {
            Type::Optional(inner) => inner,
            given => given,
        };
        match given {
            Type::List(item) => Ok((**item).clone()),
            Type::Map(_) => Ok(Type::Text),
            Type::Any | Type::Never => Ok(Type::Any),
            other => Err(Mismatch { message: format!("{WANTED} {}", other.words()), help: "" }),
        }
    }

    /// The values of `each` if this is the expression of `forEach`: the items of a list, or the sorted keys of a map.
    /// For each of them an item of `size` bytes is copied, which is spent here.
    pub(crate) fn values_of_each(
        &self,
        scope: &Scope<'_>,
        size: usize,
    ) -> Result<Vec<Value>, EvaluationError> {
        let value = Interpreter::new(scope).value(&self.tree)?;
        let Some(value) = content(&value) else { return Ok(Vec::new()) };
        let length = match value {
            Value::List(items) => items.len(),
            Value::Map(map) => map.map.len(),
            other => return Err(EvaluationError::failed(format!("{WANTED} {}", kind(other)))),
        };
        if length > MAX_EACH {
            let message = format!("`forEach` goes over {length} values, and may go over {MAX_EACH}");
            return Err(EvaluationError::failed(message));
        }
        scope.budget.read(value)?;
        scope.budget.copies(length, size)?;
        Ok(match value {
            Value::List(items) => items.to_vec(),
            Value::Map(map) => keys(map),
            _ => Vec::new(),
        })
    }

    /// The expression for the value `each`.
    pub(crate) fn with_each(&self, each: &Value) -> Self {
        Self { each: Some(each.clone()), ..self.clone() }
    }
}
