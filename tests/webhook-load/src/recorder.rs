//! Makes single calls and records their outcomes.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use vestibule_caller::{Caller, Hook, Outcome, Review, judge};

use super::report::{Failure, Report};

/// The hook with its callers and reviews, and the report so far.
pub(super) struct Recorder {
    callers: Vec<Arc<Caller>>,
    hook: Hook,
    reviews: Vec<Review>,
    noting: Duration,
    began: Instant,
    /// The connections opened and requests retried before the first call.
    before: (u64, u64),
    report: Mutex<Report>,
}

/// A call and the moment at which it is due.
#[derive(Clone, Copy)]
pub(super) struct ScheduledCall {
    pub(super) number: u64,
    pub(super) at: Instant,
}

impl ScheduledCall {
    pub(super) fn now(number: u64) -> Self {
        Self { number, at: Instant::now() }
    }
}

impl Recorder {
    pub(super) fn new(callers: &[Arc<Caller>], hook: &Hook, reviews: &[Review], noting: Duration) -> Self {
        let before = totals(callers);
        Self {
            callers: callers.to_vec(),
            hook: hook.clone(),
            reviews: reviews.to_vec(),
            noting,
            began: Instant::now(),
            before,
            report: Mutex::default(),
        }
    }

    pub(super) fn report(&self) -> Report {
        let mut report = self.report.lock().unwrap_or_else(PoisonError::into_inner).clone();
        let (opened, retried) = totals(&self.callers);
        (report.connections, report.retried) = (opened - self.before.0, retried - self.before.1);
        report
    }

    /// Makes one call, judges its answer and counts it.
    pub(super) async fn call(&self, due: ScheduledCall) {
        let late = due.at.elapsed();
        let callers = self.callers.len() as u64;
        let caller = in_turn(&self.callers, due.number);
        // Each caller sends each review in turn.
        let review =
            in_turn(&self.reviews, due.number / callers.max(1)).and_then(|review| review.again().ok());
        let (Some(caller), Some(review)) = (caller, review) else { return };
        let outcome = if late > self.hook.budget() {
            Err((Failure::Unsent, "this client had no place for the call in time".to_owned()))
        } else {
            self.admit(caller, &review).await
        };
        let took = due.at.elapsed();

        let mut report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        report.called += 1;
        report.late.record(late);
        match outcome {
            Ok(is_admitted) => {
                report.admitted += u64::from(is_admitted);
                report.latency.record(took);
                if took > self.noting {
                    report.slow.push((due.at, took));
                }
            }
            Err((failure, words)) => {
                report.failing.record(took);
                *report.failed.entry(failure).or_default() += 1;
                report.words.entry(failure).or_insert(words);
            }
        }
        report.took = report.took.max(self.began.elapsed());
    }

    /// Whether the answer allows the request; the error has the message that a user would read.
    async fn admit(&self, caller: &Caller, review: &Review) -> Result<bool, (Failure, String)> {
        let called = caller.call(review, &self.hook).await;
        let (outcome, failure) = match &called {
            Ok(answer) => {
                let is_success = (200..=206).contains(&answer.status);
                let failure = if is_success { Failure::Invalid } else { Failure::Status(answer.status) };
                (judge(review, &self.hook, answer), failure)
            }
            Err(error) => (error.outcome(&self.hook), Failure::from(error)),
        };
        match outcome {
            Outcome::Allowed(_) => Ok(true),
            Outcome::Denied(_) => Ok(false),
            Outcome::Failed(failed) if failed.ignorable => Err((failure, failed.message)),
            Outcome::Failed(failed) => Err((Failure::Patch, failed.message)),
        }
    }
}

fn in_turn<T>(all: &[T], number: u64) -> Option<&T> {
    all.get(usize::try_from(number % all.len().max(1) as u64).unwrap_or_default())
}

/// The connections opened and requests retried of all callers.
fn totals(callers: &[Arc<Caller>]) -> (u64, u64) {
    (callers.iter().map(|caller| caller.opened()).sum(), callers.iter().map(|caller| caller.retried()).sum())
}
