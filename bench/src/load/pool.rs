//! The connections of an open loop. Calls take the first connection that is free.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Context;
use tokio::sync::oneshot;
use tokio::task::JoinSet;

use crate::connection::{Connection, Target};

/// Open connections of no call, and the calls that wait for one.
pub(super) struct Pool {
    target: Target,
    /// The most idle connections.
    limit: usize,
    opens_more: bool,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    idle: Vec<Connection>,
    waiting: VecDeque<oneshot::Sender<Connection>>,
    opening: JoinSet<()>,
    opened: u64,
}

impl Pool {
    /// Opens `limit` connections. If the pool `opens_more`, a call that finds none idle opens one, and takes another that is free
    /// earlier, as Go's `net/http` does for kube-apiserver. Otherwise connections that break are not replaced.
    pub(super) async fn full(target: &Target, limit: usize, opens_more: bool) -> anyhow::Result<Arc<Self>> {
        let mut idle = Vec::new();
        for _ in 0..limit {
            idle.push(target.connect().await?);
        }
        let state = Mutex::new(State { idle, ..State::default() });
        Ok(Arc::new(Self { target: target.clone(), limit, opens_more, state }))
    }

    /// Gives up connections that are not open yet, and returns how many were opened for calls.
    pub(super) async fn end(&self) -> u64 {
        let (mut opening, opened) = {
            let mut state = self.state();
            (std::mem::take(&mut state.opening), state.opened)
        };
        opening.shutdown().await;
        opened
    }

    /// An idle connection, or the first that is free.
    pub(super) async fn take(self: &Arc<Self>) -> anyhow::Result<Connection> {
        let (mut free, mut own) = {
            let mut state = self.state();
            if let Some(connection) = state.idle.pop() {
                return Ok(connection);
            }
            let (give, free) = oneshot::channel();
            state.waiting.push_back(give);
            (free, self.opens_more.then(|| self.open(&mut state)))
        };
        let Some(own) = &mut own else { return free.await.context("the pool ended") };
        tokio::select! {
            biased;
            connection = &mut free => connection.context("the pool ended"),
            opened = own => {
                free.close();
                if let Ok(unused) = free.try_recv() {
                    self.give(unused);
                }
                opened.context("the pool ended")?
            }
        }
    }

    /// Opens a connection for a call, or for another if that call has ended or found one.
    fn open(self: &Arc<Self>, state: &mut State) -> oneshot::Receiver<anyhow::Result<Connection>> {
        let (give, opened) = oneshot::channel();
        let pool = Arc::clone(self);
        state.opened += 1;
        while state.opening.try_join_next().is_some() {}
        state.opening.spawn(async move {
            if let Err(Ok(unused)) = give.send(pool.target.connect().await) {
                pool.give(unused);
            }
        });
        opened
    }

    /// Takes a connection that no call uses.
    pub(super) fn give(&self, mut connection: Connection) {
        let mut state = self.state();
        while let Some(waiting) = state.waiting.pop_front() {
            match waiting.send(connection) {
                Ok(()) => return,
                // This call has ended, or has another connection.
                Err(unused) => connection = unused,
            }
        }
        if state.idle.len() < self.limit {
            state.idle.push(connection);
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
