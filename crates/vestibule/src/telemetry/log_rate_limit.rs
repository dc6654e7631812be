//! A rate limit for log lines that any client can cause.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The shortest time between two lines.
const PACE: Duration = Duration::from_secs(1);

/// Admits one line a second, and counts the suppressed ones.
#[derive(Default)]
pub(super) struct LogRateLimit(Mutex<Window>);

#[derive(Default)]
struct Window {
    last_line: Option<Instant>,
    left_out: u64,
}

impl LogRateLimit {
    /// [`Some`] if a line may be written `now`, with the number of lines that were suppressed since the last one.
    pub(super) fn admits(&self, now: Instant) -> Option<u64> {
        let mut window = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if window.last_line.is_some_and(|last_line| now.saturating_duration_since(last_line) < PACE) {
            window.left_out += 1;
            return None;
        }
        window.last_line = Some(now);
        Some(std::mem::take(&mut window.left_out))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_line_a_second_has_the_number_of_suppressed_lines() {
        let (limit, start) = (LogRateLimit::default(), Instant::now());
        assert_eq!(limit.admits(start), Some(0));
        let admitted = (0..1_000).filter_map(|_| limit.admits(start + PACE / 2)).count();
        assert_eq!(admitted, 0);
        assert_eq!(limit.admits(start + PACE), Some(1_000));
        assert_eq!(limit.admits(start + PACE * 2), Some(0));
    }
}
