//! A registered handler, and the way of a request through it.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::{Duration, Instant};

use futures_util::FutureExt;

use crate::answer::Answer;
use crate::{Fault, FaultKind, HookKind, OnFault, Outcome, Request, Review, Verdict, check};

/// The future of a verdict.
pub type HandlerFuture<'a> = Pin<Box<dyn Future<Output = Verdict> + Send + 'a>>;

/// Makes a verdict of a request. Typed handlers of `vestibule` and the injector implement it.
pub trait Handler: Send + Sync + 'static {
    /// Decides a request. At the `deadline` the future is dropped and the request is a fault; a handler that computes without
    /// awaiting is not interrupted.
    fn handle<'a>(&'a self, request: &'a Request<'a>, deadline: Instant) -> HandlerFuture<'a>;
}

impl Handler for Arc<dyn Handler> {
    fn handle<'a>(&'a self, request: &'a Request<'a>, deadline: Instant) -> HandlerFuture<'a> {
        (**self).handle(request, deadline)
    }
}

/// A handler with its name, and the rules for its verdicts.
#[derive(Clone)]
pub struct Hook {
    name: String,
    kind: HookKind,
    on_fault: OnFault,
    max_depth: Option<usize>,
    handler: Arc<dyn Handler>,
}

impl Hook {
    /// A hook that may change objects.
    pub fn mutating(name: impl Into<String>, handler: impl Handler) -> Self {
        Self::new(name.into(), HookKind::Mutating, Arc::new(handler))
    }

    /// A hook that may only refuse.
    pub fn validating(name: impl Into<String>, handler: impl Handler) -> Self {
        Self::new(name.into(), HookKind::Validating, Arc::new(handler))
    }

    fn new(name: String, kind: HookKind, handler: Arc<dyn Handler>) -> Self {
        Self { name, kind, on_fault: OnFault::default(), max_depth: None, handler }
    }

    /// Sets the answer to a fault of this hook.
    #[must_use]
    pub fn on_fault(mut self, on_fault: OnFault) -> Self {
        self.on_fault = on_fault;
        self
    }

    /// Limits the levels of JSON of the object and the old object, `{}` being one. A deeper object is a fault, and the handler is
    /// not called. By default there is no limit here; a typed handler has its own.
    #[must_use]
    pub fn max_depth(mut self, levels: usize) -> Self {
        self.max_depth = Some(levels);
        self
    }

    /// The same hook with another handler that wraps its own.
    #[must_use]
    pub fn around<H: Handler>(mut self, wrap: impl FnOnce(Arc<dyn Handler>) -> H) -> Self {
        self.handler = Arc::new(wrap(self.handler));
        self
    }

    /// The hook's name in logs and metrics.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The phase in which it is called.
    pub fn kind(&self) -> HookKind {
        self.kind
    }

    /// Runs the handler. A panic becomes a fault; its message is not quoted, since it may contain parts of the object.
    ///
    /// The caller drops the future at the `deadline` and answers with [`Hook::out_of_time`].
    pub async fn decide(&self, request: &Request<'_>, deadline: Instant) -> Verdict {
        if let Some(levels) = self.max_depth.filter(|levels| request.is_deeper_than(*levels)) {
            let message = format_args!("the object nests deeper than {levels} levels");
            return Fault::new(FaultKind::Undecodable, message).into();
        }
        // The state that a handler shares between requests after a panic is its author's concern.
        let decision = AssertUnwindSafe(async { DropGuard(self.handler.handle(request, deadline)).await });
        decision.catch_unwind().await.unwrap_or_else(|_| {
            Fault::new(FaultKind::Panic, format_args!("the handler of {} panicked", self.name)).into()
        })
    }

    /// The verdict of a handler that was not done within `budget`, of the `timeout` that kube-apiserver waits.
    pub fn out_of_time(&self, budget: Duration, timeout: Duration) -> Verdict {
        Fault::timeout(format_args!("hook {} gave no verdict", self.name), budget, timeout).into()
    }

    /// Checks the verdict and encodes it for kube-apiserver.
    pub fn answer(&self, review: &Review<'_>, verdict: Verdict) -> Answer {
        self.encode(review, &self.check(review, verdict))
    }

    /// The first half of [`Hook::answer`]: adds the request's [`Notes`](crate::Notes) to the verdict, and turns a patch that does
    /// not apply or is not allowed into a fault. Operations `test` that hold are left out of a patch: they are decided here.
    #[must_use]
    pub fn check(&self, review: &Review<'_>, mut verdict: Verdict) -> Verdict {
        review.request.notes.join(&mut verdict);
        if let Outcome::Mutated(patch) = &verdict.outcome {
            match check::mutation(self.kind, &review.request, patch) {
                Ok(()) => {
                    if let Some(changes) = check::without_tests(patch) {
                        verdict.outcome = Outcome::Mutated(changes);
                    }
                }
                Err(fault) => verdict.outcome = Outcome::Fault(fault),
            }
        }
        verdict
    }

    /// The second half of [`Hook::answer`]: encodes a verdict that was checked.
    pub fn encode(&self, review: &Review<'_>, verdict: &Verdict) -> Answer {
        Answer::new(review, self.on_fault, verdict)
    }
}

/// Catches a panic in the destructor of a handler's future, which would end the connection of a call that was not decided in time.
struct DropGuard<'a>(HandlerFuture<'a>);

impl Future for DropGuard<'_> {
    type Output = Verdict;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Verdict> {
        self.0.as_mut().poll(context)
    }
}

impl Drop for DropGuard<'_> {
    fn drop(&mut self) {
        // A future without a size needs no allocation.
        let future = std::mem::replace(&mut self.0, Box::pin(std::future::pending()));
        // The panic hook has reported it.
        let _ = catch_unwind(AssertUnwindSafe(|| drop(future)));
    }
}
