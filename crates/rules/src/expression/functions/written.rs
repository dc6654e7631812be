//! Values as the API server's language, which is Go's, writes them.

use std::sync::Arc;

use kube_cel::cel::Value;

use super::super::Trouble;
use super::super::budget::Budget;
use super::super::values::{list, text};

/// A number in as few digits as tell it apart; with an exponent below a ten-thousandth and from a million on.
pub(super) fn double(number: f64) -> String {
    if number.is_nan() {
        return "NaN".to_owned();
    }
    if number.is_infinite() {
        return if number > 0.0 { "+Inf" } else { "-Inf" }.to_owned();
    }
    let scientific = format!("{number:e}");
    let Some((digits, exponent)) = scientific.split_once('e') else { return scientific };
    match exponent.parse::<i32>() {
        Ok(exponent) if !(-4..6).contains(&exponent) => {
            let sign = if exponent < 0 { '-' } else { '+' };
            format!("{digits}e{sign}{:02}", exponent.unsigned_abs())
        }
        _ => number.to_string(),
    }
}

/// So many nanoseconds, in seconds. There are no longer durations than 64 bits of them.
#[expect(clippy::cast_precision_loss, reason = "as it is done there")]
pub(super) fn duration(nanoseconds: Option<i64>) -> String {
    const SECOND: i64 = 1_000_000_000;
    let nanoseconds = nanoseconds.unwrap_or(i64::MAX);
    let seconds = (nanoseconds / SECOND) as f64 + (nanoseconds % SECOND) as f64 / SECOND as f64;
    format!("{seconds}s")
}

/// A form and its values, with those made texts that the library writes otherwise.
pub(super) fn plainly(
    form: &str,
    values: &Arc<Vec<Value>>,
    budget: &Budget,
) -> Result<(Value, Value), Trouble> {
    budget.text(form.len())?;
    let mut values = values.as_ref().clone();
    let mut written = String::with_capacity(form.len());
    let mut index = 0;
    let mut rest = form;
    while let Some((before, after)) = rest.split_once('%') {
        written.push_str(before);
        written.push('%');
        let digits = after.len() - after.trim_start_matches(|c: char| c == '.' || c.is_ascii_digit()).len();
        let (precision, after) = after.split_at(digits);
        let mut letters = after.chars();
        let verb = letters.next();
        rest = letters.as_str();
        if verb == Some('%') {
            written.push('%');
            continue;
        }
        let whole = match (verb, values.get(index)) {
            (Some('s'), Some(value)) => Some(in_words(value)),
            (Some(verb @ ('x' | 'X' | 'o' | 'b')), Some(Value::Int(number))) => Some(in_base(verb, *number)),
            _ => None,
        };
        index += 1;
        match (whole, values.get_mut(index - 1)) {
            (Some(whole), Some(value)) => {
                *value = whole;
                written.push('s');
            }
            _ => {
                written.push_str(precision);
                written.extend(verb);
            }
        }
    }
    written.push_str(rest);
    Ok((text(&written), list(values)))
}

fn in_words(value: &Value) -> Value {
    match value {
        Value::Float(number) => text(&double(*number)),
        Value::Duration(length) => text(&duration(length.num_nanoseconds())),
        other => other.clone(),
    }
}

fn in_base(verb: char, number: i64) -> Value {
    let sign = if number < 0 { "-" } else { "" };
    let number = number.unsigned_abs();
    text(&match verb {
        'x' => format!("{sign}{number:x}"),
        'X' => format!("{sign}{number:X}"),
        'o' => format!("{sign}{number:o}"),
        _ => format!("{sign}{number:b}"),
    })
}

#[cfg(test)]
mod tests {
    use super::double;

    #[test]
    fn numbers_as_go_writes_them() {
        for (number, written) in [
            (0.0, "0"),
            (-0.0, "-0"),
            (0.1, "0.1"),
            (100_000.0, "100000"),
            (999_999.5, "999999.5"),
            (1_000_000.0, "1e+06"),
            (1_234_567.5, "1.2345675e+06"),
            (0.0001, "0.0001"),
            (0.000_012, "1.2e-05"),
            (1e100, "1e+100"),
            (-2.5e-300, "-2.5e-300"),
            (f64::INFINITY, "+Inf"),
        ] {
            assert_eq!(double(number), written);
        }
    }
}
