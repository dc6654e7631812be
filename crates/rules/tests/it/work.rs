//! What work costs, however crowded the machine is.

use std::time::{Duration, Instant};

/// The time that the thread has computed since then; where the system does not tell, all the time.
pub(crate) struct Work {
    begun: Instant,
    computed: Option<Duration>,
}

impl Work {
    pub(crate) fn begin() -> Self {
        Self { begun: Instant::now(), computed: computed() }
    }

    pub(crate) fn done(&self) -> Duration {
        match (computed(), self.computed) {
            (Some(now), Some(then)) => now - then,
            _ => self.begun.elapsed(),
        }
    }
}

/// As Linux counts it for the thread that asks.
fn computed() -> Option<Duration> {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").ok()?;
    text.split(' ').next()?.parse().ok().map(Duration::from_nanos)
}
