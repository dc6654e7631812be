//! Idle connections, and the calls that wait for one.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use bytes::Bytes;
use http_body_util::Full;
use hyper::client::conn::http1::SendRequest;
use tokio::sync::oneshot;
use tokio::time::{Instant, sleep_until};

/// The most idle connections, and their idle timeout. The default is kube-apiserver's: 25 connections, 90 s. The number of
/// connections in use is not limited.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Pool {
    /// The most idle connections. One more is closed.
    pub idle: usize,
    /// The time after which an idle connection is closed.
    pub idle_time: Duration,
}

impl Default for Pool {
    fn default() -> Self {
        Self { idle: 25, idle_time: Duration::from_secs(90) }
    }
}

/// An open connection.
pub(super) type Connection = SendRequest<Full<Bytes>>;

/// A connection, and the generation of the bundle under which it was opened. Only calls of the same generation may use it.
pub(super) struct Lease {
    pub(super) connection: Connection,
    pub(super) generation: usize,
}

/// The idle connections, and the calls that wait for one.
pub(super) struct IdleConnections {
    limits: Pool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    idle: Vec<(Lease, Instant)>,
    calls: VecDeque<(usize, oneshot::Sender<Lease>)>,
    is_swept: bool,
}

impl IdleConnections {
    pub(super) fn new(limits: Pool) -> Arc<Self> {
        Arc::new(Self { limits, state: Mutex::default() })
    }

    /// The number of idle connections.
    pub(super) fn len(&self) -> usize {
        self.state().idle.iter().filter(|(lease, _)| !lease.connection.is_closed()).count()
    }

    /// The connection that was used last.
    pub(super) fn take(&self, generation: usize) -> Option<Lease> {
        let mut state = self.state();
        state.sweep(self.limits.idle_time);
        let last = state.idle.iter().rposition(|(lease, _)| lease.generation == generation)?;
        Some(state.idle.remove(last).0)
    }

    /// Receives the next connection that a call gives back.
    pub(super) fn wait(&self, generation: usize) -> oneshot::Receiver<Lease> {
        let (call, waits) = oneshot::channel();
        self.state().calls.push_back((generation, call));
        waits
    }

    /// Gives a connection to the call that has waited longest, else keeps it; beyond the limit it is closed.
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

    /// The next idle timeout; [`None`] if no connection is idle, and the sweeper ends.
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

/// Closes connections at their idle timeout, for as long as any is idle.
async fn sweep(connections: Weak<IdleConnections>) {
    while let Some(end) = connections.upgrade().and_then(|connections| connections.next_end()) {
        sleep_until(end).await;
    }
}
