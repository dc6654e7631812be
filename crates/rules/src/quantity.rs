//! Kubernetes quantities, compared by value: `100m` is `0.1`.

/// The amount in billionths, or `None` where the text is no quantity or too large to compare.
pub(crate) fn nanos(text: &str) -> Option<i128> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let end = unsigned.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(unsigned.len());
    let (digits, suffix) = unsigned.split_at(end);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.len() + fraction.len() == 0 || fraction.contains('.') {
        return None;
    }
    let mantissa: i128 = format!("{whole}{fraction}").parse().ok()?;
    let (factor, power) = scale(suffix)?;
    let power = power + 9 - i32::try_from(fraction.len()).ok()?;
    let scaled = mantissa.checked_mul(factor)?;
    let ten = 10_i128.checked_pow(power.unsigned_abs())?;
    // Finer than a billionth is rounded up, as the API server does.
    let amount = if power < 0 { scaled.checked_add(ten - 1)? / ten } else { scaled.checked_mul(ten)? };
    Some(if text.starts_with('-') { -amount } else { amount })
}

/// A suffix as a factor and a power of ten.
fn scale(suffix: &str) -> Option<(i128, i32)> {
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
        _ => {
            let power: i32 = suffix.strip_prefix(['e', 'E'])?.parse().ok()?;
            (1, (-30..=30).contains(&power).then_some(power)?)
        }
    })
}

/// An amount as the API server holds small ones, from which it tells whether they are whole: `value` times ten to the
/// power of `scale`. It holds `1.0` and `1000m` with a scale below zero, and takes neither for whole.
#[derive(Clone, Copy)]
pub(crate) struct Scaled {
    value: i64,
    scale: i32,
}

impl Scaled {
    /// What [`nanos`] can read, unless it has more digits than there is room for (`ParseQuantity` of apimachinery).
    pub(crate) fn of(text: &str) -> Option<Self> {
        let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text).trim_start_matches('0');
        let end = unsigned.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(unsigned.len());
        let (digits, suffix) = unsigned.split_at(end);
        let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
        let whole = if whole.is_empty() { "0" } else { whole };
        let (factor, power) = scale(suffix)?;
        let room = match suffix.ends_with('i') {
            false => 18,
            true if fraction.is_empty() => 14_u32.checked_sub(factor.ilog2() * 3 / 10)?,
            true => return None,
        };
        let digits = format!("{whole}{fraction}");
        if u32::try_from(digits.len()).ok()? > room {
            return None;
        }
        let value = digits.parse::<i64>().ok()?.checked_mul(i64::try_from(factor).ok()?)?;
        let power = power - i32::try_from(fraction.len()).ok()?;
        let value = if text.starts_with('-') { -value } else { value };
        (power >= -9).then_some(Self { value, scale: power })
    }

    /// The whole number, where it is one of 64 bits.
    pub(crate) fn whole(self) -> Option<i64> {
        self.at(0)
    }

    /// The sum, where it has room.
    pub(crate) fn plus(self, other: Self) -> Option<Self> {
        match (self.value, other.value) {
            (_, 0) => return Some(self),
            (0, _) => return Some(other),
            _ => {}
        }
        let scale = self.scale.min(other.scale);
        Some(Self { value: self.at(scale)?.checked_add(other.at(scale)?)?, scale })
    }

    pub(crate) fn times(self, sign: i8) -> Option<Self> {
        Some(Self { value: self.value.checked_mul(sign.into())?, ..self })
    }

    /// The value at a scale that is no larger.
    fn at(self, scale: i32) -> Option<i64> {
        let power = u32::try_from(self.scale - scale).ok()?;
        if self.value == 0 { Some(0) } else { self.value.checked_mul(10_i64.checked_pow(power)?) }
    }
}

impl From<i64> for Scaled {
    fn from(value: i64) -> Self {
        Self { value, scale: 0 }
    }
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
    fn what_is_none() {
        for text in ["", ".", "m", "1.2.3", "1 Gi", "1GiB", "one", "1e", "1ee3", "--1", "1e99"] {
            assert_eq!(nanos(text), None, "{text}");
        }
    }
}
