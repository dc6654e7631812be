//! Values as Go writes them, for `string()` and `format()`.

use kube_cel::cel::Value;

/// A single value as a text; `None` for a value that is no single one.
pub(super) fn single(value: &Value) -> Option<String> {
    Some(match value {
        Value::String(text) => text.to_string(),
        Value::Bool(truth) => truth.to_string(),
        Value::Int(number) => number.to_string(),
        Value::UInt(number) => number.to_string(),
        Value::Float(number) => double(*number),
        Value::Duration(length) => duration(length.num_nanoseconds()),
        _ => return None,
    })
}

/// A number in the fewest digits that identify it, with an exponent below 0.0001 and from 1,000,000.
fn double(number: f64) -> String {
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

/// A duration in seconds; `None` is the longest one.
#[expect(clippy::cast_precision_loss, reason = "Go converts to floats too")]
fn duration(nanoseconds: Option<i64>) -> String {
    const SECOND: i64 = 1_000_000_000;
    let nanoseconds = nanoseconds.unwrap_or(i64::MAX);
    let seconds = (nanoseconds / SECOND) as f64 + (nanoseconds % SECOND) as f64 / SECOND as f64;
    format!("{seconds}s")
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
