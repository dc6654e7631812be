//! Functions of numbers, texts, lists, optionals, durations and versions that are not the library's alone.

use std::cmp::Ordering;
use std::net::IpAddr;
use std::sync::Arc;

use kube_cel::cel::Value;

use super::super::budget::Budget;
use super::super::error::EvaluationError;
use super::super::operators::{self, Operator};
use super::super::quantity;
use super::super::types::{Type, kind};
use super::super::url;
use super::super::values::{as_optional, list, optional, text};
use super::{go_format, library, strings};
use crate::duration::nanoseconds;

/// Calls the function `name`, whose receiver is the first argument.
pub(super) fn call(name: &str, arguments: &[Value], budget: &Budget) -> Result<Value, EvaluationError> {
    match (name, arguments) {
        ("size", [value]) => size(value),
        ("int" | "uint" | "double" | "bool", [value]) => number(name, value),
        ("string", [value]) => string(value, budget),
        ("bytes", [Value::String(written)]) => {
            budget.text(written.len())?;
            Ok(Value::from(written.as_bytes().to_vec()))
        }
        ("dyn", [value]) | ("bytes", [value @ Value::Bytes(_)]) => Ok(value.clone()),
        ("sum", [Value::List(items)]) => {
            items.iter().try_for_each(|item| budget.read(item).map(drop))?;
            sum(items, budget)
        }
        ("sort", [Value::List(items)]) => sort(items, budget),
        ("lists.range", [Value::Int(end)]) => {
            let end = usize::try_from(*end).unwrap_or_default();
            budget.spend(end)?;
            Ok(list((0..).map(Value::Int).take(end).collect()))
        }
        ("optional.none", []) => Ok(optional(None)),
        ("optional.of", [value]) => Ok(optional(Some(value.clone()))),
        ("optional.ofNonZeroValue", [value]) => {
            Ok(optional(Some(value.clone()).filter(|value| !value.is_zero())))
        }
        ("hasValue", [value]) => Ok(Value::Bool(inner(name, value)?.is_some())),
        ("value", [value]) => {
            let inner = inner(name, value)?.cloned();
            inner.ok_or_else(|| EvaluationError::failed("`value()` of an optional that holds none"))
        }
        ("compareTo" | "isGreaterThan" | "isLessThan", [one, ..]) if quantity::is_quantity(one) => {
            quantity::call(name, arguments)
        }
        ("compareTo" | "isGreaterThan" | "isLessThan", _) => library::method(name, arguments, budget),
        ("duration", [Value::String(written)]) => {
            budget.text(written.len())?;
            let known =
                if matches!(written.as_str(), "0" | "+0" | "-0") { Some(0) } else { nanoseconds(written) };
            let length = known.ok_or_else(|| {
                EvaluationError::mistyped(name, "a duration such as `1m30s`, of 292 years at most")
            })?;
            // The library reads floating-point numbers. These whole ones lose nothing.
            let (sign, length) = (if length < 0 { "-" } else { "" }, length.unsigned_abs());
            let (seconds, rest) = (length / 1_000_000_000, length % 1_000_000_000);
            let exact = format!("{sign}{}h{}s{rest}ns", seconds / 3_600, seconds % 3_600);
            library::function(name, &[text(&exact)], budget)
        }
        ("getHours" | "getMinutes" | "getSeconds" | "getMilliseconds", [Value::Duration(length)]) => {
            Ok(Value::Int(match name {
                "getHours" => length.num_hours(),
                "getMinutes" => length.num_minutes(),
                "getSeconds" => length.num_seconds(),
                _ => length.num_milliseconds(),
            }))
        }
        ("isCIDR", [Value::String(written)]) if !is_prefix(written) => Ok(Value::Bool(false)),
        ("cidr", [Value::String(written)]) | ("containsCIDR", [_, Value::String(written)])
            if !is_prefix(written) =>
        {
            Err(EvaluationError::refused(name))
        }
        ("cidr" | "isCIDR", _) => library::function(name, arguments, budget),
        ("containsCIDR", _) => library::method(name, arguments, budget),
        ("isURL", [Value::String(written)]) => {
            budget.text(written.len())?;
            Ok(Value::Bool(url::parse(written).is_some()))
        }
        ("url", [Value::String(written)]) => {
            budget.text(written.len())?;
            url::parse(written).ok_or_else(|| {
                EvaluationError::mistyped(name, "an address with a scheme, or a path from the root")
            })
        }
        ("getScheme" | "getHost" | "getHostname" | "getPort" | "getEscapedPath" | "getQuery", [address]) => {
            let found =
                url::call(name, address).ok_or_else(|| EvaluationError::mistyped(name, "an address"))?;
            budget.read(&found)?;
            Ok(found)
        }
        ("semver" | "isSemver", [Value::String(written)]) => version(name, written, budget),
        ("semver" | "isSemver", [Value::String(written), Value::Bool(tolerant)]) => {
            let whole = if *tolerant { strings::whole_version(written) } else { Some(written.to_string()) };
            // The empty text is refused as a version.
            version(name, &whole.unwrap_or_default(), budget)
        }
        _ => Err(EvaluationError::refused(name)),
    }
}

