//! Which connection is closed when the connection limit is reached: the oldest that never sent a request.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

/// A new connection gets this long to send its first request before it may be evicted.
const GRACE: Duration = Duration::from_secs(3);

/// The open connections without a first request.
///
/// API servers open connections ahead of their calls, so a connection may stay unused for as long as any other may be idle. When
/// the connection limit is reached, unused connections are closed, the oldest first: clients that only complete handshakes keep
/// no API server out.
#[derive(Default)]
pub(crate) struct IdleEviction {
    /// In the order in which the connections were opened.
    unused: Mutex<BTreeMap<u64, (Instant, Arc<Notify>)>>,
    next: AtomicU64,
}

/// A connection that is evictable until its first request.
pub(crate) struct UnusedConnection {
    registry: Arc<IdleEviction>,
    number: u64,
    is_used: AtomicBool,
    evicted: Arc<Notify>,
}

impl IdleEviction {
    pub(crate) fn register(self: &Arc<Self>) -> UnusedConnection {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let evicted = Arc::new(Notify::new());
        self.unused().insert(number, (Instant::now(), Arc::clone(&evicted)));
        UnusedConnection { registry: Arc::clone(self), number, is_used: AtomicBool::new(false), evicted }
    }

    /// Evicts the oldest unused connection, if it had its [`GRACE`].
    pub(crate) fn evict_oldest(&self) {
        let mut unused = self.unused();
        if let Some(oldest) = unused.first_entry().filter(|oldest| oldest.get().0.elapsed() >= GRACE) {
            oldest.remove().1.notify_one();
        }
    }

    fn unused(&self) -> MutexGuard<'_, BTreeMap<u64, (Instant, Arc<Notify>)>> {
        self.unused.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl UnusedConnection {
    /// The first byte of a request arrived: the connection is not evicted any more.
    pub(crate) fn mark_used(&self) {
        if !self.is_used.swap(true, Ordering::Relaxed) {
            self.registry.unused().remove(&self.number);
        }
    }

    /// Resolves when the connection is evicted; never if its request arrived at the same moment.
    pub(crate) async fn evicted(&self) {
        self.evicted.notified().await;
        if self.is_used.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
    }
}

impl Drop for UnusedConnection {
    fn drop(&mut self) {
        self.mark_used();
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{advance, timeout};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_oldest_unused_connection_is_evicted() {
        let registry = Arc::new(IdleEviction::default());
        let connections: Vec<_> = (0..4).map(|_| registry.register()).collect();
        connections[0].mark_used();
        registry.evict_oldest();
        advance(GRACE).await;
        registry.evict_oldest();
        registry.evict_oldest();
        connections[2].mark_used();
        let mut evicted = Vec::new();
        for connection in &connections {
            evicted.push(timeout(Duration::ZERO, connection.evicted()).await.is_ok());
        }
        assert_eq!(evicted, [false, true, false, false], "the third was evicted when its request arrived");
        drop(connections);
        assert!(registry.unused().is_empty());
    }
}
