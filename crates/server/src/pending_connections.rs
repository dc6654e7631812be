//! Connections in their first phase: on the HTTPS port until the TLS handshake is done, on the probe port until they end.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::net::TcpStream;
use tokio::sync::Notify;

/// Silent connections are evicted only while there are more of them than the limit divided by this number: a connection that was
/// just opened needs time to send its first byte.
const KEPT_FOR_SILENT: usize = 8;

/// The pending connections, of which no more than `limit` are kept.
///
/// A client with a request sends its first byte at once. At the limit, a new connection evicts the oldest silent
/// connection or, if few are silent, the oldest connection that sent its first byte. So neither silent clients nor clients
/// that stop after one byte keep others out.
pub(crate) struct PendingConnections {
    limit: usize,
    pending: Mutex<Pending>,
    next: AtomicU64,
}

/// In the order in which the connections were opened.
#[derive(Default)]
struct Pending {
    silent: BTreeMap<u64, Arc<Notify>>,
    /// Connections that sent at least one byte.
    begun: BTreeMap<u64, Arc<Notify>>,
}

/// One pending connection; it is no longer pending when this is dropped.
pub(crate) struct PendingConnection<'a> {
    registry: &'a PendingConnections,
    number: u64,
    evicted: Arc<Notify>,
}

impl PendingConnections {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, pending: Mutex::default(), next: AtomicU64::default() }
    }

    /// The number of pending connections, and their limit.
    pub(crate) fn usage(&self) -> (u64, u64) {
        let count = |number: usize| number.try_into().unwrap_or(u64::MAX);
        (count(self.pending().len()), count(self.limit))
    }

    /// Adds a connection, and evicts another one at the limit.
    pub(crate) fn register(&self) -> PendingConnection<'_> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let evicted = Arc::new(Notify::new());
        let mut pending = self.pending();
        if pending.len() >= self.limit {
            let few = self.limit / KEPT_FOR_SILENT;
            let from = if pending.silent.len() > few { &mut pending.silent } else { &mut pending.begun };
            if let Some((_, oldest)) = from.pop_first() {
                oldest.notify_one();
            }
        }
        pending.silent.insert(number, Arc::clone(&evicted));
        PendingConnection { registry: self, number, evicted }
    }

    fn pending(&self) -> MutexGuard<'_, Pending> {
        self.pending.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Pending {
    fn len(&self) -> usize {
        self.silent.len() + self.begun.len()
    }
}

impl PendingConnection<'_> {
    /// Resolves with the first byte.
    pub(crate) async fn first_byte(&self, stream: &TcpStream) {
        // The handshake reports an error or the end of the stream.
        let _ = stream.peek(&mut [0]).await;
        let mut pending = self.registry.pending();
        if let Some(evicted) = pending.silent.remove(&self.number) {
            pending.begun.insert(self.number, evicted);
        }
    }

    /// Resolves when the connection is evicted.
    pub(crate) async fn evicted(&self) {
        self.evicted.notified().await;
    }
}

impl Drop for PendingConnection<'_> {
    fn drop(&mut self) {
        let mut pending = self.registry.pending();
        pending.silent.remove(&self.number);
        pending.begun.remove(&self.number);
    }
}
