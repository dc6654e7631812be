//! The API server's `quantity()`: amounts, compared and added exactly.

use std::cmp::Ordering;
use std::fmt;
use std::sync::Arc;

use kube_cel::cel::Value;
use kube_cel::cel::objects::Opaque;

use super::Trouble;
use super::functions::mistyped;
use crate::quantity::{Scaled, nanos};

/// `Debug` is asked for by the library's trait, and tells nothing: an amount may come from anywhere.
#[derive(Clone, Copy)]
struct Amount {
    nanos: i128,
    /// The same as the API server holds it, as long as that is a whole number and a power of ten: of others it does not
    /// know whether they are whole.
    scaled: Option<Scaled>,
}

impl PartialEq for Amount {
    fn eq(&self, other: &Self) -> bool {
        self.nanos == other.nanos
    }
}

impl Eq for Amount {}

const ONE: i128 = 1_000_000_000;

impl fmt::Debug for Amount {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("quantity")
    }
}

impl Opaque for Amount {
    fn runtime_type_name(&self) -> &str {
        "kubernetes.Quantity"
    }
}

pub(super) fn is_quantity(value: &Value) -> bool {
    of(value).is_some()
}

pub(super) fn parse(text: &str) -> Result<Value, Trouble> {
    let amount = nanos(text).ok_or_else(|| Trouble::failed("`quantity` wants an amount such as `100m`"))?;
    Ok(made(Amount { nanos: amount, scaled: Scaled::of(text) }))
}

/// The method `name` of an amount; `None` where amounts have none of that name.
pub(super) fn call(name: &str, this: &Value, arguments: &[Value]) -> Option<Result<Value, Trouble>> {
    let amount = of(this)?;
    Some(match (name, arguments) {
        ("isInteger", []) => Ok(Value::Bool(integer(amount).is_some())),
        ("asInteger", []) => integer(amount).map(Value::Int).ok_or_else(|| {
            Trouble::failed("`asInteger` wants a whole amount that fits 64 bits; `isInteger` tells")
        }),
        #[expect(clippy::cast_precision_loss, reason = "the name says so")]
        ("asApproximateFloat", []) => Ok(Value::Float(amount.nanos as f64 / ONE as f64)),
        ("sign", []) => Ok(Value::Int(amount.nanos.cmp(&0) as i64)),
        ("add", [other]) => sum(amount, other, 1),
        ("sub", [other]) => sum(amount, other, -1),
        ("compareTo", [other]) => compared(amount, other).map(|order| Value::Int(order as i64)),
        ("isGreaterThan", [other]) => compared(amount, other).map(|order| Value::Bool(order.is_gt())),
        ("isLessThan", [other]) => compared(amount, other).map(|order| Value::Bool(order.is_lt())),
        _ => return None,
    })
}

fn of(value: &Value) -> Option<Amount> {
    let Value::Opaque(opaque) = value else { return None };
    opaque.downcast_ref::<Amount>().copied()
}

fn made(amount: Amount) -> Value {
    Value::Opaque(Arc::new(amount))
}

fn integer(amount: Amount) -> Option<i64> {
    amount.scaled.and_then(Scaled::whole)
}

fn sum(one: Amount, other: &Value, sign: i8) -> Result<Value, Trouble> {
    let other = match other {
        Value::Int(number) => {
            Amount { nanos: i128::from(*number) * ONE, scaled: Some(Scaled::from(*number)) }
        }
        other => of(other).ok_or_else(|| mistyped("add", "a quantity or a whole number"))?,
    };
    let nanos = other.nanos.checked_mul(i128::from(sign)).and_then(|nanos| one.nanos.checked_add(nanos));
    let nanos = nanos.ok_or_else(|| Trouble::failed("an amount grew too large"))?;
    let scaled = one.scaled.zip(other.scaled).and_then(|(one, other)| one.plus(other.times(sign)?));
    Ok(made(Amount { nanos, scaled }))
}

fn compared(one: Amount, other: &Value) -> Result<Ordering, Trouble> {
    of(other).map(|other| one.nanos.cmp(&other.nanos)).ok_or_else(|| mistyped("compareTo", "a quantity"))
}
