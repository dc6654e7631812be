//! The end of a server, without losing a call.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use tokio::sync::watch;
use tokio::time::sleep;

/// Ends a server. It may be called from any thread and more than once; a phase never goes back.
///
/// kube-apiserver retries no connection error, and its idle connections outlive the removal of an endpoint. So
/// [`drain`](Self::drain) still accepts and answers, says `Connection: close` in every answer, and lets clients close their
/// connections.
#[derive(Clone)]
pub struct Shutdown {
    phase: watch::Sender<Phase>,
    /// Called once, when the phase is no longer [`Phase::Serving`].
    when_begun: Arc<Mutex<Vec<Callback>>>,
}

type Callback = Box<dyn FnOnce() + Send>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    Serving,
    Draining,
    /// The drain ends soon: connections are closed that are idle now.
    ClosingIdle,
    Stopping,
    Aborting,
    /// The connections that are still open were counted, and are cut off.
    Over,
}

/// One task's view of the phase.
#[derive(Clone)]
pub(crate) struct Phases(watch::Receiver<Phase>);

impl Shutdown {
    pub(crate) fn new() -> Self {
        Self { phase: watch::Sender::new(Phase::Serving), when_begun: Arc::default() }
    }

    /// For SIGTERM. `/readyz` fails from now on; connections are accepted for [`drain_delay`](crate::Settings::drain_delay), and the
    /// server ends when no connection is left, at the latest after [`drain_timeout`](crate::Settings::drain_timeout). Up to one second
    /// before that, idle connections are closed.
    pub fn drain(&self) {
        self.advance(Phase::Draining);
    }

    /// For SIGINT. No connection is accepted, idle ones are closed at once, and running requests are answered.
    pub fn stop(&self) {
        self.advance(Phase::Stopping);
    }

    /// For a second signal. All connections are closed at once.
    pub fn abort(&self) {
        self.advance(Phase::Aborting);
    }

    /// Whether the end has begun, by any of the other calls.
    pub fn has_begun(&self) -> bool {
        *self.phase.borrow() > Phase::Serving
    }

    /// Calls `callback` when the end begins, before the call that begins it returns; at once if it has begun. The callback must
    /// neither block nor panic: it runs on the thread that handles signals.
    pub fn when_begun(&self, callback: impl FnOnce() + Send + 'static) {
        self.when_begun.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(callback));
        if self.has_begun() {
            self.call_back();
        }
    }

    pub(crate) fn close_idle(&self) {
        self.advance(Phase::ClosingIdle);
    }

    pub(crate) fn phases(&self) -> Phases {
        Phases(self.phase.subscribe())
    }

    /// Called by the server itself after its last count.
    pub(crate) fn end(&self) {
        self.advance(Phase::Over);
    }

    fn advance(&self, to: Phase) {
        self.phase.send_if_modified(|phase| {
            let forward = *phase < to;
            *phase = (*phase).max(to);
            forward
        });
        self.call_back();
    }

    fn call_back(&self) {
        let callbacks = std::mem::take(&mut *self.when_begun.lock().unwrap_or_else(PoisonError::into_inner));
        callbacks.into_iter().for_each(|callback| callback());
    }
}

impl Phases {
    pub(crate) fn is_draining(&self) -> bool {
        *self.0.borrow() >= Phase::Draining
    }

    pub(crate) async fn reached(&self, phase: Phase) {
        // After an error, no `Shutdown` is left that could advance the phase, so it will never be reached.
        if self.0.clone().wait_for(|now| *now >= phase).await.is_err() {
            std::future::pending::<()>().await;
        }
    }

    /// Resolves when connections that wait for a request are to be closed. A `biased` select that polls the connection first
    /// still reads a request that has arrived. A connection that is newer than [`Phase::ClosingIdle`] stays until
    /// [`Phase::Stopping`]: its first request is on its way.
    pub(crate) async fn idle_are_closed(&self) {
        let is_newer = *self.0.borrow() >= Phase::ClosingIdle;
        self.reached(if is_newer { Phase::Stopping } else { Phase::ClosingIdle }).await;
        events_are_known().await;
    }

    /// Resolves when handshakes are given up. A `biased` select that polls the handshake first still finishes one whose bytes have
    /// arrived.
    pub(crate) async fn handshakes_are_given_up(&self) {
        self.reached(Phase::Stopping).await;
        events_are_known().await;
    }
}

/// Resolves when the runtime knows of the bytes and connections that have arrived: it looks at timers after it has asked the system
/// for events.
pub(crate) async fn events_are_known() {
    sleep(Duration::from_millis(1)).await;
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn callbacks_run_once_before_the_call_that_begins_the_end_returns() {
        for begin in [Shutdown::drain, Shutdown::stop, Shutdown::abort, Shutdown::end] {
            let shutdown = Shutdown::new();
            let calls = Arc::new(AtomicUsize::new(0));
            let callback = || {
                let calls = Arc::clone(&calls);
                move || {
                    calls.fetch_add(1, Ordering::Relaxed);
                }
            };
            shutdown.when_begun(callback());
            assert_eq!(calls.load(Ordering::Relaxed), 0);
            begin(&shutdown.clone());
            assert_eq!(calls.load(Ordering::Relaxed), 1);
            shutdown.abort();
            assert_eq!(calls.load(Ordering::Relaxed), 1);
            shutdown.when_begun(callback());
            assert_eq!(calls.load(Ordering::Relaxed), 2, "it has begun");
        }
    }
}
