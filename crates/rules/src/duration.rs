//! Durations as Go writes them: `1h30m`, `1.5s`.

use crate::quantity::nanos;

/// The length of a duration; `None` where `text` is no duration, or 64 bits of nanoseconds do not hold it.
pub(crate) fn nanoseconds(text: &str) -> Option<i128> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let mut rest = unsigned;
    let mut sum = 0_i128;
    while !rest.is_empty() {
        let end = rest.find(|c: char| !c.is_ascii_digit() && c != '.')?;
        let (number, after) = rest.split_at(end);
        let end = after.find(|c: char| c.is_ascii_digit() || c == '.').unwrap_or(after.len());
        let (unit, next) = after.split_at(end);
        let scale = match unit {
            "ns" => 1,
            // Go reads the micro sign and the Greek letter.
            "us" | "\u{b5}s" | "\u{3bc}s" => 1_000,
            "ms" => 1_000_000,
            "s" => 1_000_000_000,
            "m" => 60_000_000_000,
            "h" => 3_600_000_000_000,
            _ => return None,
        };
        // `nanos` reads the number without its unit, in billionths.
        sum = sum.checked_add(nanos(number)?.checked_mul(scale)? / 1_000_000_000)?;
        rest = next;
    }
    let known = !unsigned.is_empty() && i64::try_from(sum).is_ok();
    known.then_some(if text.starts_with('-') { -sum } else { sum })
}

#[cfg(test)]
mod tests {
    use super::nanoseconds;

    #[test]
    fn durations() {
        assert_eq!(nanoseconds("1m30s"), Some(90_000_000_000));
        assert_eq!(nanoseconds("-1.5ms"), Some(-1_500_000));
        assert_eq!([nanoseconds("1\u{b5}s"), nanoseconds("1\u{3bc}s")], [Some(1_000); 2]);
        for text in ["", "1", "s", "1x", "1s2", "1 s", "9999999999h", "-", "1.2.3s"] {
            assert_eq!(nanoseconds(text), None, "{text}");
        }
    }
}
