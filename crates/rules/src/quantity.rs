//! Kubernetes quantities, compared by value: `100m` is `0.1`.

/// A parsed quantity: the digits before and after the dot, times `factor`, times ten to the power of `power`.
pub(crate) struct Written<'t> {
    pub(crate) negative: bool,
    /// The digits before the dot, without leading zeros.
    pub(crate) whole: &'t str,
    pub(crate) fraction: &'t str,
    /// Whether there is any digit. Kubernetes accepts `m` as a quantity, and refuses `Ei`.
    pub(crate) has_digits: bool,
    pub(crate) factor: i64,
    pub(crate) power: i32,
}

impl<'t> Written<'t> {
    /// Parses as `ParseQuantity` of `k8s.io/apimachinery/pkg/api/resource` does; `None` if the suffix is unknown.
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
}

/// The amount in billionths, or `None` if the text is not a quantity or is too large to compare.
pub(crate) fn nanos(text: &str) -> Option<i128> {
    let Written { negative, whole, fraction, has_digits, factor, power } = Written::parse(text)?;
    if !has_digits || !(-30..=30).contains(&power) {
        return None;
    }
    let mantissa: i128 = format!("0{whole}{fraction}").parse().ok()?;
    let power = power + 9 - i32::try_from(fraction.len()).ok()?;
    let scaled = mantissa.checked_mul(factor.into())?;
    let ten = 10_i128.checked_pow(power.unsigned_abs())?;
    // Fractions of a billionth are rounded up, as in the API server.
    let amount = if power < 0 { scaled.checked_add(ten - 1)? / ten } else { scaled.checked_mul(ten)? };
    Some(if negative { -amount } else { amount })
}

/// A suffix as a factor and a power of ten. Kubernetes keeps 32 bits of the power.
#[expect(clippy::cast_possible_truncation, reason = "Kubernetes truncates the power the same way")]
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
    use super::nanos;

    #[test]
    fn spellings_of_one_amount() {
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
    fn texts_that_are_not_quantities() {
        for text in ["", ".", "m", "1.2.3", "1 Gi", "1GiB", "one", "1e", "1ee3", "--1", "1e99"] {
            assert_eq!(nanos(text), None, "{text}");
        }
    }
}
