//! Values as the API server's language, which is Go's, writes them.

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
