//! LogThrottle, told once in a while instead of at every handshake.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

const PAUSE: Duration = Duration::from_secs(30);

/// Tells of trouble at most every half a minute.
#[derive(Default)]
pub(crate) struct LogThrottle(Mutex<Told>);

#[derive(Default)]
struct Told {
    last: Option<Instant>,
    times: u64,
}

impl LogThrottle {
    /// Logs it, unless something was logged just before. `reason` holds no content of any file or object.
    pub(crate) fn warn(&self, reason: &str) {
        let mut told = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let now = Instant::now();
        if told.last.is_none_or(|last| now.duration_since(last) >= PAUSE) {
            told.last = Some(now);
            told.times += 1;
            tracing::warn!("{reason}");
        }
    }

    #[cfg(test)]
    pub(crate) fn times(&self) -> u64 {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).times
    }
}
