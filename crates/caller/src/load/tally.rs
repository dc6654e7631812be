//! One call, and what becomes of it.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::{Failure, Report};
use crate::{Admission, Answer, CallError, Caller, FailurePolicy, Hook, Outcome, Review, judge};

/// What is called, and what came of it so far.
pub(super) struct Tally {
    callers: Vec<Arc<Caller>>,
    hook: Hook,
    reviews: Vec<Review>,
    policy: FailurePolicy,
    noting: Duration,
    began: Instant,
    /// Opened and retried before this began.
    before: (u64, u64),
    report: Mutex<Report>,
}

/// A call that has to be made.
#[derive(Clone, Copy)]
pub(super) struct Due {
    pub(super) number: u64,
    pub(super) at: Instant,
}

impl Due {
    pub(super) fn now(number: u64) -> Self {
        Self { number, at: Instant::now() }
    }
}

impl Tally {
    pub(super) fn new(
        callers: &[Arc<Caller>],
        hook: &Hook,
        reviews: &[Review],
        policy: FailurePolicy,
        noting: Duration,
    ) -> Self {
        let before = spent(callers);
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
        let (opened, retried) = spent(&self.callers);
        (report.connections, report.retried) = (opened - self.before.0, retried - self.before.1);
        report
    }

    /// Makes one call, judges its answer and counts it.
    pub(super) async fn call(&self, due: Due) {
        let late = due.at.elapsed();
        let callers = self.callers.len() as u64;
        let caller = turn(&self.callers, due.number);
        // Each caller has each of them in turn.
        let review = turn(&self.reviews, due.number / callers.max(1)).and_then(|review| review.again().ok());
        let (Some(caller), Some(review)) = (caller, review) else { return };
        let answer = match late > self.hook.budget() {
            true => None,
            false => Some(caller.call(&review, &self.hook).await),
        };
        let took = due.at.elapsed();
        let (outcome, failure) = self.weigh(&review, answer);
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

    /// What kube-apiserver makes of it, and how it failed where it did.
    fn weigh(
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

fn turn<T>(all: &[T], number: u64) -> Option<&T> {
    all.get(usize::try_from(number % all.len().max(1) as u64).unwrap_or_default())
}

/// Connections opened and requests sent again, of all.
fn spent(callers: &[Arc<Caller>]) -> (u64, u64) {
    (callers.iter().map(|caller| caller.opened()).sum(), callers.iter().map(|caller| caller.retried()).sum())
}
