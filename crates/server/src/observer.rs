//! What the server tells of itself. It logs nothing.

use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use vestibule_admission::{ConversionRequest, Decision, HookKind, Request};

use crate::{ClientIdentity, CloseReason, Refusal, Stage};

/// Told what happened, on the task where it happened: return soon. Everything has a default that does nothing. A panic is
/// caught, and costs nothing but what was to be told.
pub trait Observer: Send + Sync + 'static {
    /// A hook reached a decision, by verdict or by fault.
    fn decided(&self, _decided: &Decided<'_>) {}

    /// Objects were converted, or could not be.
    fn converted(&self, _converted: &Converted<'_>) {}

    /// A request was answered without asking a handler.
    fn refused(&self, _refusal: Refusal) {}

    /// A request came, and it was judged who calls; before anything else is told of it. Never where nobody is asked.
    fn identified(&self, _client: ClientIdentity) {}

    /// The caller went away before the named hook had decided; its handler, if it had begun, was dropped.
    fn abandoned(&self, _hook: &str) {}

    /// A connection to the HTTPS port ended; told once for each that was accepted.
    fn closed(&self, _reason: CloseReason) {}

    /// A handshake came to nothing. All the client says about a certificate that it does not trust is
    /// `bad certificate`.
    fn handshake_failed(&self, _peer: SocketAddr, _reason: &str) {}
}

/// One decision, for one line of log: who, what and how long, and no value of the object.
#[non_exhaustive]
pub struct Decided<'a> {
    /// The hook's name.
    pub hook: &'a str,
    /// Which phase called it.
    pub hook_kind: HookKind,
    /// The request: uid, kind, namespace, name, operation. Its object is not for logs.
    pub request: &'a Request<'a>,
    /// What was decided.
    pub decision: Decision,
    /// The type of the error behind a fault; its text is for the caller alone.
    pub error: Option<&'a str>,
    /// Who called, where somebody wants to know.
    pub client: Option<ClientIdentity>,
    /// From the end of the request's head to the answer.
    pub elapsed: Duration,
    /// Where that time went, in order.
    pub stages: &'a [Stage],
}

impl<'a> Decided<'a> {
    /// A decision of `hook`, for tests of observers: no error, no client and no stages.
    pub fn new(
        (hook, hook_kind): (&'a str, HookKind),
        request: &'a Request<'a>,
        decision: Decision,
        elapsed: Duration,
    ) -> Self {
        Self { hook, hook_kind, request, decision, error: None, client: None, elapsed, stages: &[] }
    }
}

/// One conversion, for one line of log: how many objects, to what version and how long, and nothing of the objects.
#[non_exhaustive]
pub struct Converted<'a> {
    /// The conversion's name.
    pub hook: &'a str,
    /// The request: uid and desired version. Its objects are not for logs.
    pub request: &'a ConversionRequest<'a>,
    /// What became of it.
    pub decision: Decision,
    /// Who called, where somebody wants to know.
    pub client: Option<ClientIdentity>,
    /// From the end of the request's head to the answer.
    pub elapsed: Duration,
    /// Where that time went, in order.
    pub stages: &'a [Stage],
}

/// Catches the panics of an observer: what it is told of goes on. One that panicked while a connection unwinds would end the
/// process.
pub(crate) struct Caught<O>(pub(crate) O);

impl<O: Observer> Caught<O> {
    fn tell(&self, tell: impl FnOnce(&O)) {
        // The hook for panics has told of it; what the observer leaves behind is its author's to decide.
        let _ = catch_unwind(AssertUnwindSafe(|| tell(&self.0)));
    }
}

impl<O: Observer> Observer for Caught<O> {
    fn decided(&self, decided: &Decided<'_>) {
        self.tell(|observer| observer.decided(decided));
    }

    fn converted(&self, converted: &Converted<'_>) {
        self.tell(|observer| observer.converted(converted));
    }

    fn refused(&self, refusal: Refusal) {
        self.tell(|observer| observer.refused(refusal));
    }

    fn identified(&self, client: ClientIdentity) {
        self.tell(|observer| observer.identified(client));
    }

    fn abandoned(&self, hook: &str) {
        self.tell(|observer| observer.abandoned(hook));
    }

    fn closed(&self, reason: CloseReason) {
        self.tell(|observer| observer.closed(reason));
    }

    fn handshake_failed(&self, peer: SocketAddr, reason: &str) {
        self.tell(|observer| observer.handshake_failed(peer, reason));
    }
}

/// Tells nobody.
pub(crate) struct Silent;

impl Observer for Silent {}
