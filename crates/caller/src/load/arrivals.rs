//! When a call is due.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use super::tally::Due;

#[derive(Clone, Copy, Debug)]
pub(super) enum Arrivals {
    Open { rate: f64 },
    Closed { callers: usize },
}

/// Brings each call when it is due, `rate` a second. It counts in a thread of its own, since the runtime's clock ticks in
/// milliseconds only.
pub(super) fn at(rate: f64, calls: u64, during: Duration) -> mpsc::UnboundedReceiver<Due> {
    let (arrive, arrivals) = mpsc::unbounded_channel();
    let began = Instant::now();
    thread::spawn(move || {
        for number in 0..calls {
            let Ok(after) = Duration::try_from_secs_f64(number as f64 / rate) else { break };
            if after >= during {
                break;
            }
            let due = began + after;
            thread::sleep(due.saturating_duration_since(Instant::now()));
            if arrive.send(Due { number, at: due }).is_err() {
                break;
            }
        }
    });
    arrivals
}

/// What the callers of a closed loop take in turns.
pub(super) struct Turns {
    taken: AtomicU64,
    calls: u64,
    began: Instant,
    during: Duration,
}

impl Turns {
    pub(super) fn new(calls: u64, during: Duration) -> Self {
        Self { taken: AtomicU64::new(0), calls, began: Instant::now(), during }
    }

    /// The number of the next call; `None` where there is none.
    pub(super) fn next(&self) -> Option<u64> {
        let number = self.taken.fetch_add(1, Ordering::Relaxed);
        (number < self.calls && self.began.elapsed() < self.during).then_some(number)
    }
}
