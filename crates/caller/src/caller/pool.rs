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

/// The idle connections, and the calls that wait for one.
pub(super) struct IdleConnections {
    limits: Pool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    idle: Vec<(Connection, Instant)>,
    calls: VecDeque<oneshot::Sender<Connection>>,
    is_swept: bool,
}

impl IdleConnections {
    pub(super) fn new(limits: Pool) -> Arc<Self> {
        Arc::new(Self { limits, state: Mutex::default() })
    }

    /// The number of idle connections.
    pub(super) fn len(&self) -> usize {
        self.state().idle.iter().filter(|(connection, _)| !connection.is_closed()).count()
    }

    /// The connection that was used last.
    pub(super) fn take(&self) -> Option<Connection> {
        let mut state = self.state();
        state.sweep(self.limits.idle_time);
        state.idle.pop().map(|(connection, _)| connection)
    }

    /// Receives the next connection that a call gives back.
    pub(super) fn wait(&self) -> oneshot::Receiver<Connection> {
        let (call, waits) = oneshot::channel();
        self.state().calls.push_back(call);
        waits
    }

    /// Gives a connection to the call that has waited longest, else keeps it; beyond the limit it is closed.
    pub(super) fn keep(self: &Arc<Self>, mut connection: Connection) {
        if connection.is_closed() {
            return;
        }
        let mut state = self.state();
        while let Some(call) = state.calls.pop_front() {
            match call.send(connection) {
                Ok(()) => return,
                Err(refused) => connection = refused,
            }
        }
        state.sweep(self.limits.idle_time);
        if state.idle.len() < self.limits.idle {
            state.idle.push((connection, Instant::now()));
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
        self.idle.retain(|(connection, since)| !connection.is_closed() && since.elapsed() < idle_time);
    }
}

/// Closes connections at their idle timeout, for as long as any is idle.
async fn sweep(connections: Weak<IdleConnections>) {
    while let Some(end) = connections.upgrade().and_then(|connections| connections.next_end()) {
        sleep_until(end).await;
    }
}
