//! How long things took.

use std::time::Duration;

/// Of each power of two, this many parts are told apart (a power of two itself): an error below 1 %.
const PARTS: u64 = 128;
const BITS: u32 = PARTS.trailing_zeros();

/// Durations, counted in microseconds, each rounded up by less than 1 %. Its size follows from the longest, not from how
/// many there are.
///
/// ```
/// use std::time::Duration;
/// use vestibule_caller::load::Histogram;
///
/// let mut latency = Histogram::default();
/// (1..=1000).for_each(|millis| latency.record(Duration::from_millis(millis)));
/// let p99 = latency.quantile(0.99).as_secs_f64();
/// assert!((0.990..0.999).contains(&p99), "{p99}");
/// assert_eq!(latency.max(), Duration::from_secs(1));
/// ```
#[derive(Clone, Default)]
pub struct Histogram {
    counts: Vec<u64>,
    count: u64,
    max: Duration,
}

impl Histogram {
    /// Counts one.
    pub fn record(&mut self, took: Duration) {
        let part = part(u64::try_from(took.as_micros()).unwrap_or(u64::MAX));
        if self.counts.len() <= part {
            self.counts.resize(part + 1, 0);
        }
        if let Some(count) = self.counts.get_mut(part) {
            *count += 1;
        }
        self.count += 1;
        self.max = self.max.max(took);
    }

    /// How many were counted.
    pub fn count(&self) -> u64 {
        self.count
    }

    /// The longest, exactly; zero where there is none.
    pub fn max(&self) -> Duration {
        self.max
    }

    /// What this share of all (0.5 the median, 0.99 the 99th percentile) did not exceed; zero where there is none.
    pub fn quantile(&self, share: f64) -> Duration {
        // At least one, and never more than all, whatever the share is.
        let wanted = ((self.count as f64 * share).ceil() as u64).clamp(1, self.count.max(1));
        let mut seen = 0;
        for (part, count) in self.counts.iter().enumerate() {
            seen += count;
            if seen >= wanted {
                return Duration::from_micros(longest(part)).min(self.max);
            }
        }
        Duration::ZERO
    }

    /// All of another's as well.
    pub fn merge(&mut self, other: &Self) {
        self.counts.resize(self.counts.len().max(other.counts.len()), 0);
        self.counts.iter_mut().zip(&other.counts).for_each(|(count, more)| *count += more);
        self.count += other.count;
        self.max = self.max.max(other.max);
    }
}

/// Small numbers have a part each; of those above, [`PARTS`] parts share a power of two.
fn part(micros: u64) -> usize {
    let shift = (u64::BITS - micros.leading_zeros()).saturating_sub(BITS + 1);
    let part = u64::from(shift) * PARTS + (micros >> shift);
    usize::try_from(part).unwrap_or(usize::MAX)
}

/// The longest of a part.
fn longest(part: usize) -> u64 {
    let part = part as u64;
    let shift = (part / PARTS).saturating_sub(1);
    let first = part - shift * PARTS;
    ((first + 1) << shift) - 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_part_holds_what_is_within_one_percent() {
        for micros in
            (0..2000).chain((0..60).map(|bit| (1 << bit) - 1)).chain((0..60).map(|bit| 3 << bit >> 1))
        {
            let longest = longest(part(micros));
            assert!(longest >= micros && longest - micros <= micros / PARTS, "{micros}: {longest}");
        }
    }

    #[test]
    fn quantiles_are_of_those_that_were_counted() {
        let mut histogram = Histogram::default();
        assert_eq!((histogram.quantile(0.5), histogram.max()), (Duration::ZERO, Duration::ZERO));
        (0..99).for_each(|_| histogram.record(Duration::from_micros(100)));
        histogram.record(Duration::from_secs(7));
        let micros = |share| histogram.quantile(share).as_micros();
        assert_eq!([micros(0.0), micros(0.5), micros(0.99)], [100; 3]);
        assert_eq!([micros(0.999), micros(1.0)], [7_000_000; 2]);

        let mut both = histogram.clone();
        both.merge(&histogram);
        assert_eq!(
            (both.count(), both.quantile(0.99), both.max()),
            (200, histogram.quantile(0.99), histogram.max())
        );
    }
}
