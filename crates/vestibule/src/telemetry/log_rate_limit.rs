//! Lines of log of which strangers may cause as many as they like.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// Between two lines.
const PACE: Duration = Duration::from_secs(1);

/// Lets one line through, and counts what comes too soon after it.
#[derive(Default)]
pub(super) struct LogRateLimit(Mutex<Since>);

#[derive(Default)]
struct Since {
    told: Option<Instant>,
    left_out: u64,
}

impl LogRateLimit {
    /// Whether a line may be written `now`; if so, how many were left out since the last one.
    pub(super) fn admits(&self, now: Instant) -> Option<u64> {
        let mut since = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if since.told.is_some_and(|told| now.saturating_duration_since(told) < PACE) {
            since.left_out += 1;
            return None;
        }
        since.told = Some(now);
        Some(std::mem::take(&mut since.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_a_second_says_how_many_it_stands_for() {
        let (limit, start) = (LogRateLimit::default(), Instant::now());
        assert_eq!(limit.admits(start), Some(0));
        let admitted = (0..1_000).filter_map(|_| limit.admits(start + PACE / 2)).count();
        assert_eq!(admitted, 0);
        assert_eq!(limit.admits(start + PACE), Some(1_000));
        assert_eq!(limit.admits(start + PACE * 2), Some(0));
    }
}
