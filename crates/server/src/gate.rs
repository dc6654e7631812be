//! How many handlers run, and how many requests may wait for one.

use tokio::sync::SemaphorePermit;

use crate::load::Places;

/// Stands between "body read" and "handler": before the body, waiting would hide in socket buffers.
pub(crate) struct Gate {
    pub(crate) running: Places,
    pub(crate) waiting: Places,
}

/// Too many wait already.
pub(crate) struct Full;

impl Gate {
    pub(crate) fn new(running: usize, waiting: usize) -> Self {
        Self { running: Places::new(running), waiting: Places::new(waiting) }
    }

    /// Waits, first come, first served; refuses at once when the queue is full.
    pub(crate) async fn enter(&self) -> Result<SemaphorePermit<'_>, Full> {
        if let Ok(permit) = self.running.free.try_acquire() {
            return Ok(permit);
        }
        let _place = self.waiting.free.try_acquire().map_err(|_| Full)?;
        self.running.free.acquire().await.map_err(|_| Full)
    }
}
