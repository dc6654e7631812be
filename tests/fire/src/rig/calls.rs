//! Calls at a steady rate, whatever becomes of them.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::sleep_until;
use vestibule_caller::{CallError, Caller, Hook, Outcome, Review, judge};

/// How calls come, from each caller.
#[derive(Clone, Copy, Debug)]
pub struct Pace {
    /// So many at a time: an API server's pool is used in its breadth only by calls that come together.
    pub burst: u32,
    /// And so long after the last ones.
    pub period: Duration,
}

/// Calls until this is stopped or dropped.
pub struct Calls {
    callers: JoinSet<()>,
    stop: watch::Sender<bool>,
    tally: Arc<Mutex<Tally>>,
}

/// What became of the calls.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Tally {
    /// Admitted.
    pub admitted: u64,
    /// Answered that there is too much to do.
    pub turned_away: u64,
    /// Whatever else kept an object out, by words.
    pub failed: BTreeMap<String, u64>,
    /// Of those admitted, from the moment when they were due, in microseconds.
    latencies: Vec<u32>,
}

impl Calls {
    /// Begins. Each caller is an API server with a pool of its own.
    #[must_use]
    pub fn start(callers: Vec<Caller>, review: &Review, hook: &Hook, pace: Pace) -> Self {
        let mut tasks = JoinSet::new();
        let (stop, stopped) = watch::channel(false);
        let (tally, count) = (Arc::<Mutex<Tally>>::default(), callers.len());
        for (position, caller) in callers.into_iter().enumerate() {
            // Not all at the same moment.
            let first = pace.period.mul_f64(position as f64 / count as f64);
            let target = Arc::new(Target { caller, review: review.clone(), hook: hook.clone() });
            tasks.spawn(call(target, pace, first, Arc::clone(&tally), stopped.clone()));
        }
        Self { callers: tasks, stop, tally }
    }

    /// What became of calls so far.
    #[must_use]
    pub fn tally(&self) -> Tally {
        self.tally.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Ends, when what is under way has come to something.
    pub async fn stop(self) -> Tally {
        self.stop.send_replace(true);
        self.callers.join_all().await;
        self.tally.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

struct Target {
    caller: Caller,
    review: Review,
    hook: Hook,
}

async fn call(
    target: Arc<Target>,
    pace: Pace,
    first: Duration,
    tally: Arc<Mutex<Tally>>,
    mut stopped: watch::Receiver<bool>,
) {
    let mut calls = JoinSet::new();
    let mut due = Instant::now() + first;
    loop {
        tokio::select! {
            () = sleep_until(due.into()) => {}
            _ = stopped.wait_for(|stopped| *stopped) => break,
        }
        for _ in 0..pace.burst {
            let (target, tally) = (Arc::clone(&target), Arc::clone(&tally));
            calls.spawn(async move {
                let answer = target.caller.call(&target.review, &target.hook).await;
                let took = due.elapsed();
                tally.lock().unwrap_or_else(PoisonError::into_inner).add(&target, answer, took);
            });
        }
        while calls.try_join_next().is_some() {}
        due += pace.period;
    }
    while calls.join_next().await.is_some() {}
}

impl Tally {
    fn add(&mut self, target: &Target, answer: Result<vestibule_caller::Answer, CallError>, took: Duration) {
        let answer = match answer {
            Ok(answer) => answer,
            Err(error) => return self.fail(kind(&error)),
        };
        if answer.status == 429 {
            self.turned_away += 1;
            return;
        }
        match judge(&target.review, &target.hook, &answer) {
            Outcome::Allowed(_) => {
                self.admitted += 1;
                self.latencies.push(u32::try_from(took.as_micros()).unwrap_or(u32::MAX));
            }
            Outcome::Denied(denied) => self.fail(&format!("denied: {}", denied.message)),
            Outcome::Failed(failed) => self.fail(&failed.message),
        }
    }

    fn fail(&mut self, why: &str) {
        *self.failed.entry(why.to_owned()).or_default() += 1;
    }

    /// All that were made.
    #[must_use]
    pub fn calls(&self) -> u64 {
        self.admitted + self.turned_away + self.failures()
    }

    /// Those that came to nothing.
    #[must_use]
    pub fn failures(&self) -> u64 {
        self.failed.values().sum()
    }

    /// The time within which this share of the admitted ones was; zero where none was.
    #[must_use]
    pub fn quantile(&self, share: f64) -> Duration {
        let mut latencies = self.latencies.clone();
        latencies.sort_unstable();
        let last = latencies.len().saturating_sub(1);
        let position = (latencies.len() as f64 * share) as usize;
        Duration::from_micros(latencies.get(position.min(last)).copied().unwrap_or_default().into())
    }

    /// The reasons of failures, in one line.
    #[must_use]
    pub fn reasons(&self) -> String {
        let each = self.failed.iter().map(|(why, count)| format!("{count} x {why}"));
        each.collect::<Vec<_>>().join("; ")
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} calls, {} admitted", self.calls(), self.admitted)?;
        if self.turned_away > 0 {
            write!(f, ", {} turned away", self.turned_away)?;
        }
        if self.failures() > 0 {
            write!(f, ", {} failed ({})", self.failures(), self.reasons())?;
        }
        Ok(())
    }
}

/// Without what differs from call to call.
fn kind(error: &CallError) -> &'static str {
    match error {
        CallError::Connect { .. } => "no connection",
        CallError::Tls { .. } => "no handshake",
        CallError::Broken { .. } => "the connection broke",
        CallError::Deadline { .. } => "no answer in time",
        _ => "another failure",
    }
}
