//! A semaphore that knows its size, a gauge for metrics, and the number of threads that limits are derived from.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::runtime::Handle;
use tokio::sync::{Semaphore, SemaphorePermit};

/// A semaphore and the number of its permits.
pub(crate) struct Permits {
    pub(crate) free: Arc<Semaphore>,
    pub(crate) limit: u32,
}

/// A number that goes up and down, for a metric.
#[derive(Default)]
pub(crate) struct Gauge(AtomicU64);

/// Counts one more until it is dropped.
pub(crate) struct GaugeGuard<'a>(&'a AtomicU64);

impl Permits {
    pub(crate) fn new(limit: usize) -> Self {
        // `MAX_PERMITS` is below `u32::MAX` on machines of 32 bits.
        let limit = u32::try_from(limit.min(Semaphore::MAX_PERMITS)).unwrap_or(u32::MAX);
        Self { free: Arc::new(Semaphore::new(limit as usize)), limit }
    }

    /// Waits for one permit, first come, first served.
    pub(crate) async fn acquire(&self) -> SemaphorePermit<'_> {
        match self.free.acquire().await {
            Ok(permit) => permit,
            // The semaphore is never closed.
            Err(_) => std::future::pending().await,
        }
    }

    /// The number of permits that are taken, and of all.
    pub(crate) fn usage(&self) -> (u64, u64) {
        let free = u64::try_from(self.free.available_permits()).unwrap_or(u64::MAX);
        (u64::from(self.limit).saturating_sub(free), self.limit.into())
    }
}

impl Gauge {
    pub(crate) fn increment(&self) -> GaugeGuard<'_> {
        self.0.fetch_add(1, Ordering::Relaxed);
        GaugeGuard(&self.0)
    }

    pub(crate) fn value(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for GaugeGuard<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The number of threads of the current tokio runtime; without a runtime, the number of CPUs that the process may use.
pub(crate) fn worker_threads() -> usize {
    let cpus = || std::thread::available_parallelism().map_or(1, usize::from);
    Handle::try_current().map_or_else(|_| cpus(), |runtime| runtime.metrics().num_workers())
}

/// The number of `threads` that may compute at a time. One thread is left to read and refuse requests; without it, each refused
/// request would leave less time for the accepted ones.
pub(crate) fn all_but_one(threads: usize) -> usize {
    threads.saturating_sub(1).max(1)
}
