//! The values of Kubernetes quantities: a library that other examples use.

use std::iter::Sum;
use std::ops::Add;
use std::str::FromStr;

use k8s_openapi::apimachinery::pkg::api::resource::Quantity;

/// The value of a [`Quantity`]: `1Gi` equals `1024Mi`, and `100m` equals `0.1`.
///
/// Exact to the billionth; finer values are rounded up, as the API server does. Sums saturate.
///
/// ```
/// use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
/// use quantity::Amount;
///
/// let (old, new) = (Quantity("1Gi".to_owned()), Quantity("1500Mi".to_owned()));
/// assert!(Amount::try_from(&new)? > Amount::try_from(&old)?);
/// assert_eq!(Amount::try_from(&old)?.whole(), 1 << 30);
/// # Ok::<_, quantity::AmountError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Amount {
    billionths: i128,
}

/// A text that is no quantity, or that is too large. The error does not quote it: it may come from an object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
#[error("not a quantity: write a number with a suffix or without, such as `1.5`, `500m` or `2Gi`")]
pub struct AmountError;

impl Amount {
    /// The whole number, rounded up: bytes of a size, cores of a CPU request. As Go's `Quantity.Value()`, but negative
    /// amounts too are rounded up.
    pub fn whole(self) -> i128 {
        const ONE: i128 = 1_000_000_000;
        self.billionths.div_euclid(ONE) + i128::from(self.billionths.rem_euclid(ONE) != 0)
    }
}

impl FromStr for Amount {
    type Err = AmountError;

    /// The grammar of `k8s.io/apimachinery/pkg/api/resource`.
    fn from_str(text: &str) -> Result<Self, AmountError> {
        billionths(text).map(|billionths| Self { billionths }).ok_or(AmountError)
    }
}

impl TryFrom<&Quantity> for Amount {
    type Error = AmountError;

    fn try_from(quantity: &Quantity) -> Result<Self, AmountError> {
        quantity.0.parse()
    }
}

impl Add for Amount {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { billionths: self.billionths.saturating_add(other.billionths) }
    }
}

impl Sum for Amount {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        amounts.fold(Self::default(), Add::add)
    }
}

fn billionths(text: &str) -> Option<i128> {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let end = unsigned.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(unsigned.len());
    let (digits, suffix) = unsigned.split_at(end);
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    if whole.len() + fraction.len() == 0 || fraction.contains('.') {
        return None;
    }
    let (factor, power) = unit(suffix)?;
    let digits: i128 = format!("{whole}{fraction}").parse().ok()?;
    let digits = digits.checked_mul(factor)?;
    let power = power + 9 - i32::try_from(fraction.len()).ok()?;
    let ten = 10_i128.checked_pow(power.unsigned_abs())?;
    let amount = if power < 0 { digits.checked_add(ten - 1)? / ten } else { digits.checked_mul(ten)? };
    Some(if text.starts_with('-') { -amount } else { amount })
}

/// A suffix as a factor and a power of ten.
fn unit(suffix: &str) -> Option<(i128, i32)> {
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

#[cfg(test)]
mod tests {
    use super::*;

    fn amount(text: &str) -> Amount {
        text.parse().unwrap()
    }

    #[test]
    fn one_amount_has_many_spellings() {
        for same in
            [&["100m", "0.1", ".1", "100e-3", "+1e-1"][..], &["1Gi", "1024Mi", "1073741824"], &["1k", "1e3"]]
        {
            assert!(same.iter().all(|text| amount(text) == amount(same[0])), "{same:?}");
        }
        assert!(amount("-1") < amount("1m") && amount("1m") < amount("1"));
        assert!(amount("1G") < amount("1Gi"));
    }

    #[test]
    fn whole_numbers_are_rounded_up() {
        for (text, whole) in
            [("1500m", 2), ("1Gi", 1 << 30), ("0", 0), ("1n", 1), ("0.1n", 1), ("-1500m", -1)]
        {
            assert_eq!(amount(text).whole(), whole, "{text}");
        }
        assert_eq!(["1Gi", "512Mi"].map(amount).into_iter().sum::<Amount>(), amount("1.5Gi"));
    }

    #[test]
    fn a_text_that_is_no_quantity_is_an_error() {
        for text in ["", ".", "m", "1.2.3", "1 Gi", "1GiB", "one", "1e", "1ee3", "--1", "1e99"] {
            assert_eq!(text.parse::<Amount>(), Err(AmountError), "{text}");
        }
    }
}
