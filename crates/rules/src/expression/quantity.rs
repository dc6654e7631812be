//! `quantity()` of the API server's CEL library: amounts are compared and added exactly, down to a billionth.
//!
//! An amount has at most 38 digits down to a billionth (docs/adr/0084). [`Short`] is kept beside it only because
//! `isInteger()` depends on how Kubernetes stores an amount: `1k` is an integer, `1000m` is not.

use std::fmt;
use std::sync::Arc;

use kube_cel::cel::Value;
use kube_cel::cel::objects::Opaque;

use super::error::EvaluationError;
use super::values::as_opaque;
use crate::quantity::ParsedQuantity;

#[derive(Clone, Copy)]
struct Quantity {
    /// The amount in billionths.
    nanos: i128,
    /// `None` where Kubernetes stores the amount as a big decimal, which is never an integer.
    short: Option<Short>,
}

/// An amount as Kubernetes stores it in 64 bits: `value` times ten to the power of `scale`.
#[derive(Clone, Copy)]
struct Short {
    value: i64,
    scale: i32,
}

/// The lowest scale of an amount: a billionth.
const NANO: i32 = -9;

pub(super) fn is_quantity(value: &Value) -> bool {
    as_opaque::<Quantity>(value).is_some()
}

/// Whether `text` is a quantity to Kubernetes, even if it has too many digits for [`parse`].
pub(super) fn is_written(text: &str) -> bool {
    ParsedQuantity::parse(text).is_some_and(|written| written.has_digits || Short::of(&written).is_some())
}

pub(super) fn parse(text: &str) -> Result<Value, EvaluationError> {
    let written = ParsedQuantity::parse(text).filter(|_| is_written(text));
    let written =
        written.ok_or_else(|| EvaluationError::failed("`quantity` wants an amount such as `100m`"))?;
    quantity_value(written.nanos().map(|nanos| Quantity { nanos, short: Short::of(&written) }))
}

/// Calls the function `name`, whose receiver is the first argument.
pub(super) fn call(name: &str, arguments: &[Value]) -> Result<Value, EvaluationError> {
    match (name, arguments) {
        ("quantity", [Value::String(text)]) => return parse(text),
        ("isQuantity", [Value::String(text)]) => return Ok(Value::Bool(is_written(text))),
        _ => {}
    }
    let wanted = || EvaluationError::mistyped(name, "a quantity");
    let Some((quantity, rest)) =
        arguments.split_first().and_then(|(one, rest)| Some((as_opaque::<Quantity>(one)?, rest)))
    else {
        return Err(if name == "sign" { wanted() } else { EvaluationError::refused(name) });
    };
    let other = || match rest {
        [Value::Int(number)] => Ok(Quantity::from(*number)),
        [other] => as_opaque(other).copied().ok_or_else(wanted),
        _ => Err(wanted()),
    };
    let order = || match rest {
        [Value::Int(_)] => Err(wanted()),
        _ => other().map(|other| quantity.nanos.cmp(&other.nanos)),
    };
    match name {
        "isInteger" => Ok(Value::Bool(quantity.integer().is_some())),
        "asInteger" => quantity.integer().map(Value::Int).ok_or_else(|| {
            EvaluationError::failed("`asInteger` wants a whole amount that fits 64 bits; `isInteger` tells")
        }),
        "asApproximateFloat" => Ok(Value::Float(quantity.float())),
        "sign" => Ok(Value::Int(quantity.nanos.signum() as i64)),
        "add" => quantity_value(quantity.plus(other()?)),
        "sub" => quantity_value(other()?.negated().and_then(|other| quantity.plus(other))),
        "compareTo" => order().map(|order| Value::Int(order as i64)),
        "isGreaterThan" => order().map(|order| Value::Bool(order.is_gt())),
        "isLessThan" => order().map(|order| Value::Bool(order.is_lt())),
        _ => Err(EvaluationError::refused(name)),
    }
}

