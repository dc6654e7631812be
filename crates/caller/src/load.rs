//! Many calls, as API servers make them: at a rate, or one after the other by a number of callers.
//!
//! Latency is counted from the moment a call was due, not from when it was sent: what had to wait for a slow server, or
//! for this client, counts as slow (no coordinated omission).
//!
//! ```no_run
//! # async fn example(callers: [std::sync::Arc<vestibule_caller::Caller>; 3], review: vestibule_caller::Review) {
//! use std::time::Duration;
//! use vestibule_caller::Hook;
//! use vestibule_caller::load::Load;
//!
//! let hook = Hook::mutating("labels.example.com", "/labels");
//! let report = Load::open(500.0).during(Duration::from_secs(60)).run(&callers, &hook, &[review]).await;
//! assert_eq!(report.failures(), 0, "{report}");
//! println!("p99 {:?} of {} calls", report.latency.quantile(0.99), report.called);
//! # }
//! ```

mod arrivals;
mod histogram;
mod report;
mod tally;

use std::sync::Arc;
use std::time::Duration;

use tokio::sync::{Semaphore, watch};
use tokio::task::{JoinHandle, JoinSet};

use crate::{Caller, FailurePolicy, Hook, Review};
use arrivals::Arrivals;
pub use histogram::Histogram;
pub use report::{Failure, Report};
use tally::{Due, Tally};

/// What calls to make.
#[derive(Clone, Copy, Debug)]
pub struct Load {
    arrivals: Arrivals,
    calls: u64,
    during: Duration,
    policy: FailurePolicy,
    in_flight: usize,
    noting: Duration,
}

impl Load {
    /// Calls that come at this rate a second, however long the answers take (open loop).
    pub fn open(rate: f64) -> Self {
        Self::new(Arrivals::Open { rate })
    }

    /// This many callers, each with one call at a time, one after the other (closed loop).
    pub fn closed(callers: usize) -> Self {
        Self::new(Arrivals::Closed { callers: callers.max(1) })
    }

    fn new(arrivals: Arrivals) -> Self {
        let (calls, during) = (u64::MAX, Duration::MAX);
        Self { arrivals, calls, during, policy: FailurePolicy::Fail, in_flight: 4096, noting: Duration::MAX }
    }

    /// Ends after this many calls.
    #[must_use]
    pub fn calls(self, calls: u64) -> Self {
        Self { calls, ..self }
    }

    /// Ends after this time; calls that are under way by then are waited for.
    #[must_use]
    pub fn during(self, during: Duration) -> Self {
        Self { during, ..self }
    }

    /// What becomes of failed calls; [`FailurePolicy::Fail`] where nothing is said.
    #[must_use]
    pub fn policy(self, policy: FailurePolicy) -> Self {
        Self { policy, ..self }
    }

    /// How many calls of an open loop may be under way, 4,096 where nothing is said. kube-apiserver has no such limit;
    /// processes have one, of open files. A call that finds no place waits for one, which is counted, and fails as
    /// [`Failure::Unsent`] where that takes longer than the hook's timeout.
    #[must_use]
    pub fn in_flight(self, most: usize) -> Self {
        Self { in_flight: most.max(1), ..self }
    }

    /// Notes when calls were due whose answer took longer than this, in [`Report::slow`]; none where nothing is said.
    #[must_use]
    pub fn noting(self, longer_than: Duration) -> Self {
        Self { noting: longer_than, ..self }
    }

    /// Makes the calls, in turn through each caller and with each review, under a uid of its own each time. Without an
    /// end it calls for ever; without callers or reviews, not once.
    pub async fn run(self, callers: &[Arc<Caller>], hook: &Hook, reviews: &[Review]) -> Report {
        self.start(callers, hook, reviews).end().await
    }

    /// Begins to. It needs a tokio runtime around it.
    pub fn start(mut self, callers: &[Arc<Caller>], hook: &Hook, reviews: &[Review]) -> Running {
        if callers.is_empty() || reviews.is_empty() {
            self.calls = 0;
        }
        let tally = Arc::new(Tally::new(callers, hook, reviews, self.policy, self.noting));
        let (stop, stopped) = watch::channel(false);
        let calls = match self.arrivals {
            Arrivals::Open { rate } => tokio::spawn(self.arrive(rate, Arc::clone(&tally), stopped)),
            Arrivals::Closed { callers } => {
                tokio::spawn(self.take_turns(callers, Arc::clone(&tally), stopped))
            }
        };
        Running { calls, stop, tally }
    }

    /// Open loop.
    async fn arrive(self, rate: f64, tally: Arc<Tally>, mut stopped: watch::Receiver<bool>) {
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
            let tally = Arc::clone(&tally);
            calls.spawn(async move {
                tally.call(due).await;
                drop(place);
            });
            while calls.try_join_next().is_some() {}
        }
        while calls.join_next().await.is_some() {}
    }

    /// Closed loop.
    async fn take_turns(self, callers: usize, tally: Arc<Tally>, stopped: watch::Receiver<bool>) {
        let turns = Arc::new(arrivals::Turns::new(self.calls, self.during));
        let mut calls = JoinSet::new();
        for _ in 0..callers {
            let (tally, turns, stopped) = (Arc::clone(&tally), Arc::clone(&turns), stopped.clone());
            calls.spawn(async move {
                while !*stopped.borrow()
                    && let Some(number) = turns.next()
                {
                    tally.call(Due::now(number)).await;
                }
            });
        }
        while calls.join_next().await.is_some() {}
    }
}

/// Calls that are being made, until they have ended or this is dropped.
pub struct Running {
    calls: JoinHandle<()>,
    stop: watch::Sender<bool>,
    tally: Arc<Tally>,
}

impl Running {
    /// What has been answered so far.
    pub fn so_far(&self) -> Report {
        self.tally.report()
    }

    /// Waits for the end.
    pub async fn end(mut self) -> Report {
        // It neither panics nor is it aborted while this waits.
        let _ = (&mut self.calls).await;
        self.tally.report()
    }

    /// Ends it now, when what is under way has been answered.
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
