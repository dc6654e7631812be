//! From a body in the queue to an answer: decode, wait, decide, check, encode.

use std::time::Duration;

use http::request::Parts;
use tokio::time::Instant;
use vestibule_admission::{Answer, ConversionHook, ConversionReview, Hook, Review, Trace};

use super::{Pipeline, Target};
use crate::admission_queue::{NotStarted, QueuedCall, TimedOut};
use crate::client::ClientIdentity;
use crate::deadline::{after, budget, timeout};
use crate::observer::{Converted, Decided, Observer};
use crate::refusal::{Refusal, Refused};
use crate::trace::{Stages, trace_of};

/// The client, times and trace of one request.
pub(super) struct Call {
    pub(super) began: Instant,
    /// How long the caller waits.
    timeout: Duration,
    /// The part of the timeout in which the answer must be made.
    pub(super) budget: Duration,
    pub(super) deadline: Instant,
    client: Option<ClientIdentity>,
    trace: Trace,
    pub(super) stages: Stages,
}

impl Call {
    pub(super) fn begin(
        began: Instant,
        client: Option<ClientIdentity>,
        head: &Parts,
        hook_timeout: Duration,
    ) -> Self {
        let timeout = timeout(head.uri.query(), hook_timeout);
        let budget = budget(timeout);
        Self {
            began,
            timeout,
            budget,
            deadline: after(began, budget),
            client,
            trace: trace_of(&head.headers),
            stages: Stages::beginning(began),
        }
    }
}

impl Pipeline {
    pub(super) async fn decide(
        &self,
        target: &Target,
        body: &[u8],
        call: &mut Call,
        queued: QueuedCall<'_>,
    ) -> Result<Answer, Refused> {
        match target {
            Target::Review(hook) => self.review(hook, body, call, queued).await,
            Target::Conversion(hook) => self.convert(hook, body, call, queued).await,
        }
    }

    async fn review(
        &self,
        hook: &Hook,
        body: &[u8],
        call: &mut Call,
        queued: QueuedCall<'_>,
    ) -> Result<Answer, Refused> {
        let mut review = Review::parse(body).map_err(|error| unreadable(&error))?;
        review.request.trace = Some(call.trace);
        call.stages.ended("decode");
        let deadline = call.deadline.into_std();
        let work = || hook.decide(&review.request, deadline);
        let verdict = self.run_handler(hook.name(), call, queued, work).await?;
        let verdict = verdict.unwrap_or_else(|TimedOut| hook.out_of_time(call.budget, call.timeout));
        let verdict = hook.check(&review, verdict);
        call.stages.ended("check");
        let answer = hook.encode(&review, &verdict);
        call.stages.ended("encode");
        self.observer.decided(&Decided {
            hook: hook.name(),
            hook_kind: hook.kind(),
            request: &review.request,
            decision: answer.decision,
            error: answer.error,
            client: call.client,
            elapsed: call.began.elapsed(),
            stages: call.stages.all(),
        });
        Ok(answer)
    }

    async fn convert(
        &self,
        hook: &ConversionHook,
        body: &[u8],
        call: &mut Call,
        queued: QueuedCall<'_>,
    ) -> Result<Answer, Refused> {
        let mut review = ConversionReview::parse(body).map_err(|error| unreadable(&error))?;
        review.request.trace = Some(call.trace);
        call.stages.ended("decode");
        let work = || hook.convert(&review.request);
        let converted = self.run_handler(hook.name(), call, queued, work).await?;
        let converted = converted.unwrap_or_else(|TimedOut| Err(hook.out_of_time(call.budget, call.timeout)));
        let answer = hook.answer(&review, &converted);
        call.stages.ended("encode");
        self.observer.converted(&Converted {
            hook: hook.name(),
            request: &review.request,
            decision: answer.decision,
            client: call.client,
            elapsed: call.began.elapsed(),
            stages: call.stages.all(),
        });
        Ok(answer)
    }

    /// Runs `work` when the queue lets it, until the deadline. A call that waits in the queue until its deadline is refused as
    /// overload: no handler saw it, so it is no timeout of the hook.
    async fn run_handler<W: Future>(
        &self,
        hook: &str,
        call: &mut Call,
        queued: QueuedCall<'_>,
        work: impl FnOnce() -> W,
    ) -> Result<Result<W::Output, TimedOut>, Refused> {
        let mut waiting = WaitingCaller { hook, observer: &*self.observer, is_waiting: true };
        let stages = &mut call.stages;
        let begin = || {
            stages.ended("wait");
            work()
        };
        let decision = queued.run(call.deadline, begin).await;
        call.stages.ended("decide");
        waiting.is_waiting = false;
        decision.map_err(|NotStarted| {
            let why = "too many requests: timeout while waiting for a handler (context deadline exceeded); try again";
            Refusal::DeadlinePassed.because(why)
        })
    }
}

fn unreadable(error: &impl ToString) -> Refused {
    Refusal::Unreadable.because(error.to_string())
}

/// Tells the observer that the caller closed its connection. The server then drops the future that waits for the decision, and this
/// value with it.
struct WaitingCaller<'a> {
    hook: &'a str,
    observer: &'a dyn Observer,
    is_waiting: bool,
}

impl Drop for WaitingCaller<'_> {
    fn drop(&mut self) {
        if self.is_waiting {
            self.observer.abandoned(self.hook);
        }
    }
}
