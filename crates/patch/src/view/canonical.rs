//! One text for all spellings of a value.

use std::fmt::Write as _;

use super::{Kind, View};
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
    /// The text all spellings of this value share: members sorted, strings escaped one way, no space.
    pub(crate) fn canonical(self, numbers: Numbers) -> String {
        let mut text = String::new();
        write(self, numbers, MAX_DEPTH, &mut text);
        text
    }
}

/// `levels` is how many more levels are opened; what lies deeper is taken as it is written.
fn write(view: View<'_>, numbers: Numbers, levels: usize, text: &mut String) {
    match view.kind() {
        Kind::Array if levels > 0 => {
            text.push('[');
            for item in view.items() {
                write(item, numbers, levels - 1, text);
                text.push(',');
            }
            text.push(']');
        }
        Kind::Object if levels > 0 => {
            let mut entries = view.entries();
            entries.sort_unstable_by(|(one, _), (other, _)| one.cmp(other));
            text.push('{');
            for (name, value) in entries {
                write_string(&name, text);
                write(value, numbers, levels - 1, text);
                text.push(',');
            }
            text.push('}');
        }
        Kind::Number if numbers == Numbers::ByValue => write_number(&view.to_json(), text),
        Kind::String => write_string(&view.as_str().unwrap_or_default(), text),
        _ => text.push_str(&view.to_json()),
    }
}

/// Told apart by its length, so that nothing needs to be escaped.
fn write_string(plain: &str, text: &mut String) {
    let _ = write!(text, "\"{}:{plain}", plain.len());
}

/// Digits without zeros at either end, times a power of ten.
fn write_number(written: &str, text: &mut String) {
    let (sign, size) = written.strip_prefix('-').map_or(("", written), |size| ("-", size));
    let (mantissa, exponent) = size.split_once(['e', 'E']).unwrap_or((size, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let digits = format!("{whole}{fraction}");
    let digits = digits.trim_start_matches('0');
    let trimmed = digits.trim_end_matches('0');
    if trimmed.is_empty() {
        text.push('0');
        return;
    }
    let shift = (digits.len() - trimmed.len()) as i128 - fraction.len() as i128;
    let _ = match exponent.parse::<i128>().ok().and_then(|exponent| exponent.checked_add(shift)) {
        Some(exponent) => write!(text, "{sign}{trimmed}e{exponent}"),
        // An exponent of 39 digits: nobody's number.
        None => write!(text, "{written}"),
    };
}
