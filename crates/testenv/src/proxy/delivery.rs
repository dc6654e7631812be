//! Bytes that wait for the delay to pass.

use std::collections::VecDeque;

use bytes::Bytes;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use super::{Conditions, State};

/// A queue of pieces; each is due when the delay has passed since its arrival.
pub(super) struct Delivery {
    waiting: VecDeque<(Instant, Bytes)>,
    bytes: usize,
    conditions: watch::Receiver<Conditions>,
}

impl Delivery {
    pub(super) fn new(conditions: watch::Receiver<Conditions>) -> Self {
        Self { waiting: VecDeque::new(), bytes: 0, conditions }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether reading has to pause, as with a full network buffer.
    pub(super) fn is_full(&self) -> bool {
        const LIMIT: usize = 64 << 20;
        self.bytes > LIMIT
    }

    pub(super) fn add(&mut self, arrived: Instant, piece: Bytes) {
        self.bytes += piece.len();
        self.waiting.push_back((arrived, piece));
    }

    pub(super) fn take(&mut self) -> Option<Bytes> {
        let (_, piece) = self.waiting.pop_front()?;
        self.bytes -= piece.len();
        Some(piece)
    }

    /// Waits until the first piece is due, or for ever if there is none. The future may be dropped at any time.
    pub(super) async fn due(&mut self) {
        let Some(&(arrived, _)) = self.waiting.front() else { return std::future::pending().await };
        loop {
            let Conditions { delay, state, .. } = *self.conditions.borrow_and_update();
            let changed = self.conditions.changed();
            let changed = if state == State::Forwarding {
                let Ok(changed) = timeout_at(arrived + delay, changed).await else { return };
                changed
            } else {
                changed.await
            };
            if changed.is_err() {
                return;
            }
        }
    }
}
