//! The events that the server reports. It logs nothing itself.

use std::net::SocketAddr;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::Duration;

use vestibule_admission::{ConversionRequest, Decision, HookKind, Request};

use crate::client::ClientIdentity;
use crate::close_reason::CloseReason;
use crate::refusal::Refusal;
use crate::trace::Stage;

/// Receives events, on the task where they happen, so it must return soon. Each method does nothing by default. A panic in one is
/// caught; only that event is lost.
pub trait Observer: Send + Sync + 'static {
    /// A review was answered, with a verdict or a fault.
    fn decided(&self, _decided: &Decided<'_>) {}

    /// A conversion was answered, with converted objects or a failure.
    fn converted(&self, _converted: &Converted<'_>) {}

    /// A request was refused; no handler was called.
    fn refused(&self, _refusal: Refusal) {}

    /// The client of a request was authenticated. This is the first event of a request; there is none if authentication is off.
    fn identified(&self, _client: ClientIdentity) {}

    /// The caller closed its connection before the named hook had decided. Its handler was dropped, if it had begun.
    fn abandoned(&self, _hook: &str) {}

    /// A connection to the HTTPS port ended; once for each accepted connection.
    fn closed(&self, _reason: CloseReason) {}

    /// A TLS handshake failed. A client that does not trust the certificate says no more than `bad certificate`.
    fn handshake_failed(&self, _peer: SocketAddr, _reason: &str) {}
}

/// One answered review, for one log line: names, decision and times, and no value of the object.
#[non_exhaustive]
pub struct Decided<'a> {
    /// The hook's name.
    pub hook: &'a str,
    /// Whether it mutates or validates.
    pub hook_kind: HookKind,
    /// The request, of which the uid, kind, namespace, name and operation are for logs, and the object is not.
    pub request: &'a Request<'a>,
    /// The decision.
    pub decision: Decision,
    /// The type of the error behind a fault. Its text goes to the caller only.
    pub error: Option<&'a str>,
    /// The authenticated client; [`None`] if authentication is off.
    pub client: Option<ClientIdentity>,
    /// From the end of the request's head to the answer.
    pub elapsed: Duration,
    /// The stages of that time, in order.
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

/// One answered conversion, for one log line: number of objects, version and times, and nothing of the objects.
#[non_exhaustive]
pub struct Converted<'a> {
    /// The conversion's name.
    pub hook: &'a str,
    /// The request, of which the uid and the desired version are for logs, and the objects are not.
    pub request: &'a ConversionRequest<'a>,
    /// The decision.
    pub decision: Decision,
    /// The authenticated client; [`None`] if authentication is off.
    pub client: Option<ClientIdentity>,
    /// From the end of the request's head to the answer.
    pub elapsed: Duration,
    /// The stages of that time, in order.
    pub stages: &'a [Stage],
}

/// Catches the panics of an observer, so that the reported call continues. A panic while a connection unwinds would abort the
/// process.
pub(crate) struct PanicGuard<O>(pub(crate) O);

impl<O: Observer> PanicGuard<O> {
    fn notify(&self, event: impl FnOnce(&O)) {
        // The panic hook has reported it. The observer's state after the panic is its author's concern.
        let _ = catch_unwind(AssertUnwindSafe(|| event(&self.0)));
    }
}

impl<O: Observer> Observer for PanicGuard<O> {
    fn decided(&self, decided: &Decided<'_>) {
        self.notify(|observer| observer.decided(decided));
    }

    fn converted(&self, converted: &Converted<'_>) {
        self.notify(|observer| observer.converted(converted));
    }

    fn refused(&self, refusal: Refusal) {
        self.notify(|observer| observer.refused(refusal));
    }

    fn identified(&self, client: ClientIdentity) {
        self.notify(|observer| observer.identified(client));
    }

    fn abandoned(&self, hook: &str) {
        self.notify(|observer| observer.abandoned(hook));
    }

    fn closed(&self, reason: CloseReason) {
        self.notify(|observer| observer.closed(reason));
    }

    fn handshake_failed(&self, peer: SocketAddr, reason: &str) {
        self.notify(|observer| observer.handshake_failed(peer, reason));
    }
}

/// Ignores all events.
pub(crate) struct NoObserver;

impl Observer for NoObserver {}
