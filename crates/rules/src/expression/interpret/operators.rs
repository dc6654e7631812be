//! The operators, except for the conditional operator, `||`, `&&` and `!`.

use std::cmp::Ordering;
use std::sync::Arc;

use kube_cel::cel::Value;
use kube_cel::cel::common::ast::operators as op;
use kube_cel::cel::objects::KeyRef;

use super::super::budget::Budget;
use super::super::error::EvaluationError;
use super::super::values::kind;

pub(super) fn negate(value: &Value) -> Result<Value, EvaluationError> {
    let negated = match value {
        Value::Int(number) => number.checked_neg().map(Value::Int),
        Value::Float(number) => Some(Value::Float(-number)),
        _ => None,
    };
    negated.ok_or_else(|| EvaluationError::failed(format!("{} has no negative", kind(value))))
}

pub(super) fn add(one: Value, other: Value, budget: &Budget) -> Result<Value, EvaluationError> {
    match (one, other) {
        (Value::String(mut one), Value::String(other)) => {
            budget.text(one.len() + other.len())?;
            Arc::make_mut(&mut one).push_str(&other);
            Ok(Value::String(one))
        }
        (Value::List(mut one), Value::List(other)) => {
            // A list with one owner grows in place.
            let copied = if Arc::get_mut(&mut one).is_some() { other.len() } else { one.len() + other.len() };
            budget.spend(copied)?;
            Arc::make_mut(&mut one).extend(other.iter().cloned());
            Ok(Value::List(one))
        }
        (one, other) => arithmetic(op::ADD, &one, &other),
    }
}

pub(super) fn binary(
    name: &str,
    one: &Value,
    other: &Value,
    budget: &Budget,
) -> Result<Value, EvaluationError> {
    match name {
        op::EQUALS => Ok(Value::Bool(same(one, other, budget)?)),
        op::NOT_EQUALS => Ok(Value::Bool(!same(one, other, budget)?)),
        op::LESS => Ok(Value::Bool(order(one, other, budget)?.is_lt())),
        op::LESS_EQUALS => Ok(Value::Bool(order(one, other, budget)?.is_le())),
        op::GREATER => Ok(Value::Bool(order(one, other, budget)?.is_gt())),
        op::GREATER_EQUALS => Ok(Value::Bool(order(one, other, budget)?.is_ge())),
        op::IN => within(one, other, budget),
        _ => arithmetic(name, one, other),
    }
}

/// Both values are charged to the budget before the comparison: shared parts can unfold to more than can be compared.
fn same(one: &Value, other: &Value, budget: &Budget) -> Result<bool, EvaluationError> {
    budget.read(one)?;
    budget.read(other)?;
    Ok(one == other)
}

fn order(one: &Value, other: &Value, budget: &Budget) -> Result<Ordering, EvaluationError> {
    if let (Value::String(one), Value::String(other)) = (one, other) {
        budget.text(one.len().min(other.len()))?;
    }
    if let (Value::Bytes(one), Value::Bytes(other)) = (one, other) {
        budget.text(one.len().min(other.len()))?;
        return Ok(one.cmp(other));
    }
    let order = one.partial_cmp(other);
    order.ok_or_else(|| EvaluationError::failed(format!("{} and {} have no order", kind(one), kind(other))))
}

fn within(one: &Value, other: &Value, budget: &Budget) -> Result<Value, EvaluationError> {
    match other {
        Value::List(items) => {
            budget.read(one)?;
            budget.read(other)?;
            Ok(Value::Bool(items.contains(one)))
        }
        Value::Map(map) => {
            budget.read_scalar(one)?;
            let key =
                KeyRef::try_from(one).map_err(|_| EvaluationError::failed("the key of a map is text"))?;
            Ok(Value::Bool(map.get(&key).is_some()))
        }
        other => {
            Err(EvaluationError::failed(format!("`in` asks a list or a map, and this is {}", kind(other))))
        }
    }
}

fn arithmetic(name: &str, one: &Value, other: &Value) -> Result<Value, EvaluationError> {
    let result = match (one, other) {
        (Value::Int(one), Value::Int(other)) => match name {
            op::ADD => one.checked_add(*other),
            op::SUBSTRACT => one.checked_sub(*other),
            op::MULTIPLY => one.checked_mul(*other),
            op::DIVIDE => one.checked_div(*other),
            op::MODULO => one.checked_rem(*other),
            _ => None,
        }
        .map(Value::Int),
        (Value::UInt(one), Value::UInt(other)) => match name {
            op::ADD => one.checked_add(*other),
            op::SUBSTRACT => one.checked_sub(*other),
            op::MULTIPLY => one.checked_mul(*other),
            op::DIVIDE => one.checked_div(*other),
            op::MODULO => one.checked_rem(*other),
            _ => None,
        }
        .map(Value::UInt),
        (Value::Float(one), Value::Float(other)) => match name {
            op::ADD => Some(one + other),
            op::SUBSTRACT => Some(one - other),
            op::MULTIPLY => Some(one * other),
            op::DIVIDE => Some(one / other),
            _ => None,
        }
        .map(Value::Float),
        (Value::Duration(one), Value::Duration(other)) => match name {
            op::ADD => one.checked_add(other),
            op::SUBSTRACT => one.checked_sub(other),
            _ => None,
        }
        .map(Value::Duration),
        _ => {
            let message = format!("{} and {} cannot be added, subtracted and so on", kind(one), kind(other));
            return Err(EvaluationError::failed(message));
        }
    };
    result.ok_or_else(|| EvaluationError::failed("a number too large, or a division by zero"))
}