fn quantity_value(quantity: Option<Quantity>) -> Result<Value, EvaluationError> {
    let quantity = quantity
        .ok_or_else(|| EvaluationError::failed("an amount of more than 38 digits down to a billionth"))?;
    Ok(Value::Opaque(Arc::new(quantity)))
}

impl Quantity {
    fn integer(&self) -> Option<i64> {
        let Short { value, scale } = self.short?;
        times_power_of_ten(value, scale)
    }

    #[expect(clippy::cast_precision_loss, reason = "`asApproximateFloat` asks for it")]
    fn float(&self) -> f64 {
        match self.short {
            Some(Short { value, scale: 0 }) => value as f64,
            // The product of two floats, as in Kubernetes: it is not always the nearest float.
            Some(Short { value, scale }) => {
                value as f64 * format!("1e{scale}").parse::<f64>().unwrap_or(f64::NAN)
            }
            None => self.nanos as f64 / 1e9,
        }
    }

    /// `None` where the sum has too many digits.
    fn plus(self, other: Self) -> Option<Self> {
        let short = self.short.zip(other.short).and_then(|(one, other)| one.plus(other));
        Some(Self { nanos: self.nanos.checked_add(other.nanos)?, short })
    }

    fn negated(self) -> Option<Self> {
        let negated = |Short { value, scale }| Some(Short { value: value.checked_neg()?, scale });
        Some(Self { nanos: self.nanos.checked_neg()?, short: self.short.and_then(negated) })
    }
}

impl Short {
    /// The rules by which Kubernetes chooses 64 bits: 18 digits at most, fewer with a binary suffix, and no fraction with
    /// one.
    fn of(written: &ParsedQuantity<'_>) -> Option<Self> {
        let ParsedQuantity { whole, fraction, factor, .. } = *written;
        let whole = if whole.is_empty() { "0" } else { whole };
        let room = match factor {
            1 => 18,
            factor if fraction.is_empty() => 14_u32.checked_sub(factor.ilog2() * 3 / 10)?,
            _ => return None,
        };
        if u32::try_from(whole.len() + fraction.len()).ok()? > room {
            return None;
        }
        let value = format!("{whole}{fraction}").parse::<i64>().ok()?.checked_mul(factor)?;
        let scale = written.power.checked_sub(i32::try_from(fraction.len()).ok()?)?;
        (scale >= NANO).then_some(Self { value: if written.negative { -value } else { value }, scale })
    }

    fn plus(self, other: Self) -> Option<Self> {
        match (self.value, other.value) {
            (_, 0) => Some(self),
            (0, _) => Some(other),
            (one, another) => {
                let scale = self.scale.min(other.scale);
                let sum = times_power_of_ten(one, self.scale - scale)?
                    .checked_add(times_power_of_ten(another, other.scale - scale)?)?;
                Some(Self { value: sum, scale })
            }
        }
    }
}

/// `value` times ten to the power of `steps`, which is not negative, if 64 bits hold it.
fn times_power_of_ten(value: i64, steps: i32) -> Option<i64> {
    match (value, u32::try_from(steps).ok()?) {
        (0, _) => Some(0),
        (value, steps) => value.checked_mul(10_i64.checked_pow(steps)?),
    }
}

impl From<i64> for Quantity {
    fn from(value: i64) -> Self {
        Self { nanos: i128::from(value) * 1_000_000_000, short: Some(Short { value, scale: 0 }) }
    }
}

impl PartialEq for Quantity {
    fn eq(&self, other: &Self) -> bool {
        self.nanos == other.nanos
    }
}

impl Eq for Quantity {}

/// The library's trait wants `Debug`. It shows no amount, which may be a secret.
impl fmt::Debug for Quantity {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("quantity")
    }
}

impl Opaque for Quantity {
    fn runtime_type_name(&self) -> &str {
        "kubernetes.Quantity"
    }
}

#[cfg(test)]
mod tests;
