//! One registered handler, and how a request passes through it.

use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::sync::Arc;
use std::time::{Duration, Instant};

use futures_util::FutureExt;

use crate::answer::Answer;
use crate::{Fault, FaultKind, Outcome, Request, Review, Verdict, check};

/// A verdict in the making.
pub type HandlerFuture<'a> = Pin<Box<dyn Future<Output = Verdict> + Send + 'a>>;

/// Whatever makes a verdict of a request: the one shape that typed handlers and the injector are brought to.
pub trait Handler: Send + Sync + 'static {
    /// Decides. At the `deadline` the future is dropped and the request counts as a fault; a handler that computes without
    /// awaiting is not interrupted.
    fn handle<'a>(&'a self, request: &'a Request<'a>, deadline: Instant) -> HandlerFuture<'a>;
}

impl Handler for Arc<dyn Handler> {
    fn handle<'a>(&'a self, request: &'a Request<'a>, deadline: Instant) -> HandlerFuture<'a> {
        (**self).handle(request, deadline)
    }
}

/// A handler under a name, with what must hold for its verdicts.
#[derive(Clone)]
pub struct Hook {
    name: String,
    kind: HookKind,
    on_fault: OnFault,
    max_depth: Option<usize>,
    handler: Arc<dyn Handler>,
}

/// Which of the API server's two phases calls a hook.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum HookKind {
    /// May change the object.
    Mutating,
    /// May only refuse it.
    Validating,
}

/// What a fault of a handler turns into.
///
/// ```
/// use vestibule_admission::{Hook, OnFault};
/// # use std::time::Instant;
/// # use vestibule_admission::{Handler, HandlerFuture, Request, Verdict};
/// # struct Guard;
/// # impl Handler for Guard {
/// #     fn handle<'a>(&'a self, _: &'a Request<'a>, _: Instant) -> HandlerFuture<'a> {
/// #         Box::pin(async { Verdict::allowed() })
/// #     }
/// # }
///
/// let hook = Hook::validating("guard", Guard).on_fault(OnFault::Deny);
/// # let _ = hook;
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum OnFault {
    /// HTTP 500: the registration's `failurePolicy` decides.
    #[default]
    FailurePolicy,
    /// The request goes on, and a warning tells the user what went wrong, even where `failurePolicy` is `Fail`.
    AllowWithWarning,
    /// A denial with code 500, even where `failurePolicy` is `Ignore`.
    Deny,
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

    /// What a fault of this hook turns into.
    #[must_use]
    pub fn on_fault(mut self, on_fault: OnFault) -> Self {
        self.on_fault = on_fault;
        self
    }

    /// An object, or an old one, that nests deeper than so many levels, `{}` being one, is a fault, and the handler is not
    /// asked. Unless set, it is the handler's affair: none is needed for what nobody decodes.
    #[must_use]
    pub fn max_depth(mut self, levels: usize) -> Self {
        self.max_depth = Some(levels);
        self
    }

    /// The same hook with a handler around its own.
    #[must_use]
    pub fn around<H: Handler>(mut self, wrap: impl FnOnce(Arc<dyn Handler>) -> H) -> Self {
        self.handler = Arc::new(wrap(self.handler));
        self
    }

    /// The hook's name in logs and metrics.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Which phase calls it.
    pub fn kind(&self) -> HookKind {
        self.kind
    }

    /// Runs the handler; a panic in it becomes a fault, and its message stays where it is: it may quote the object.
    ///
    /// The caller drops the future at the `deadline` and answers with [`Hook::out_of_time`].
    pub async fn decide(&self, request: &Request<'_>, deadline: Instant) -> Verdict {
        if let Some(levels) = self.max_depth.filter(|levels| request.is_deeper_than(*levels)) {
            let message = format_args!("the object nests deeper than {levels} levels");
            return Fault::new(FaultKind::Undecodable, message).into();
        }
        // The handler is shared between requests and may be left inconsistent by its own panic: it is the author's
        // to decide what it shares, as with any server that outlives one request.
        let decision = AssertUnwindSafe(async { self.handler.handle(request, deadline).await });
        decision.catch_unwind().await.unwrap_or_else(|_| {
            Fault::new(FaultKind::Panic, format_args!("the handler of {} panicked", self.name)).into()
        })
    }

    /// The verdict when there was none within `budget`, of the `timeout` that kube-apiserver waits for the answer.
    pub fn out_of_time(&self, budget: Duration, timeout: Duration) -> Verdict {
        Fault::timeout(format_args!("hook {} gave no verdict", self.name), budget, timeout).into()
    }

    /// Checks the verdict and turns it into what kube-apiserver must receive.
    pub fn answer(&self, review: &Review<'_>, verdict: Verdict) -> Answer {
        self.encode(review, &self.check(review, verdict))
    }

    /// The first half of [`Hook::answer`]: the verdict with the request's [`Notes`](crate::Notes); a patch that cannot be applied,
    /// or must not be, becomes a fault.
    #[must_use]
    pub fn check(&self, review: &Review<'_>, mut verdict: Verdict) -> Verdict {
        review.request.notes.join(&mut verdict);
        if let Outcome::Mutated(patch) = &verdict.outcome
            && let Err(fault) = check::mutation(self.kind, &review.request, patch)
        {
            verdict.outcome = Outcome::Fault(fault);
        }
        verdict
    }

    /// The second half: a verdict that was checked, as kube-apiserver must receive it.
    pub fn encode(&self, review: &Review<'_>, verdict: &Verdict) -> Answer {
        Answer::new(review, self.on_fault, verdict)
    }
}
