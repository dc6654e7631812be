//! What waits to be delivered.

use std::collections::VecDeque;

use bytes::Bytes;
use tokio::sync::watch;
use tokio::time::{Instant, timeout_at};

use super::{State, Weather};

/// Pieces in their order, each of which is due when the delay has passed since it arrived.
pub(super) struct Delivery {
    waiting: VecDeque<(Instant, Bytes)>,
    bytes: usize,
    weather: watch::Receiver<Weather>,
}

impl Delivery {
    pub(super) fn new(weather: watch::Receiver<Weather>) -> Self {
        Self { waiting: VecDeque::new(), bytes: 0, weather }
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether the sender has to wait, as it has to with a real network.
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

    /// Waits until the first piece is due; without one, for ever. May be given up at any time.
    pub(super) async fn due(&mut self) {
        let Some(&(arrived, _)) = self.waiting.front() else { return std::future::pending().await };
        loop {
            let Weather { delay, state, .. } = *self.weather.borrow_and_update();
            let changed = self.weather.changed();
            let changed = if state == State::Carrying {
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
