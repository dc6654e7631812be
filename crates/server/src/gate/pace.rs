//! How long handlers take, as measured.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::time::Instant;

use crate::turns::Measure;

/// One in so many of what is known is replaced by each that is measured.
const MEMORY: u64 = 16;

/// Means of the last handlers, in nanoseconds; zero until the first has ended.
#[derive(Default)]
pub(super) struct Pace {
    /// On a thread.
    computing: AtomicU64,
    /// From the first turn to the end, less what it waited for further ones.
    running: AtomicU64,
}

/// One handler, measured. It counts whether it ends or is given up.
pub(super) struct Run<'a> {
    pace: &'a Pace,
    began: Instant,
    waited: Duration,
    computed: Duration,
}

impl Pace {
    /// How many handlers end within `time`, when `turns` of them compute at a time and `places` have begun; [`None`] as
    /// long as nothing was measured.
    pub(super) fn done_within(&self, time: Duration, turns: u32, places: u32) -> Option<u64> {
        let running = self.running.load(Ordering::Relaxed);
        if running == 0 {
            return None;
        }
        let done = |at_once: u32, each: u64| {
            nanoseconds(time).saturating_mul(at_once.into()).checked_div(each).unwrap_or(u64::MAX)
        };
        Some(done(turns, self.computing.load(Ordering::Relaxed)).min(done(places, running)))
    }
}

impl<'a> Run<'a> {
    pub(super) fn begin(pace: &'a Pace) -> Self {
        Self { pace, began: Instant::now(), waited: Duration::ZERO, computed: Duration::ZERO }
    }
}

impl Measure for Run<'_> {
    fn waited(&mut self, time: Duration) {
        self.waited += time;
    }

    fn computed(&mut self, time: Duration) {
        self.computed += time;
    }
}

impl Drop for Run<'_> {
    fn drop(&mut self) {
        learn(&self.pace.computing, self.computed);
        learn(&self.pace.running, self.began.elapsed().saturating_sub(self.waited));
    }
}

/// Two that end at once may lose one of them: a mean does not mind.
fn learn(mean: &AtomicU64, time: Duration) {
    let (known, time) = (mean.load(Ordering::Relaxed), nanoseconds(time).max(1));
    let learnt = if known == 0 { time } else { known - known / MEMORY + time / MEMORY };
    mean.store(learnt.max(1), Ordering::Relaxed);
}

fn nanoseconds(time: Duration) -> u64 {
    u64::try_from(time.as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pace(computing: Duration, running: Duration) -> Pace {
        let pace = Pace::default();
        learn(&pace.computing, computing);
        learn(&pace.running, running);
        pace
    }

    #[test]
    fn nothing_is_known_before_the_first() {
        assert_eq!(Pace::default().done_within(Duration::from_secs(1), 1, 512), None);
    }

    #[test]
    fn what_is_scarcer_decides() {
        let millisecond = Duration::from_millis(1);
        let computes = pace(millisecond, millisecond);
        assert_eq!(computes.done_within(8 * millisecond, 1, 512), Some(8));
        assert_eq!(computes.done_within(8 * millisecond, 2, 512), Some(16));
        let awaits = pace(millisecond / 1000, 100 * millisecond);
        assert_eq!(awaits.done_within(500 * millisecond, 1, 4), Some(20));
        assert_eq!(computes.done_within(Duration::MAX, u32::MAX, u32::MAX), Some(u64::MAX / 1_000_000));
    }

    #[test]
    fn the_last_ones_count_most() {
        let pace = pace(Duration::from_millis(100), Duration::from_millis(100));
        for _ in 0..100 {
            learn(&pace.computing, Duration::from_millis(1));
        }
        let mean = Duration::from_nanos(pace.computing.load(Ordering::Relaxed));
        assert!(mean < Duration::from_millis(2), "{mean:?}");
    }
}
