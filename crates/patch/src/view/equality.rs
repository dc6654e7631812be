//! Equality of two values.

use std::borrow::Cow;
use std::collections::HashMap;
use std::vec;

use super::{Items, Kind, MAX_RECURSION, Place, View};

/// Equality of two numbers.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Numbers {
    /// Equal if written alike.
    AsWritten,
    /// Equal if their values are, exactly and at any size (RFC 6902 section 4.6).
    ByValue,
}

/// Two containers whose parts are being compared.
enum Pair<'one, 'other> {
    Arrays(Items<'one>, Items<'other>),
    Objects(vec::IntoIter<(Cow<'one, str>, View<'one>)>, HashMap<Cow<'other, str>, View<'other>>),
}

/// The outcome of comparing two values without looking into them.
enum Shallow<'one, 'other> {
    Equal,
    Different,
    /// They are equal if their parts are.
    Parts(Pair<'one, 'other>),
}

impl<'one> View<'one> {
    /// Does not recurse: a document may have 10,000 levels. The stack holds one pair of iterators for each level.
    pub(crate) fn equals(self, other: View<'_>, numbers: Numbers) -> bool {
        let mut open = Vec::new();
        let mut next = Some((self, other));
        loop {
            if let Some((one, other)) = next {
                match one.compare(other, open.len(), numbers) {
                    Shallow::Equal => {}
                    Shallow::Different => return false,
                    Shallow::Parts(pair) => open.push(pair),
                }
            }
            let Some(pair) = open.last_mut() else { return true };
            next = match pair {
                Pair::Arrays(one, other) => match (one.next(), other.next()) {
                    (Some(one), Some(other)) => Some((one, other)),
                    (None, None) => None,
                    _ => return false,
                },
                Pair::Objects(one, other) => match one.next() {
                    Some((name, value)) => match other.get(&name) {
                        Some(other) => Some((value, *other)),
                        None => return false,
                    },
                    None => None,
                },
            };
            if next.is_none() {
                open.pop();
            }
        }
    }

    /// Compares two values that stand in `level` containers each.
    fn compare<'other>(self, other: View<'other>, level: usize, numbers: Numbers) -> Shallow<'one, 'other> {
        // Deeper, each level would compare all bytes below it once more.
        if level < MAX_RECURSION
            && let (Place::Text(one), Place::Text(other)) = (self.0, other.0)
            && one.written == other.written
        {
            return Shallow::Equal;
        }
        let opens = level < MAX_RECURSION || self.is_indexed() && other.is_indexed();
        let is_equal = match (self.kind(), other.kind()) {
            (Kind::Array, Kind::Array) if opens => {
                return Shallow::Parts(Pair::Arrays(self.each(), other.each()));
            }
            (Kind::Object, Kind::Object) if opens => {
                let (one, other): (_, HashMap<_, _>) =
                    (self.entries(), other.entries().into_iter().collect());
                if one.len() == other.len() {
                    return Shallow::Parts(Pair::Objects(one.into_iter(), other));
                }
                false
            }
            (Kind::String, Kind::String) => self.as_str() == other.as_str(),
            (Kind::Number, Kind::Number) if numbers == Numbers::ByValue => {
                by_value(&self.to_json()) == by_value(&other.to_json())
            }
            (one, others) => one == others && self.to_json() == other.to_json(),
        };
        if is_equal { Shallow::Equal } else { Shallow::Different }
    }

    /// Whether its containers can be skipped without reading them.
    fn is_indexed(self) -> bool {
        match self.0 {
            Place::Text(text) => !text.spans.is_empty(),
            Place::Node(..) => true,
        }
    }
}

/// Digits without zeros at either end, behind a point, times a power of ten.
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
    let shift = digits.len() as i128 - fraction.len() as i128;
    match exponent.parse::<i128>().ok().and_then(|exponent| exponent.checked_add(shift)) {
        Some(exponent) => format!("{sign}{trimmed}e{exponent}"),
        // An exponent of 39 digits or more is compared as it is written.
        None => written.to_owned(),
    }
}
