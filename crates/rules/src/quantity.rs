//! Kubernetes quantities, compared by value: `100m` is `0.1`.

/// The parts of a quantity: the digits before and behind the dot, times `factor`, times ten to the power of `power`.
pub(crate) struct ParsedQuantity<'t> {
    pub(crate) negative: bool,
    /// Without leading zeros.
    pub(crate) whole: &'t str,
    pub(crate) fraction: &'t str,
    /// Whether there are any digits. Without digits, Kubernetes accepts `m` as a quantity and refuses `Ei`.
    pub(crate) has_digits: bool,
    pub(crate) factor: i64,
    pub(crate) power: i32,
}

impl<'t> ParsedQuantity<'t> {
    /// As `ParseQuantity` of `k8s.io/apimachinery/pkg/api/resource` reads it; `None` where the suffix is none.
    pub(crate) fn parse(text: &'t str) -> Option<Self> {
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
        let digits =
            |text: &'t str| text.split_at(text.find(|c: char| !c.is_ascii_digit()).unwrap_or(text.len()));
        let (whole, rest) = digits(unsigned);
        let (fraction, suffix) = rest.strip_prefix('.').map_or(("", rest), digits);
        let (factor, power) = scale(suffix)?;
        (!text.is_empty()).then(|| Self {
            negative: text.starts_with('-'),
            whole: whole.trim_start_matches('0'),
            fraction,
            has_digits: whole.len() + fraction.len() > 0,
            factor,
            power,
        })
    }

    /// The amount in billionths, unless 128 bits do not hold it.
    pub(crate) fn nanos(&self) -> Option<i128> {
        let Self { negative, whole, fraction, factor, power, .. } = *self;
        if !(-30..=30).contains(&power) {
            return None;
        }
        let mantissa: i128 = format!("0{whole}{fraction}").parse().ok()?;
        let power = power + 9 - i32::try_from(fraction.len()).ok()?;
        let scaled = mantissa.checked_mul(factor.into())?;
        let ten = 10_i128.checked_pow(power.unsigned_abs())?;
        // Amounts finer than a billionth are rounded away from zero, as in Kubernetes.
        let amount = if power < 0 { scaled.checked_add(ten - 1)? / ten } else { scaled.checked_mul(ten)? };
        // With a binary suffix an amount is at most 2^63 - 1, as in Kubernetes.
        let amount = if factor > 1 { amount.min(i128::from(i64::MAX) * 1_000_000_000) } else { amount };
        Some(if negative { -amount } else { amount })
    }
}

/// The amount in billionths, or `None` where the text is no quantity or too large to compare.
pub(crate) fn nanos(text: &str) -> Option<i128> {
    ParsedQuantity::parse(text).filter(|written| written.has_digits)?.nanos()
}

/// The amount in billionths, rounded up to thousandths, as the API server stores requests and limits.
pub(crate) fn rounded_nanos(text: &str) -> Option<i128> {
    const MILLI: i128 = 1_000_000;
    let amount = nanos(text)?;
    amount.checked_add((MILLI - amount.rem_euclid(MILLI)) % MILLI)
}

/// The factor and the power of ten of a suffix.
#[expect(clippy::cast_possible_truncation, reason = "Kubernetes keeps 32 bits of the exponent")]
fn scale(suffix: &str) -> Option<(i64, i32)> {
    Some(match suffix {
        "n" => (1, -9),
        "u" => (1, -6),
        "m" => (1, -3),
        "" => (1, 0),
        "k" => (1, 3),
        "M" => (1, 6),
        "G" => (1, 9),
        "T" => (1, 12),
        "P" => (1, 15),
        "E" => (1, 18),
        "Ki" => (1 << 10, 0),
        "Mi" => (1 << 20, 0),
        "Gi" => (1 << 30, 0),
        "Ti" => (1 << 40, 0),
        "Pi" => (1 << 50, 0),
        "Ei" => (1 << 60, 0),
        _ => (1, suffix.strip_prefix(['e', 'E'])?.parse::<i64>().ok()? as i32),
    })
}

#[cfg(test)]
mod tests {
    use super::{nanos, rounded_nanos};

    #[test]
    fn different_spellings_of_an_amount_are_equal() {
        for same in
            [&["100m", "0.1", ".1", "100e-3", "1e-1"][..], &["1Gi", "1024Mi", "1073741824"], &["1k", "1e3"]]
        {
            let amounts: Vec<_> = same.iter().map(|text| nanos(text).unwrap()).collect();
            assert!(amounts.windows(2).all(|pair| pair[0] == pair[1]), "{same:?} {amounts:?}");
        }
        assert_ne!(nanos("1"), nanos("1m"));
        assert_eq!(nanos("-1"), Some(-1_000_000_000));
    }

    #[test]
    fn requests_are_rounded_up_to_thousandths() {
        for (text, stored) in [("0.1m", "1m"), ("1n", "1m"), ("1500u", "2m"), ("2m", "2m"), ("0", "0")] {
            assert_eq!(rounded_nanos(text), nanos(stored), "{text}");
        }
    }

    #[test]
    fn texts_that_are_no_quantity() {
        for text in ["", ".", "m", "1.2.3", "1 Gi", "1GiB", "one", "1e", "1ee3", "--1", "1e99"] {
            assert_eq!(nanos(text), None, "{text}");
        }
    }
}
