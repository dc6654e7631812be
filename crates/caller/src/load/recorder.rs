//! Makes single calls and records their outcomes.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::report::{Failure, Report};
use crate::answer::Answer;
use crate::caller::{CallError, Caller};
use crate::conformance::judge;
use crate::hook::Hook;
use crate::outcome::{Admission, FailurePolicy, Outcome};
use crate::review::Review;

/// The hook with its callers and reviews, and the report so far.
pub(super) struct Recorder {
    callers: Vec<Arc<Caller>>,
    hook: Hook,
    reviews: Vec<Review>,
    policy: FailurePolicy,
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
    pub(super) fn new(
        callers: &[Arc<Caller>],
        hook: &Hook,
        reviews: &[Review],
        policy: FailurePolicy,
        noting: Duration,
    ) -> Self {
        let before = totals(callers);
        Self {
            callers: callers.to_vec(),
            hook: hook.clone(),
            reviews: reviews.to_vec(),
            policy,
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
        let answer = match late > self.hook.budget() {
            true => None,
            false => Some(caller.call(&review, &self.hook).await),
        };
        let took = due.at.elapsed();
        let (outcome, failure) = self.evaluate(&review, answer);
        let is_denied = matches!(outcome, Outcome::Denied(_));
        let words = match &outcome {
            Outcome::Failed(failed) => Some(failed.message.clone()),
            _ => None,
        };
        let is_admitted = matches!(outcome.under(self.policy, &review), Admission::Admitted { .. });

        let mut report = self.report.lock().unwrap_or_else(PoisonError::into_inner);
        report.called += 1;
        report.admitted += u64::from(is_admitted);
        report.refused += u64::from(!is_admitted);
        report.denied += u64::from(is_denied);
        report.late.record(late);
        match failure {
            None => {
                report.latency.record(took);
                if took > self.noting {
                    report.slow.push((due.at, took));
                }
            }
            Some(failure) => {
                report.failing.record(took);
                *report.failed.entry(failure).or_default() += 1;
                report.words.entry(failure).or_insert_with(|| words.unwrap_or_default());
            }
        }
        report.took = report.took.max(self.began.elapsed());
    }

    /// The outcome at kube-apiserver, and the kind of failure if it is one.
    fn evaluate(
        &self,
        review: &Review,
        answer: Option<Result<Answer, CallError>>,
    ) -> (Outcome, Option<Failure>) {
        let answer = match answer {
            Some(Ok(answer)) => answer,
            Some(Err(error)) => return (error.outcome(&self.hook), Some(Failure::from(&error))),
            None => return (CallError::unsent(&self.hook), Some(Failure::Unsent)),
        };
        let outcome = judge(review, &self.hook, &answer);
        let failure = match &outcome {
            Outcome::Failed(failed) if !failed.ignorable => Some(Failure::Patch),
            Outcome::Failed(_) if (200..=206).contains(&answer.status) => Some(Failure::Invalid),
            Outcome::Failed(_) => Some(Failure::Status(answer.status)),
            _ => None,
        };
        (outcome, failure)
    }
}

fn in_turn<T>(all: &[T], number: u64) -> Option<&T> {
    all.get(usize::try_from(number % all.len().max(1) as u64).unwrap_or_default())
}

/// The connections opened and requests retried of all callers.
fn totals(callers: &[Arc<Caller>]) -> (u64, u64) {
    (callers.iter().map(|caller| caller.opened()).sum(), callers.iter().map(|caller| caller.retried()).sum())
}
