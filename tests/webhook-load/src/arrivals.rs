//! When each call is due.

use std::sync::atomic::{AtomicU64, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::mpsc;

use super::recorder::ScheduledCall;

#[derive(Clone, Copy, Debug)]
pub(super) enum Arrivals {
    Open { rate: f64 },
    Closed { callers: usize },
}

/// Sends each call when it is due, `rate` per second. It waits on a thread of its own, since tokio's timer has a resolution of 1 ms.
pub(super) fn at(rate: f64, calls: u64, during: Duration) -> mpsc::UnboundedReceiver<ScheduledCall> {
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
            if arrive.send(ScheduledCall { number, at: due }).is_err() {
                break;
            }
        }
    });
    arrivals
}

/// The numbers of the calls that the callers of a closed loop take in turn.
pub(super) struct CallNumbers {
    taken: AtomicU64,
    calls: u64,
    began: Instant,
    during: Duration,
}

impl CallNumbers {
    pub(super) fn new(calls: u64, during: Duration) -> Self {
        Self { taken: AtomicU64::new(0), calls, began: Instant::now(), during }
    }

    /// The number of the next call; [`None`] at the end.
    pub(super) fn next(&self) -> Option<u64> {
        let number = self.taken.fetch_add(1, Ordering::Relaxed);
        (number < self.calls && self.began.elapsed() < self.during).then_some(number)
    }
}
