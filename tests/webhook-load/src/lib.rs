//! Many calls, at a rate (open loop) or one after the other by a number of callers (closed loop).
//!
//! Latency is measured from the moment at which a call was due, not from when it was sent: a call that had to wait for a slow server or
//! for this client counts as slow (no coordinated omission).
//!
//! ```no_run
//! # async fn example(callers: [std::sync::Arc<vestibule_caller::Caller>; 3], review: vestibule_caller::Review) {
//! use std::time::Duration;
//! use vestibule_caller::Hook;
//! use webhook_load::Load;
//!
//! let hook = Hook::mutating("labels.example.com", "/labels");
//! let report = Load::open(500.0).during(Duration::from_secs(60)).run(&callers, &hook, &[review]).await;
//! assert_eq!(report.failures(), 0, "{report}");
//! println!("p99 {:?} of {} calls", report.latency.quantile(0.99), report.called);
//! # }
//! ```

mod arrivals;
mod histogram;
mod recorder;
mod report;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Semaphore, watch};
use tokio::task::{JoinHandle, JoinSet};
use vestibule_caller::{Caller, Hook, Review};

use self::arrivals::{Arrivals, CallNumbers};
pub use self::histogram::Histogram;
use self::recorder::{Recorder, ScheduledCall};
pub use self::report::{Failure, Report};

/// The calls to make.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    arrivals: Arrivals,
    calls: u64,
    during: Duration,
    in_flight: usize,
    noting: Duration,
}

impl Load {
    /// This many calls per second, however long the answers take (open loop).
    pub fn open(rate: f64) -> Self {
        Self::new(Arrivals::Open { rate })
    }

    /// This many callers, each with one call at a time, one after the other (closed loop).
    pub fn closed(callers: usize) -> Self {
        Self::new(Arrivals::Closed { callers: callers.max(1) })
    }

    fn new(arrivals: Arrivals) -> Self {
        let (calls, during) = (u64::MAX, Duration::MAX);
        Self { arrivals, calls, during, in_flight: 4096, noting: Duration::MAX }
    }

    /// Ends after this many calls.
    #[must_use]
    pub fn calls(self, calls: u64) -> Self {
        Self { calls, ..self }
    }

    /// Ends after this time; calls in flight are then waited for.
    #[must_use]
    pub fn during(self, during: Duration) -> Self {
        Self { during, ..self }
    }

    /// The most calls of an open loop in flight, 4,096 by default. kube-apiserver has no such limit, but a process has one of open files.
    /// A call beyond the limit waits, which counts as latency, and fails as [`Failure::Unsent`] if it waits longer than the hook's
    /// timeout.
    #[must_use]
    pub fn in_flight(self, most: usize) -> Self {
        Self { in_flight: most.max(1), ..self }
    }

    /// Records each call whose answer takes longer than this in [`Report::slow`]; none by default.
    #[must_use]
    pub fn noting(self, longer_than: Duration) -> Self {
        Self { noting: longer_than, ..self }
    }

    /// Makes the calls, through each caller and with each review in turn, each under its own uid. Without a limit of calls or time it
    /// never ends; without callers or reviews it makes no call.
    pub async fn run(self, callers: &[Arc<Caller>], hook: &Hook, reviews: &[Review]) -> Report {
        self.start(callers, hook, reviews).end().await
    }

    /// Starts the calls in the background. It needs a tokio runtime.
    pub fn start(mut self, callers: &[Arc<Caller>], hook: &Hook, reviews: &[Review]) -> Running {
        if callers.is_empty() || reviews.is_empty() {
            self.calls = 0;
        }
        let recorder = Arc::new(Recorder::new(callers, hook, reviews, self.noting));
        let (stop, stopped) = watch::channel(false);
        let calls = match self.arrivals {
            Arrivals::Open { rate } => tokio::spawn(self.open_loop(rate, Arc::clone(&recorder), stopped)),
            Arrivals::Closed { callers } => {
                tokio::spawn(self.closed_loop(callers, Arc::clone(&recorder), stopped))
            }
        };
        Running { calls, stop, recorder }
    }

    async fn open_loop(self, rate: f64, recorder: Arc<Recorder>, mut stopped: watch::Receiver<bool>) {
        let mut due = arrivals::at(rate, self.calls, self.during);
        let places = Arc::new(Semaphore::new(self.in_flight));
        let mut calls = JoinSet::new();
        loop {
            let due = tokio::select! {
                due = due.recv() => due,
                _ = stopped.wait_for(|stopped| *stopped) => None,
            };
            let Some(due) = due else { break };
            let Ok(place) = Arc::clone(&places).acquire_owned().await else { break };
            let recorder = Arc::clone(&recorder);
            calls.spawn(async move {
                recorder.call(due).await;
                drop(place);
            });
            while calls.try_join_next().is_some() {}
        }
        while calls.join_next().await.is_some() {}
    }

    async fn closed_loop(self, callers: usize, recorder: Arc<Recorder>, stopped: watch::Receiver<bool>) {
        let numbers = Arc::new(CallNumbers::new(self.calls, self.during));
        let mut calls = JoinSet::new();
        for _ in 0..callers {
            let (recorder, numbers, stopped) = (Arc::clone(&recorder), Arc::clone(&numbers), stopped.clone());
            calls.spawn(async move {
                while !*stopped.borrow()
                    && let Some(number) = numbers.next()
                {
                    recorder.call(ScheduledCall::now(number)).await;
                }
            });
        }
        while calls.join_next().await.is_some() {}
    }
}

/// Calls in the background. They are aborted when this is dropped.
pub struct Running {
    calls: JoinHandle<()>,
    stop: watch::Sender<bool>,
    recorder: Arc<Recorder>,
}

impl Running {
    /// The report of the calls that have ended so far.
    pub fn so_far(&self) -> Report {
        self.recorder.report()
    }

    /// Waits until all calls have ended.
    pub async fn end(mut self) -> Report {
        // The task does not panic, and only `drop` aborts it.
        let _ = (&mut self.calls).await;
        self.recorder.report()
    }

    /// Makes no further call, and waits for the calls in flight.
    pub async fn stop(self) -> Report {
        self.stop.send_replace(true);
        self.end().await
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.calls.abort();
    }
}
