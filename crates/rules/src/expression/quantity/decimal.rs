//! Decimals of up to 1,000 digits, as Go's `inf.Dec`: digits and a scale. Every step goes once through the digits there are,
//! and none is written down that only an exponent stands for until two amounts are added.

use std::cmp::Ordering;
use std::iter;

/// The most digits of an amount that is worked with.
const MAX_DIGITS: usize = 1_000;

/// `digits` over ten to the power of `scale`.
#[derive(Clone)]
pub(super) struct Decimal {
    negative: bool,
    /// The highest first, which is not 0; nothing has none.
    digits: Vec<u8>,
    scale: i32,
}

impl Decimal {
    pub(super) fn new(value: i64, scale: i32) -> Self {
        let digits = Self::of_digits([&value.unsigned_abs().to_string()], scale);
        if value < 0 { digits.negated() } else { digits }
    }

    /// The digits of all `texts` in a row.
    pub(super) fn of_digits<const TEXTS: usize>(texts: [&str; TEXTS], scale: i32) -> Self {
        let digits = texts.into_iter().flat_map(str::bytes).map(|digit| digit.wrapping_sub(b'0'));
        Self { negative: false, digits: digits.skip_while(|digit| *digit == 0).collect(), scale }
    }

    pub(super) fn scale(&self) -> i32 {
        self.scale
    }

    pub(super) fn length(&self) -> usize {
        self.digits.len()
    }

    pub(super) fn sign(&self) -> i64 {
        match (self.digits.is_empty(), self.negative) {
            (true, _) => 0,
            (false, false) => 1,
            (false, true) => -1,
        }
    }

    pub(super) fn compare(&self, other: &Self) -> Ordering {
        self.sign().cmp(&other.sign()).then_with(|| {
            let order = self.magnitude(other);
            if self.negative { order.reverse() } else { order }
        })
    }

    /// The digits as a number, the nearest there is.
    pub(super) fn unscaled(&self) -> f64 {
        self.written().parse().unwrap_or_default()
    }

    /// The digits and their sign.
    pub(super) fn written(&self) -> String {
        let sign = if self.negative { "-" } else { "" };
        sign.chars().chain(self.digits.iter().map(|digit| char::from(b'0' + digit))).collect()
    }

    pub(super) fn negated(self) -> Self {
        Self { negative: !self.negative && !self.digits.is_empty(), ..self }
    }

    /// `factor` is at most 2^60.
    pub(super) fn times(mut self, factor: i64) -> Self {
        let factor = factor.unsigned_abs();
        let mut carry = 0;
        let mut digits = Vec::with_capacity(self.digits.len() + 19);
        let mut next = self.digits.iter().rev();
        loop {
            let product = match next.next() {
                Some(digit) => u64::from(*digit) * factor + carry,
                None if carry > 0 => carry,
                None => break,
            };
            digits.extend(u8::try_from(product % 10));
            carry = product / 10;
        }
        digits.reverse();
        self.digits = digits;
        self
    }

    /// The same at `scale`, away from zero where it is finer; zero stays as it is. `None` where it is too long.
    pub(super) fn rounded_up(mut self, scale: i32) -> Option<Self> {
        let finer = i64::from(self.scale) - i64::from(scale);
        if self.digits.is_empty() {
            return Some(self);
        }
        if finer <= 0 {
            return self.at(scale);
        }
        let kept = self.digits.len().saturating_sub(usize::try_from(finer).unwrap_or(usize::MAX));
        let lost = self.digits.split_off(kept).iter().any(|digit| *digit != 0);
        self.scale = scale;
        self.plus(&Self { digits: vec![1; usize::from(lost)], ..self })
    }

    /// The sum, unless it or what it is made of is too long.
    pub(super) fn plus(&self, other: &Self) -> Option<Self> {
        let scale = self.scale.max(other.scale);
        let (one, other) = (self.clone().at(scale)?, other.clone().at(scale)?);
        let (greater, lesser) = match one.magnitude(&other) {
            Ordering::Less => (other, one),
            _ => (one, other),
        };
        let digits = greater.joined(&lesser);
        (digits.len() <= MAX_DIGITS).then_some(Self {
            negative: greater.negative && !digits.is_empty(),
            digits,
            scale,
        })
    }

    /// The digits of the sum with a number of the same scale that is no greater.
    fn joined(&self, lesser: &Self) -> Vec<u8> {
        let sign: i8 = if self.negative == lesser.negative { 1 } else { -1 };
        let mut carry = 0;
        let pairs = self.digits.iter().rev().zip(lesser.digits.iter().rev().chain(iter::repeat(&0)));
        let mut digits: Vec<u8> = pairs
            .map(|(one, other)| {
                let sum = one.cast_signed() + sign * other.cast_signed() + carry;
                carry = sum.div_euclid(10);
                sum.rem_euclid(10).cast_unsigned()
            })
            .collect();
        digits.push(carry.cast_unsigned());
        digits.into_iter().rev().skip_while(|digit| *digit == 0).collect()
    }

    /// The same at a scale that is no lower.
    fn at(mut self, scale: i32) -> Option<Self> {
        if !self.digits.is_empty() {
            let more = usize::try_from(i64::from(scale) - i64::from(self.scale)).ok()?;
            let length = self.digits.len().checked_add(more).filter(|length| *length <= MAX_DIGITS)?;
            self.digits.resize(length, 0);
        }
        Some(Self { scale, ..self })
    }

    /// The order without the sign.
    fn magnitude(&self, other: &Self) -> Ordering {
        // The place of the highest digit; nothing has none.
        let highest = |number: &Self| {
            let length = i64::try_from(number.digits.len()).unwrap_or(i64::MAX);
            (length > 0).then(|| length.saturating_sub(number.scale.into()))
        };
        fn padded(number: &Decimal, length: usize) -> impl Iterator<Item = u8> {
            number.digits.iter().copied().chain(iter::repeat(0)).take(length)
        }
        let length = self.digits.len().max(other.digits.len());
        highest(self).cmp(&highest(other)).then_with(|| padded(self, length).cmp(padded(other, length)))
    }
}
