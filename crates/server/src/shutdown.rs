//! How a server ends without losing a call.

use tokio::sync::watch;

/// Tells a server to end, from anywhere and more than once: only steps forward count.
///
/// kube-apiserver retries no connection error, and its idle connections outlive the removal of an endpoint. So
/// [`drain`](Self::drain) goes on accepting and answering, says `Connection: close` with every answer, and lets the
/// clients leave by themselves.
#[derive(Clone)]
pub struct Shutdown(watch::Sender<Phase>);

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
        Self(watch::Sender::new(Phase::Serving))
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
        *self.0.borrow() > Phase::Serving
    }

    pub(crate) fn phases(&self) -> Phases {
        Phases(self.0.subscribe())
    }

    /// For the server itself, after its last count.
    pub(crate) fn end(&self) {
        self.advance(Phase::Over);
    }

    fn advance(&self, to: Phase) {
        self.0.send_if_modified(|phase| {
            let forward = *phase < to;
            *phase = (*phase).max(to);
            forward
        });
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
