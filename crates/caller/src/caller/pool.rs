//! Connections that wait for the next call, and calls that wait for a connection.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1::SendRequest;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};

/// How many connections may wait for the next call, and for how long. The default is kube-apiserver's: 25, for 90 s. How
/// many may be in use is not limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    /// How many may wait. One that would be more is closed.
    pub idle: usize,
    /// How long one may wait before it is closed.
    pub idle_time: Duration,
}

impl Default for Pool {
    fn default() -> Self {
        Self { idle: 25, idle_time: Duration::from_secs(90) }
    }
}

/// An open connection.
pub(super) type Connection = SendRequest<Full<Bytes>>;

/// A connection, and the generation of the bundle that it was opened under: it is for calls of the same one only.
pub(super) struct Lease {
    pub(super) connection: Connection,
    pub(super) generation: usize,
}

/// Which connections wait, and who waits for one.
pub(super) struct Waiting {
    limits: Pool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    idle: Vec<(Lease, Instant)>,
    calls: VecDeque<(usize, oneshot::Sender<Lease>)>,
    is_swept: bool,
}

impl Waiting {
    pub(super) fn new(limits: Pool) -> Arc<Self> {
        Arc::new(Self { limits, state: Mutex::default() })
    }

    /// How many connections wait.
    pub(super) fn len(&self) -> usize {
        self.state().idle.iter().filter(|(lease, _)| !lease.connection.is_closed()).count()
    }

    /// The connection that waited least.
    pub(super) fn take(&self, generation: usize) -> Option<Lease> {
        let mut state = self.state();
        state.sweep(self.limits.idle_time);
        let last = state.idle.iter().rposition(|(lease, _)| lease.generation == generation)?;
        Some(state.idle.remove(last).0)
    }

    /// What brings the next connection that a call has done with.
    pub(super) fn wait(&self, generation: usize) -> oneshot::Receiver<Lease> {
        let (call, waits) = oneshot::channel();
        self.state().calls.push_back((generation, call));
        waits
    }

    /// Gives a connection to the call that waited longest, else lets it wait; beyond the limit it is closed.
    pub(super) fn keep(self: &Arc<Self>, mut lease: Lease) {
        if lease.connection.is_closed() {
            return;
        }
        let mut state = self.state();
        state.calls.retain(|(_, call)| !call.is_closed());
        while let Some(at) = state.calls.iter().position(|(wanted, _)| *wanted == lease.generation) {
            let Some((_, call)) = state.calls.remove(at) else { break };
            match call.send(lease) {
                Ok(()) => return,
                Err(refused) => lease = refused,
            }
        }
        state.sweep(self.limits.idle_time);
        let alike = state.idle.iter().filter(|(idle, _)| idle.generation == lease.generation).count();
        if alike < self.limits.idle {
            state.idle.push((lease, Instant::now()));
            if !std::mem::replace(&mut state.is_swept, true) {
                tokio::spawn(sweep(Arc::downgrade(self)));
            }
        }
    }

    /// When the first of those that wait has waited long enough; `None` where none waits, and nobody will look again.
    fn next_end(&self) -> Option<Instant> {
        let mut state = self.state();
        state.sweep(self.limits.idle_time);
        let first = state.idle.iter().map(|(_, since)| *since).min();
        state.is_swept = first.is_some();
        first.map(|since| since + self.limits.idle_time)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    fn sweep(&mut self, idle_time: Duration) {
        self.idle.retain(|(lease, since)| !lease.connection.is_closed() && since.elapsed() < idle_time);
    }
}

/// Closes connections that waited for too long, for as long as any waits.
async fn sweep(waiting: Weak<Waiting>) {
    while let Some(end) = waiting.upgrade().and_then(|waiting| waiting.next_end()) {
        sleep_until(end).await;
    }
}