/// Whether the library may read `written` as a network. Unlike Go it accepts leading zeros, in addresses and in the length.
fn is_prefix(written: &str) -> bool {
    written.rsplit_once('/').is_some_and(|(address, length)| {
        address.parse::<IpAddr>().is_ok()
            && (length == "0" || length.starts_with(|c| ('1'..='9').contains(&c)))
    })
}

/// `semver()` or `isSemver()`. Versions are compared without the build metadata behind `+`.
fn version(function: &str, written: &str, budget: &Budget) -> Result<Value, EvaluationError> {
    let strict = |version: &str| library::function(function, &[text(version)], budget);
    let made = strict(written)?;
    match written.split_once('+') {
        Some((version, _)) if function == "semver" => strict(version),
        _ => Ok(made),
    }
}

/// The content of an optional.
fn inner<'v>(function: &str, value: &'v Value) -> Result<Option<&'v Value>, EvaluationError> {
    as_optional(value).ok_or_else(|| EvaluationError::mistyped(function, "an optional"))
}

fn size(value: &Value) -> Result<Value, EvaluationError> {
    let size = match value {
        Value::String(text) => text.chars().count(),
        Value::Bytes(bytes) => bytes.len(),
        Value::List(items) => items.len(),
        Value::Map(map) => map.map.len(),
        _ => return Err(EvaluationError::mistyped("size", "text, a list or a map")),
    };
    Ok(Value::Int(i64::try_from(size).unwrap_or(i64::MAX)))
}

#[expect(
    clippy::cast_precision_loss,
    clippy::cast_possible_truncation,
    clippy::cast_sign_loss,
    reason = "the range is checked, or the conversion is asked for"
)]
fn number(function: &str, value: &Value) -> Result<Value, EvaluationError> {
    const EDGE: f64 = 9_223_372_036_854_775_808.0;
    let made = match (function, value) {
        ("int", Value::Int(_))
        | ("uint", Value::UInt(_))
        | ("double", Value::Float(_))
        | ("bool", Value::Bool(_)) => Some(value.clone()),
        ("int", Value::UInt(number)) => i64::try_from(*number).ok().map(Value::Int),
        ("int", Value::Float(number)) => (number.abs() < EDGE).then_some(Value::Int(*number as i64)),
        ("int", Value::String(text)) => text.parse().ok().map(Value::Int),
        ("uint", Value::Int(number)) => u64::try_from(*number).ok().map(Value::UInt),
        ("uint", Value::Float(number)) => {
            (*number >= 0.0 && *number < 2.0 * EDGE).then_some(Value::UInt(*number as u64))
        }
        // Go reads a sign before a signed number only.
        ("uint", Value::String(text)) if text.starts_with('+') => None,
        ("uint", Value::String(text)) => text.parse().ok().map(Value::UInt),
        ("double", Value::Int(number)) => Some(Value::Float(*number as f64)),
        ("double", Value::UInt(number)) => Some(Value::Float(*number as f64)),
        ("double", Value::String(text)) => {
            // Digits beyond the greatest number are no infinity, which is written in letters.
            let is_beyond =
                |number: &f64| number.is_infinite() && text.contains(|c: char| c.is_ascii_digit());
            text.parse().ok().filter(|number| !is_beyond(number)).map(Value::Float)
        }
        ("bool", Value::String(text)) => match text.as_str() {
            "1" | "t" | "T" | "true" | "TRUE" | "True" => Some(Value::Bool(true)),
            "0" | "f" | "F" | "false" | "FALSE" | "False" => Some(Value::Bool(false)),
            _ => None,
        },
        _ => None,
    };
    made.ok_or_else(|| {
        EvaluationError::mistyped(function, &format!("a value that is one; {} is none", kind(value)))
    })
}

