//! Limits a warning to one log line in 30 s, because it may recur at every handshake.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

const PAUSE: Duration = Duration::from_secs(30);

/// Logs at most one warning in 30 s; the value is the time of the last one.
#[derive(Default)]
pub(crate) struct LogThrottle(Mutex<Option<Instant>>);

impl LogThrottle {
    /// Logs the reason unless a line was logged in the last 30 s. `reason` must not contain content of a file or object.
    pub(crate) fn warn(&self, reason: &str) {
        let mut last = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if last.is_none_or(|last| now.duration_since(last) >= PAUSE) {
            *last = Some(now);
            tracing::warn!("{reason}");
        }
    }

    #[cfg(test)]
    pub(crate) fn has_warned(&self) -> bool {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).is_some()
    }
}
