//! The operators whose sides are evaluated first.

use std::cmp::Ordering;
use std::sync::Arc;

use kube_cel::cel::Value;
use kube_cel::cel::objects::{KeyRef, Map};

use super::budget::Budget;
use super::error::EvaluationError;
use super::types::kind;

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Operator {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
    In,
    Add,
    Subtract,
    Multiply,
    Divide,
    Modulo,
    /// `value[key]`
    Index,
    /// `value[?key]`
    OptionalIndex,
}

pub(super) fn negate(value: &Value) -> Result<Value, EvaluationError> {
    let negated = match value {
        Value::Int(number) => number.checked_neg().map(Value::Int),
        Value::Float(number) => Some(Value::Float(-number)),
        _ => None,
    };
    negated.ok_or_else(|| EvaluationError::failed(format!("{} has no negative", kind(value))))
}

pub(super) fn binary(
    operator: Operator,
    one: Value,
    other: Value,
    budget: &Budget,
) -> Result<Value, EvaluationError> {
    let truth = match operator {
        Operator::Equal => same(&one, &other, budget)?,
        Operator::NotEqual => !same(&one, &other, budget)?,
        Operator::Less => order(&one, &other, budget)?.is_lt(),
        Operator::LessOrEqual => order(&one, &other, budget)?.is_le(),
        Operator::Greater => order(&one, &other, budget)?.is_gt(),
        Operator::GreaterOrEqual => order(&one, &other, budget)?.is_ge(),
        Operator::In => contains(&one, &other, budget)?,
        Operator::Add => return add(one, other, budget),
        _ => return arithmetic(operator, &one, &other),
    };
    Ok(Value::Bool(truth))
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

fn contains(one: &Value, other: &Value, budget: &Budget) -> Result<bool, EvaluationError> {
    match other {
        Value::List(items) => {
            budget.read(one)?;
            budget.read(other)?;
            Ok(items.contains(one))
        }
        Value::Map(map) => member(map, one, budget).map(|found| found.is_some()),
        other => {
            Err(EvaluationError::failed(format!("`in` asks a list or a map, and this is {}", kind(other))))
        }
    }
}

/// The member of `map` under `key`.
pub(super) fn member<'m>(
    map: &'m Map,
    key: &Value,
    budget: &Budget,
) -> Result<Option<&'m Value>, EvaluationError> {
    budget.read_scalar(key)?;
    let key = KeyRef::try_from(key).map_err(|_| EvaluationError::failed("the key of a map is text"))?;
    Ok(map.get(&key))
}

/// The item of a list under `key`. A number of any type is a place if it is whole, as in the API server.
#[expect(clippy::cast_possible_truncation, reason = "a number beyond all places stays beyond them")]
pub(super) fn item<'l>(items: &'l [Value], key: &Value) -> Result<Option<&'l Value>, EvaluationError> {
    let place = match key {
        Value::Int(place) => usize::try_from(*place).ok(),
        Value::UInt(place) => usize::try_from(*place).ok(),
        Value::Float(place) if place.fract() == 0.0 => usize::try_from(*place as i128).ok(),
        _ => return Err(EvaluationError::failed("a list has nothing under this key")),
    };
    Ok(place.and_then(|place| items.get(place)))
}

fn add(one: Value, other: Value, budget: &Budget) -> Result<Value, EvaluationError> {
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
        (one, other) => arithmetic(Operator::Add, &one, &other),
    }
}

fn arithmetic(operator: Operator, one: &Value, other: &Value) -> Result<Value, EvaluationError> {
    let result = match (one, other) {
        (Value::Int(one), Value::Int(other)) => {
            let checked =
                [i64::checked_add, i64::checked_sub, i64::checked_mul, i64::checked_div, i64::checked_rem];
            checked_operation(operator, checked, *one, *other).map(Value::Int)
        }
        (Value::UInt(one), Value::UInt(other)) => {
            let checked =
                [u64::checked_add, u64::checked_sub, u64::checked_mul, u64::checked_div, u64::checked_rem];
            checked_operation(operator, checked, *one, *other).map(Value::UInt)
        }
        (Value::Float(one), Value::Float(other)) => match operator {
            Operator::Add => Some(one + other),
            Operator::Subtract => Some(one - other),
            Operator::Multiply => Some(one * other),
            Operator::Divide => Some(one / other),
            _ => None,
        }
        .map(Value::Float),
        (Value::Duration(one), Value::Duration(other)) => match operator {
            Operator::Add => one.checked_add(other),
            Operator::Subtract => one.checked_sub(other),
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

/// The sum, difference, product, quotient or rest of whole numbers, from the function for it.
fn checked_operation<T>(
    operator: Operator,
    checked: [fn(T, T) -> Option<T>; 5],
    one: T,
    other: T,
) -> Option<T> {
    let [add, subtract, multiply, divide, rest] = checked;
    match operator {
        Operator::Add => add(one, other),
        Operator::Subtract => subtract(one, other),
        Operator::Multiply => multiply(one, other),
        Operator::Divide => divide(one, other),
        _ => rest(one, other),
    }
}
