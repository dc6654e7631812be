//! When two values are the same.

use std::collections::HashMap;

use super::{Kind, LEVELS, Place, View};

/// When two numbers are the same.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Numbers {
    /// Written alike.
    AsWritten,
    /// Of equal value, exactly and at any size (RFC 6902 section 4.6).
    ByValue,
}

impl View<'_> {
    /// Does not recurse: a document may have 10,000 levels.
    pub(crate) fn equals(self, other: View<'_>, numbers: Numbers) -> bool {
        let mut pending = vec![(self, other, 0)];
        while let Some((one, other, level)) = pending.pop() {
            // Further in, each level would read all that is below it once more.
            if level < LEVELS
                && let (Place::Text(one), Place::Text(other)) = (one.0, other.0)
                && one.written == other.written
            {
                continue;
            }
            let opens = level < LEVELS || one.is_indexed() && other.is_indexed();
            let same = match (one.kind(), other.kind()) {
                (Kind::Array, Kind::Array) if opens => {
                    let (mine, others) = (one.items(), other.items());
                    let same = mine.len() == others.len();
                    pending
                        .extend(mine.into_iter().zip(others).map(|(mine, other)| (mine, other, level + 1)));
                    same
                }
                (Kind::Object, Kind::Object) if opens => {
                    let (mine, others): (_, HashMap<_, _>) =
                        (one.entries(), other.entries().into_iter().collect());
                    let has = |(name, value): (_, _)| {
                        others.get(&name).map(|other| pending.push((value, *other, level + 1))).is_some()
                    };
                    mine.len() == others.len() && mine.into_iter().all(has)
                }
                (Kind::String, Kind::String) => one.as_str() == other.as_str(),
                (Kind::Number, Kind::Number) if numbers == Numbers::ByValue => {
                    by_value(&one.to_json()) == by_value(&other.to_json())
                }
                (kind, others) => kind == others && one.to_json() == other.to_json(),
            };
            if !same {
                return false;
            }
        }
        true
    }

    /// Whether each container of it is stepped over without being read.
    fn is_indexed(self) -> bool {
        match self.0 {
            Place::Text(text) => !text.spans.is_empty(),
            Place::Node(..) => true,
        }
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
