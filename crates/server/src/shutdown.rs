//! How a server ends without losing a call.

use std::sync::{Arc, Mutex, PoisonError};

use tokio::sync::watch;

/// Tells a server to end, from anywhere and more than once: only steps forward count.
///
/// kube-apiserver retries no connection error, and its idle connections outlive the removal of an endpoint. So
/// [`drain`](Self::drain) goes on accepting and answering, says `Connection: close` with every answer, and lets the
/// clients leave by themselves.
#[derive(Clone)]
pub struct Shutdown {
    phase: watch::Sender<Phase>,
    /// Called once, when the phase is [`Phase::Serving`] no more.
    when_begun: Arc<Mutex<Vec<Tell>>>,
}

type Tell = Box<dyn FnOnce() + Send>;

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Phase {
    Serving,
    Draining,
    Stopping,
    Aborting,
    /// What was still open has been counted, and is now cut off.
    Over,
}

/// A view of the phase for one task.
#[derive(Clone)]
pub(crate) struct Phases(watch::Receiver<Phase>);

impl Shutdown {
    pub(crate) fn new() -> Self {
        Self { phase: watch::Sender::new(Phase::Serving), when_begun: Arc::default() }
    }

    /// For SIGTERM: not ready from now on; connections are still accepted for
    /// [`drain_delay`](crate::Settings::drain_delay), and the end comes when none is left, at the latest after
    /// [`drain_timeout`](crate::Settings::drain_timeout).
    pub fn drain(&self) {
        self.advance(Phase::Draining);
    }

    /// For SIGINT: no more connections, idle ones are closed at once, running requests are answered.
    pub fn stop(&self) {
        self.advance(Phase::Stopping);
    }

    /// For a second signal: everything ends at once.
    pub fn abort(&self) {
        self.advance(Phase::Aborting);
    }

    /// Whether one of the others was called.
    pub fn has_begun(&self) -> bool {
        *self.phase.borrow() > Phase::Serving
    }

    /// Calls `tell` when the end begins, before the call that begins it returns; at once where it has begun. It must neither
    /// block nor panic: a signal is heeded on the same thread.
    pub fn when_begun(&self, tell: impl FnOnce() + Send + 'static) {
        self.when_begun.lock().unwrap_or_else(PoisonError::into_inner).push(Box::new(tell));
        if self.has_begun() {
            self.tell();
        }
    }

    pub(crate) fn phases(&self) -> Phases {
        Phases(self.phase.subscribe())
    }

    /// For the server itself, after its last count.
    pub(crate) fn end(&self) {
        self.advance(Phase::Over);
    }

    fn advance(&self, to: Phase) {
        self.phase.send_if_modified(|phase| {
            let forward = *phase < to;
            *phase = (*phase).max(to);
            forward
        });
        self.tell();
    }

    fn tell(&self) {
        let told = std::mem::take(&mut *self.when_begun.lock().unwrap_or_else(PoisonError::into_inner));
        told.into_iter().for_each(|tell| tell());
    }
}

impl Phases {
    pub(crate) fn is_draining(&self) -> bool {
        *self.0.borrow() >= Phase::Draining
    }

    pub(crate) async fn reached(&self, phase: Phase) {
        // An error means that nobody can advance any more; then it will never be reached.
        if self.0.clone().wait_for(|now| *now >= phase).await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use super::*;

    #[test]
    fn each_end_is_told_once_before_the_call_that_begins_it_returns() {
        for begin in [Shutdown::drain, Shutdown::stop, Shutdown::abort, Shutdown::end] {
            let shutdown = Shutdown::new();
            let told = Arc::new(AtomicUsize::new(0));
            let tell = || {
                let told = Arc::clone(&told);
                move || {
                    told.fetch_add(1, Ordering::Relaxed);
                }
            };
            shutdown.when_begun(tell());
            assert_eq!(told.load(Ordering::Relaxed), 0);
            begin(&shutdown.clone());
            assert_eq!(told.load(Ordering::Relaxed), 1);
            shutdown.abort();
            assert_eq!(told.load(Ordering::Relaxed), 1);
            shutdown.when_begun(tell());
            assert_eq!(told.load(Ordering::Relaxed), 2, "it has begun");
        }
    }
}