fn string(value: &Value, budget: &Budget) -> Result<Value, EvaluationError> {
    match value {
        Value::String(_) => Ok(value.clone()),
        Value::Bytes(bytes) => {
            let readable = std::str::from_utf8(bytes)
                .map_err(|_| EvaluationError::mistyped("string", "bytes of UTF-8"))?;
            budget.text(bytes.len())?;
            Ok(text(readable))
        }
        Value::Opaque(_) if as_optional(value).is_none() && !quantity::is_quantity(value) => {
            library::method("string", std::slice::from_ref(value), budget)
        }
        other => {
            let written = go_format::single(other).map(|written| text(&written));
            written.ok_or_else(|| {
                EvaluationError::mistyped("string", &format!("a single value; this is {}", kind(other)))
            })
        }
    }
}

fn sum(items: &[Value], budget: &Budget) -> Result<Value, EvaluationError> {
    let wrong = || EvaluationError::mistyped("sum", "numbers of one kind, durations or quantities");
    // As many nanoseconds as 64 bits hold: the API server has no longer durations.
    let fits = |sum: &Value| match sum {
        Value::Int(_) | Value::UInt(_) | Value::Float(_) => true,
        Value::Duration(sum) => sum.num_nanoseconds().is_some(),
        sum => quantity::is_quantity(sum),
    };
    let mut items = items.iter().cloned();
    let Some(mut sum) = items.next() else { return Ok(Value::Int(0)) };
    for item in items {
        sum = match fits(&sum) {
            false => return Err(wrong()),
            true if quantity::is_quantity(&sum) => quantity::call("add", &[sum, item])?,
            true => operators::binary(Operator::Add, sum, item, budget).map_err(|_| wrong())?,
        };
    }
    if fits(&sum) { Ok(sum) } else { Err(wrong()) }
}

/// The library's `sort` panics for values without a total order.
fn sort(items: &Arc<Vec<Value>>, budget: &Budget) -> Result<Value, EvaluationError> {
    let mut steps = 0_usize;
    for item in items.iter() {
        steps += budget.read(item)?;
    }
    budget.spend(steps.saturating_mul(usize::try_from(items.len().max(2).ilog2()).unwrap_or_default()))?;
    let Some(first) = items.first() else { return Ok(list(Vec::new())) };
    let of = Type::of(first);
    let has_order =
        matches!(of, Type::Text | Type::Int | Type::Uint | Type::Double | Type::Bool | Type::Duration);
    if !has_order || items.iter().any(|item| Type::of(item) != of) {
        return Err(EvaluationError::mistyped(
            "sort",
            "a list of texts, numbers of one kind, truth values or durations",
        ));
    }
    let mut sorted = items.as_ref().clone();
    sorted.sort_by(|one, other| match (one, other) {
        // This order is total, with NaN at an end.
        (Value::Float(one), Value::Float(other)) => one.total_cmp(other),
        _ => one.partial_cmp(other).unwrap_or(Ordering::Equal),
    });
    Ok(list(sorted))
}
