//! An amount as Kubernetes' library holds it (`k8s.io/apimachinery/pkg/api/resource`): 64 bits and a power of ten as long
//! as they do, else a decimal of any length. Which of the two it is decides whether an amount is taken for whole.

use std::cmp::Ordering;

use super::decimal::Decimal;
use crate::quantity::Written;

/// The power of ten that nothing is finer than.
const NANO: i32 = -9;

#[derive(Clone)]
pub(super) enum Amount {
    /// `value` times ten to the power of `scale`.
    Short { value: i64, scale: i32 },
    /// What has no room there, and is never taken for whole.
    Long(Decimal),
}

/// Why there is no amount.
pub(super) enum Trouble {
    Malformed,
    TooLong,
}

impl Amount {
    pub(super) fn read(text: &str) -> Result<Self, Trouble> {
        let written = Written::parse(text).ok_or(Trouble::Malformed)?;
        match Self::short(&written) {
            Some(short) => Ok(short),
            None if written.has_digits => Self::long(&written).ok_or(Trouble::TooLong),
            None => Err(Trouble::Malformed),
        }
    }

    /// The whole number, where it is held as one of 64 bits: `1.0` and `1000m` are not.
    pub(super) fn whole(&self) -> Option<i64> {
        match self {
            Self::Short { value, scale } => lowered(*value, i64::from(*scale)),
            Self::Long(_) => None,
        }
    }

    #[expect(clippy::cast_precision_loss, reason = "asked for")]
    pub(super) fn float(&self) -> f64 {
        let (base, exponent) = match self {
            Self::Short { value, scale } => (*value as f64, *scale),
            Self::Long(decimal) => (decimal.unscaled(), decimal.scale().wrapping_neg()),
        };
        if exponent == 0 { base } else { base * power_of_ten(exponent) }
    }

    pub(super) fn sign(&self) -> i64 {
        match self {
            Self::Short { value, .. } => value.signum(),
            Self::Long(decimal) => decimal.sign(),
        }
    }

    pub(super) fn compare(&self, other: &Self) -> Ordering {
        self.decimal().compare(&other.decimal())
    }

    /// The sum, unless it is too long.
    pub(super) fn plus(&self, other: &Self) -> Option<Self> {
        let short = match other {
            Self::Short { value, scale } => self.with_room_for(*value, *scale),
            Self::Long(_) => None,
        };
        short.or_else(|| self.decimal().plus(&other.decimal()).map(Self::Long))
    }

    /// The difference, unless it is too long.
    pub(super) fn minus(&self, other: &Self) -> Option<Self> {
        let short = match other {
            // As there, the least number of 64 bits is its own opposite, as long as the answer has room in as many.
            Self::Short { value, scale } => self.with_room_for(value.wrapping_neg(), *scale),
            Self::Long(_) => None,
        };
        short.or_else(|| self.decimal().plus(&other.decimal().negated()).map(Self::Long))
    }

    /// The sum with `more` times ten to the power of `of_more`, where 64 bits hold both and it.
    fn with_room_for(&self, more: i64, of_more: i32) -> Option<Self> {
        let Self::Short { value, scale } = self else { return None };
        match (*value, more) {
            (_, 0) => Some(self.clone()),
            (0, more) => Some(Self::Short { value: more, scale: of_more }),
            (value, more) => {
                let common = of_more.min(*scale);
                let at = |value, scale: i32| lowered(value, i64::from(scale) - i64::from(common));
                let sum = at(value, *scale)?.checked_add(at(more, of_more)?)?;
                Some(Self::Short { value: sum, scale: common })
            }
        }
    }

    /// How many digits there are to go through.
    pub(super) fn length(&self) -> usize {
        match self {
            Self::Short { .. } => 0,
            Self::Long(decimal) => decimal.length(),
        }
    }

    fn short(written: &Written<'_>) -> Option<Self> {
        let Written { whole, fraction, factor, .. } = *written;
        let whole = if whole.is_empty() { "0" } else { whole };
        let room = match factor {
            1 => 18,
            factor if fraction.is_empty() => 14_u32.checked_sub(factor.ilog2() * 3 / 10)?,
            _ => return None,
        };
        if u32::try_from(whole.len() + fraction.len()).ok()? > room {
            return None;
        }
        let value = format!("{whole}{fraction}").parse::<i64>().ok()?.checked_mul(factor)?;
        let scale = written.power.wrapping_sub(i32::try_from(fraction.len()).ok()?);
        (scale >= NANO).then_some(Self::Short { value: if written.negative { -value } else { value }, scale })
    }

    fn long(written: &Written<'_>) -> Option<Self> {
        let scale = i32::try_from(written.fraction.len()).ok()?.wrapping_sub(written.power);
        let exact = Decimal::of_digits([written.whole, written.fraction], scale).times(written.factor);
        let most = Decimal::new(i64::MAX, 0);
        let amount = if written.factor > 1 && exact.compare(&most).is_gt() {
            most
        } else {
            exact.rounded_up(-NANO)?
        };
        Some(Self::Long(if written.negative { amount.negated() } else { amount }))
    }

    pub(super) fn decimal(&self) -> Decimal {
        match self {
            Self::Short { value, scale } => Decimal::new(*value, scale.wrapping_neg()),
            Self::Long(decimal) => decimal.clone(),
        }
    }
}

impl From<i64> for Amount {
    fn from(value: i64) -> Self {
        Self::Short { value, scale: 0 }
    }
}

/// `value` at a scale that is lower by `steps`, where it has room.
fn lowered(value: i64, steps: i64) -> Option<i64> {
    match (value, u32::try_from(steps).ok()?) {
        (0, _) => Some(0),
        (value, steps) => value.checked_mul(10_i64.checked_pow(steps)?),
    }
}

/// Go's `math.Pow10`, which is not always the nearest number.
fn power_of_ten(exponent: i32) -> f64 {
    let nearest = |exponent: i32| format!("1e{exponent}").parse::<f64>().unwrap_or(f64::NAN);
    let (coarse, fine) = (exponent / 32 * 32, exponent % 32);
    match exponent {
        309.. => f64::INFINITY,
        0..=308 => nearest(coarse) * nearest(fine),
        -323..0 => nearest(coarse) / nearest(-fine),
        _ => 0.0,
    }
}
