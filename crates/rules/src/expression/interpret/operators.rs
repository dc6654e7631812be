//! Operators.

use std::cmp::Ordering;
use std::sync::Arc;

use kube_cel::cel::Value;
use kube_cel::cel::common::ast::operators as op;
use kube_cel::cel::objects::KeyRef;

use super::super::Trouble;
use super::super::budget::Budget;
use super::super::values::kind;

pub(super) fn negate(value: &Value) -> Result<Value, Trouble> {
    let negated = match value {
        Value::Int(number) => number.checked_neg().map(Value::Int),
        Value::Float(number) => Some(Value::Float(-number)),
        _ => None,
    };
    negated.ok_or_else(|| Trouble::failed(format!("{} has no negative", kind(value))))
}

pub(super) fn add(one: Value, other: Value, budget: &Budget) -> Result<Value, Trouble> {
    match (one, other) {
        (Value::String(mut one), Value::String(other)) => {
            budget.text(one.len() + other.len())?;
            Arc::make_mut(&mut one).push_str(&other);
            Ok(Value::String(one))
        }
        (Value::List(mut one), Value::List(other)) => {
            // A list that nobody else holds grows in place.
            let copied = if Arc::get_mut(&mut one).is_some() { other.len() } else { one.len() + other.len() };
            budget.spend(copied)?;
            Arc::make_mut(&mut one).extend(other.iter().cloned());
            Ok(Value::List(one))
        }
        (one, other) => arithmetic(op::ADD, &one, &other),
    }
}

pub(super) fn binary(name: &str, one: &Value, other: &Value, budget: &Budget) -> Result<Value, Trouble> {
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

/// Both are read before they are compared: their parts may be shared so often that comparing them would never end.
fn same(one: &Value, other: &Value, budget: &Budget) -> Result<bool, Trouble> {
    budget.read(one)?;
    budget.read(other)?;
    Ok(one == other)
}

fn order(one: &Value, other: &Value, budget: &Budget) -> Result<Ordering, Trouble> {
    if let (Value::String(one), Value::String(other)) = (one, other) {
        budget.text(one.len().min(other.len()))?;
    }
    if let (Value::Bytes(one), Value::Bytes(other)) = (one, other) {
        budget.text(one.len().min(other.len()))?;
        return Ok(one.cmp(other));
    }
    let order = one.partial_cmp(other);
    order.ok_or_else(|| Trouble::failed(format!("{} and {} have no order", kind(one), kind(other))))
}

fn within(one: &Value, other: &Value, budget: &Budget) -> Result<Value, Trouble> {
    match other {
        Value::List(items) => {
            budget.read(one)?;
            budget.read(other)?;
            Ok(Value::Bool(items.contains(one)))
        }
        Value::Map(map) => {
            budget.single(one)?;
            let key = KeyRef::try_from(one).map_err(|_| Trouble::failed("the key of a map is text"))?;
            Ok(Value::Bool(map.get(&key).is_some()))
        }
        other => Err(Trouble::failed(format!("`in` asks a list or a map, and this is {}", kind(other)))),
    }
}

fn arithmetic(name: &str, one: &Value, other: &Value) -> Result<Value, Trouble> {
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
            return Err(Trouble::failed(message));
        }
    };
    result.ok_or_else(|| Trouble::failed("a number too large, or a division by zero"))
}
