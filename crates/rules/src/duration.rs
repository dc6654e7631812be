//! Durations as Go writes them: `1h30m`, `1.5s`.

/// The most digits behind a dot that are read: with more of them, 128 bits would not hold the products.
const MAX_DIGITS: usize = 18;

/// The length of a duration in nanoseconds; `None` if `text` is no duration, or 64 bits do not hold it.
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
        sum = sum.checked_add(scaled(number, scale)?)?;
        rest = next;
    }
    let sum = if text.starts_with('-') { -sum } else { sum };
    (!unsigned.is_empty() && i64::try_from(sum).is_ok()).then_some(sum)
}

/// `number` times `scale`, without the part that is smaller than one.
fn scaled(number: &str, scale: i128) -> Option<i128> {
    let (whole, fraction) = number.split_once('.').unwrap_or((number, ""));
    if whole.is_empty() && fraction.is_empty() || fraction.contains('.') {
        return None;
    }
    let read = |digits: &str| format!("0{digits}").parse::<i128>().ok();
    let fraction = fraction.get(..MAX_DIGITS).unwrap_or(fraction);
    let small =
        read(fraction)?.checked_mul(scale)? / 10_i128.checked_pow(u32::try_from(fraction.len()).ok()?)?;
    read(whole)?.checked_mul(scale)?.checked_add(small)
}

#[cfg(test)]
mod tests {
    use super::nanoseconds;

    #[test]
    fn durations() {
        assert_eq!(nanoseconds("1m30s"), Some(90_000_000_000));
        assert_eq!(nanoseconds("-1.5ms"), Some(-1_500_000));
        assert_eq!([nanoseconds("1\u{b5}s"), nanoseconds("1\u{3bc}s")], [Some(1_000); 2]);
        assert_eq!([nanoseconds(".5s"), nanoseconds("5.s")], [Some(500_000_000), Some(5_000_000_000)]);
        // Parts of a nanosecond are left out.
        assert_eq!(nanoseconds("0.1234567899s"), Some(123_456_789));
        assert_eq!(nanoseconds("0.1234567891h"), Some(444_444_440_760));
        assert_eq!(nanoseconds(&format!("0.{}s", "3".repeat(100))), Some(333_333_333));
        assert_eq!(nanoseconds("-2562047h47m16.854775808s"), Some(i64::MIN.into()));
        for text in
            ["2562047h47m16.854775808s", ".s", "", "1", "s", "1x", "1s2", "1 s", "9999999999h", "-", "1.2.3s"]
        {
            assert_eq!(nanoseconds(text), None, "{text}");
        }
    }
}
