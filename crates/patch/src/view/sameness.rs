//! When two values are the same.

use std::collections::HashMap;

use super::{Kind, Place, View};
use crate::MAX_DEPTH;

/// When two numbers are the same.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Numbers {
    /// Written alike.
    AsWritten,
    /// Of equal value, exactly and at any size (RFC 6902 section 4.6).
    ByValue,
}

impl View<'_> {
    pub(crate) fn equals(self, other: View<'_>, numbers: Numbers) -> bool {
        equals(self, other, numbers, MAX_DEPTH)
    }
}

/// `levels` is how many more levels are opened; what lies deeper is compared as it is written.
fn equals(one: View<'_>, other: View<'_>, numbers: Numbers, levels: usize) -> bool {
    if let (Place::Text(one), Place::Text(other)) = (one.0, other.0)
        && one.written == other.written
    {
        return true;
    }
    match (one.kind(), other.kind()) {
        (Kind::Array, Kind::Array) if levels > 0 => {
            let (mine, others) = (one.items(), other.items());
            mine.len() == others.len()
                && mine.iter().zip(others).all(|(mine, other)| equals(*mine, other, numbers, levels - 1))
        }
        (Kind::Object, Kind::Object) if levels > 0 => {
            let (mine, others): (_, HashMap<_, _>) = (one.entries(), other.entries().into_iter().collect());
            let equal = |name, value| {
                others.get(name).is_some_and(|other| equals(value, *other, numbers, levels - 1))
            };
            mine.len() == others.len() && mine.iter().all(|(name, value)| equal(name, *value))
        }
        (Kind::String, Kind::String) => one.as_str() == other.as_str(),
        (Kind::Number, Kind::Number) if numbers == Numbers::ByValue => {
            by_value(&one.to_json()) == by_value(&other.to_json())
        }
        (kind, others) => kind == others && one.to_json() == other.to_json(),
    }
}

/// Digits without zeros at either end, times a power of ten.
fn by_value(written: &str) -> String {
    let (sign, size) = written.strip_prefix('-').map_or(("", written), |size| ("-", size));
    let (mantissa, exponent) = size.split_once(['e', 'E']).unwrap_or((size, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let digits = digits.trim_start_matches('0');
    let trimmed = digits.trim_end_matches('0');
    if trimmed.is_empty() {
        return "0".to_owned();
    }
    let shift = (digits.len() - trimmed.len()) as i128 - fraction.len() as i128;
    match exponent.parse::<i128>().ok().and_then(|exponent| exponent.checked_add(shift)) {
        Some(exponent) => format!("{sign}{trimmed}e{exponent}"),
        // An exponent of 39 digits: nobody's number.
        None => written.to_owned(),
    }
}
