//! How many handlers run, and how many requests may wait for one.

use tokio::sync::{Semaphore, SemaphorePermit};

/// Stands between "body read" and "handler": before the body, waiting would hide in socket buffers.
pub(crate) struct Gate {
    running: Semaphore,
    waiting: Semaphore,
}

/// Too many wait already.
pub(crate) struct Full;

impl Gate {
    pub(crate) fn new(running: usize, waiting: usize) -> Self {
        let places = |number: usize| Semaphore::new(number.min(Semaphore::MAX_PERMITS));
        Self { running: places(running), waiting: places(waiting) }
    }

    /// Waits, first come, first served; refuses at once when the queue is full.
    pub(crate) async fn enter(&self) -> Result<SemaphorePermit<'_>, Full> {
        if let Ok(permit) = self.running.try_acquire() {
            return Ok(permit);
        }
        let _place = self.waiting.try_acquire().map_err(|_| Full)?;
        self.running.acquire().await.map_err(|_| Full)
    }
}
