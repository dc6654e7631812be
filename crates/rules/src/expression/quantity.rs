//! The API server's `quantity()`: amounts, compared and added exactly, by the names that its library has for that.

mod amount;
mod decimal;

use std::fmt;
use std::sync::Arc;

use kube_cel::cel::Value;
use kube_cel::cel::objects::Opaque;

use super::Trouble;
use super::functions::mistyped;
use amount::{Amount, Trouble as NoAmount};

/// `Debug` is asked for by the library's trait, and tells nothing: an amount may come from anywhere.
struct Held(Amount);

impl PartialEq for Held {
    fn eq(&self, other: &Self) -> bool {
        self.0.compare(&other.0).is_eq()
    }
}

impl Eq for Held {}

impl fmt::Debug for Held {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("quantity")
    }
}

impl Opaque for Held {
    fn runtime_type_name(&self) -> &str {
        "kubernetes.Quantity"
    }
}

pub(super) fn is_quantity(value: &Value) -> bool {
    of(value).is_some()
}

/// The digits of an amount, which working with it takes time for.
pub(super) fn length(value: &Value) -> usize {
    of(value).map_or(0, Amount::length)
}

/// Whether `text` is an amount, be it one that is too large to work with.
pub(super) fn is_written(text: &str) -> bool {
    !matches!(Amount::read(text), Err(NoAmount::Malformed))
}

pub(super) fn parse(text: &str) -> Result<Value, Trouble> {
    match Amount::read(text) {
        Err(NoAmount::Malformed) => Err(Trouble::failed("`quantity` wants an amount such as `100m`")),
        amount => made(amount.ok()),
    }
}

/// The method `name` of an amount; `None` where amounts have none of that name.
pub(super) fn call(name: &str, this: &Value, arguments: &[Value]) -> Option<Result<Value, Trouble>> {
    let amount = of(this)?;
    Some(match (name, arguments) {
        ("isInteger", []) => Ok(Value::Bool(amount.whole().is_some())),
        ("asInteger", []) => amount.whole().map(Value::Int).ok_or_else(|| {
            Trouble::failed("`asInteger` wants a whole amount that fits 64 bits; `isInteger` tells")
        }),
        ("asApproximateFloat", []) => Ok(Value::Float(amount.float())),
        ("sign", []) => Ok(Value::Int(amount.sign())),
        ("add", [Value::Int(other)]) => made(amount.plus(&Amount::from(*other))),
        ("sub", [Value::Int(other)]) => made(amount.minus(&Amount::from(*other))),
        ("add", [other]) => with("add", other, |other| made(amount.plus(other))),
        ("sub", [other]) => with("sub", other, |other| made(amount.minus(other))),
        ("compareTo", [other]) => with(name, other, |other| Ok(Value::Int(amount.compare(other) as i64))),
        ("isGreaterThan", [other]) => {
            with(name, other, |other| Ok(Value::Bool(amount.compare(other).is_gt())))
        }
        ("isLessThan", [other]) => with(name, other, |other| Ok(Value::Bool(amount.compare(other).is_lt()))),
        _ => return None,
    })
}

fn with(
    function: &str,
    other: &Value,
    answer: impl FnOnce(&Amount) -> Result<Value, Trouble>,
) -> Result<Value, Trouble> {
    answer(of(other).ok_or_else(|| mistyped(function, "a quantity"))?)
}

fn of(value: &Value) -> Option<&Amount> {
    let Value::Opaque(opaque) = value else { return None };
    opaque.downcast_ref::<Held>().map(|held| &held.0)
}

/// An amount as a value, unless it has grown too long.
fn made(amount: Option<Amount>) -> Result<Value, Trouble> {
    let amount = amount.ok_or_else(|| Trouble::failed("an amount of more than 1,000 digits"))?;
    Ok(Value::Opaque(Arc::new(Held(amount))))
}

#[cfg(test)]
mod tests;
