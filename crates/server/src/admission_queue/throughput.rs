//! How many handlers complete in a given time, from the measured times of the last ones.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use crate::cpu_permits::{Times, nanoseconds};

/// Each measurement replaces one part in this many of the mean.
const MEMORY: u64 = 16;

/// Means of the last handlers, in nanoseconds; zero until the first one has ended.
#[derive(Default)]
pub(super) struct Throughput {
    /// The time with a CPU permit.
    computing: AtomicU64,
    /// The time from the first CPU permit to the end, without the waits for further permits.
    running: AtomicU64,
}

/// The times of one handler. They count whether it ends or is cancelled.
pub(super) struct Measurement<'a> {
    throughput: &'a Throughput,
    began: Instant,
    pub(super) times: Times,
}

impl Throughput {
    /// The number of handlers that end within `time`, if `computing` compute at a time and `running` have begun; [`None`] before
    /// the first measurement.
    pub(super) fn completed_within(&self, time: Duration, computing: u32, running: u32) -> Option<u64> {
        let mean_running = self.running.load(Ordering::Relaxed);
        if mean_running == 0 {
            return None;
        }
        let completed = |at_once: u32, each: u64| {
            nanoseconds(time).saturating_mul(at_once.into()).checked_div(each).unwrap_or(u64::MAX)
        };
        let mean_computing = self.computing.load(Ordering::Relaxed);
        Some(completed(computing, mean_computing).min(completed(running, mean_running)))
    }
}

impl<'a> Measurement<'a> {
    pub(super) fn begin(throughput: &'a Throughput) -> Self {
        Self { throughput, began: Instant::now(), times: Times::default() }
    }
}

impl Drop for Measurement<'_> {
    fn drop(&mut self) {
        update(&self.throughput.computing, self.times.computed);
        update(&self.throughput.running, self.began.elapsed().saturating_sub(self.times.waited));
    }
}

/// Adds `time` to the mean. If two threads do so at the same moment, one time may be lost, which changes a mean little.
fn update(mean: &AtomicU64, time: Duration) {
    let (known, time) = (mean.load(Ordering::Relaxed), nanoseconds(time).max(1));
    let updated = if known == 0 { time } else { known - known / MEMORY + time / MEMORY };
    mean.store(updated.max(1), Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn throughput(computing: Duration, running: Duration) -> Throughput {
        let throughput = Throughput::default();
        update(&throughput.computing, computing);
        update(&throughput.running, running);
        throughput
    }

    #[test]
    fn throughput_is_unknown_before_the_first_measurement() {
        assert_eq!(Throughput::default().completed_within(Duration::from_secs(1), 1, 512), None);
    }

    #[test]
    fn the_scarcer_permits_decide() {
        let millisecond = Duration::from_millis(1);
        let computes = throughput(millisecond, millisecond);
        assert_eq!(computes.completed_within(8 * millisecond, 1, 512), Some(8));
        assert_eq!(computes.completed_within(8 * millisecond, 2, 512), Some(16));
        let awaits = throughput(millisecond / 1000, 100 * millisecond);
        assert_eq!(awaits.completed_within(500 * millisecond, 1, 4), Some(20));
        assert_eq!(computes.completed_within(Duration::MAX, u32::MAX, u32::MAX), Some(u64::MAX / 1_000_000));
    }

    #[test]
    fn recent_measurements_weigh_most() {
        let throughput = throughput(Duration::from_millis(100), Duration::from_millis(100));
        for _ in 0..100 {
            update(&throughput.computing, Duration::from_millis(1));
        }
        let mean = Duration::from_nanos(throughput.computing.load(Ordering::Relaxed));
        assert!(mean < Duration::from_millis(2), "{mean:?}");
    }
}
