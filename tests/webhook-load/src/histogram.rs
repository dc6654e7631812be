//! A histogram of durations.

use std::time::Duration;

use hdrhistogram::Histogram as Counts;

/// The significant decimal digits that are kept: an error below 1 %.
const DIGITS: u8 = 2;

/// Durations, counted in microseconds, each rounded up by less than 1 %. Its size follows from the longest duration, not from their
/// number.
///
/// ```
/// use std::time::Duration;
/// use webhook_load::Histogram;
///
/// let mut latency = Histogram::default();
/// (1..=1000).for_each(|millis| latency.record(Duration::from_millis(millis)));
/// let p99 = latency.quantile(0.99).as_secs_f64();
/// assert!((0.990..0.999).contains(&p99), "{p99}");
/// assert_eq!(latency.max(), Duration::from_secs(1));
/// ```
#[derive(Clone, Default)]
pub struct Histogram {
    /// [`None`] before the first duration.
    counts: Option<Counts<u64>>,
    max: Duration,
}

impl Histogram {
    /// Counts one duration.
    pub fn record(&mut self, took: Duration) {
        let micros = u64::try_from(took.as_micros()).unwrap_or(u64::MAX);
        if self.counts.is_none() {
            // It fails for other numbers of digits only.
            self.counts = Counts::new(DIGITS).ok();
        }
        if let Some(counts) = &mut self.counts {
            // It fails only for a histogram that may not grow.
            let _ = counts.record(micros);
        }
        self.max = self.max.max(took);
    }

    /// The number of durations.
    pub fn count(&self) -> u64 {
        self.counts.as_ref().map_or(0, Counts::len)
    }

    /// The longest duration, exactly; zero if there is none.
    pub fn max(&self) -> Duration {
        self.max
    }

    /// The duration that this share of all durations did not exceed (0.5 the median, 0.99 the 99th percentile); zero if there is
    /// none.
    pub fn quantile(&self, share: f64) -> Duration {
        let micros =
            self.counts.as_ref().map_or(0, |counts| counts.value_at_quantile(share.max(f64::MIN_POSITIVE)));
        Duration::from_micros(micros).min(self.max)
    }

    /// Adds all durations of another histogram.
    pub fn merge(&mut self, other: &Self) {
        match (&mut self.counts, &other.counts) {
            // It fails only for a histogram that may not grow.
            (Some(counts), Some(more)) => drop(counts.add(more)),
            (counts @ None, more) => counts.clone_from(more),
            (Some(_), None) => {}
        }
        self.max = self.max.max(other.max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_are_kept_within_one_percent() {
        for micros in (1..2000).chain((0..60).map(|bit| 1 << bit)).chain((0..60).map(|bit| 3 << bit >> 1)) {
            let mut histogram = Histogram::default();
            histogram.record(Duration::from_micros(micros));
            histogram.record(Duration::from_micros(u64::MAX >> 1));
            let kept = u64::try_from(histogram.quantile(0.5).as_micros()).unwrap();
            assert!(kept >= micros && kept - micros <= micros / 100, "{micros}: {kept}");
        }
    }

    #[test]
    fn quantiles_and_merges() {
        let mut histogram = Histogram::default();
        assert_eq!((histogram.quantile(0.5), histogram.max()), (Duration::ZERO, Duration::ZERO));
        (0..99).for_each(|_| histogram.record(Duration::from_micros(100)));
        histogram.record(Duration::from_secs(7));
        let micros = |share| histogram.quantile(share).as_micros();
        assert_eq!([micros(0.0), micros(0.5), micros(0.99)], [100; 3]);
        assert_eq!([micros(0.999), micros(1.0)], [7_000_000; 2]);

        let mut both = Histogram::default();
        both.merge(&histogram);
        both.merge(&histogram);
        both.merge(&Histogram::default());
        assert_eq!(
            (both.count(), both.quantile(0.99), both.max()),
            (200, histogram.quantile(0.99), histogram.max())
        );
    }
}
