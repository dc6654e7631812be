//! The connections of an open loop. Calls take the first connection that is free; where the pool opens more, as Go's `net/http` does
//! for kube-apiserver, a call that finds none idle opens one, which may become free later than another.

use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anyhow::Context;
use tokio::sync::oneshot;

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
    opened: u64,
}

impl Pool {
    /// Opens as many connections as are kept. If it `opens_more`, so does a call that finds none idle.
    pub(super) async fn full(target: &Target, limit: usize, opens_more: bool) -> anyhow::Result<Arc<Self>> {
        let mut idle = Vec::new();
        for _ in 0..limit {
            idle.push(target.connect().await?);
        }
        let state = Mutex::new(State { idle, ..State::default() });
        Ok(Arc::new(Self { target: target.clone(), limit, opens_more, state }))
    }

    /// The connections that were opened for calls.
    pub(super) fn opened(&self) -> u64 {
        self.state().opened
    }

    /// An idle connection, or the first that is free.
    pub(super) async fn take(self: &Arc<Self>) -> anyhow::Result<Connection> {
        let mut free = {
            let mut state = self.state();
            if let Some(connection) = state.idle.pop() {
                return Ok(connection);
            }
            let (give, free) = oneshot::channel();
            state.waiting.push_back(give);
            state.opened += u64::from(self.opens_more);
            free
        };
        if !self.opens_more {
            return free.await.context("the pool ended");
        }
        let pool = Arc::clone(self);
        // On a task of its own: the connection is made even if the call ends before.
        let opening = tokio::spawn(async move {
            pool.give(pool.target.connect().await?);
            anyhow::Ok(())
        });
        tokio::select! {
            biased;
            connection = &mut free => return connection.context("the pool ended"),
            opened = opening => opened??,
        }
        // An older call got the new connection.
        free.await.context("the pool ended")
    }

    /// Takes a connection whose call has ended.
    pub(super) fn give(&self, mut connection: Connection) {
        let mut state = self.state();
        while let Some(waiting) = state.waiting.pop_front() {
            match waiting.send(connection) {
                Ok(()) => return,
                // This call has ended by its timeout.
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
