//! The limits that requests and connections of one server share, and how much of each is used.

use std::sync::Arc;

use crate::admission_queue::AdmissionQueue;
use crate::body_memory::BodyMemory;
use crate::cpu_permits::CpuPermits;
use crate::idle_eviction::IdleEviction;
use crate::pending_connections::PendingConnections;
use crate::permits::{Gauge, Permits, all_but_one, worker_threads};
use crate::settings::Settings;

/// The use of a server's limits, for metrics. Clones look at the same server.
///
/// ```
/// # use std::sync::Arc;
/// use vestibule_server::{CertificateCell, Server, Settings, Usage};
///
/// let server = Server::new(Settings::default(), Arc::new(CertificateCell::default()));
/// let held = server.usage().now();
/// assert!(held.iter().map(|held| held.what).eq(Usage::WHAT));
/// assert!(held.iter().all(|held| held.now == 0 && held.limit > 0));
/// ```
#[derive(Clone)]
pub struct Usage(Arc<Limits>);

/// One limit and its use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LimitUsage {
    /// One of [`Usage::WHAT`].
    pub what: &'static str,
    /// How much of it is used.
    pub now: u64,
    /// The limit.
    pub limit: u64,
}

/// Everything that requests and connections of one server compete for.
pub(crate) struct Limits {
    /// The accept loop always has one permit, for the next connection.
    pub(crate) connections: Permits,
    pub(crate) connected: Gauge,
    pub(crate) pending_handshakes: PendingConnections,
    pub(crate) idle_eviction: Arc<IdleEviction>,
    pub(crate) threads: usize,
    pub(crate) handshake_permits: CpuPermits,
    pub(crate) body_memory: BodyMemory,
    pub(crate) queue: AdmissionQueue,
    /// Requests with large bodies queue here, so that small ones do not wait for them. The body memory limits their number.
    pub(crate) large_queue: AdmissionQueue,
}

impl Usage {
    /// The names of the limits: connections; connections whose TLS handshake is not done; bytes of bodies in memory; handlers that
    /// have begun and not ended; handlers that compute, except the one of a large body; requests that wait for their handler to
    /// begin.
    pub const WHAT: [&'static str; 6] =
        ["connections", "handshakes", "body_bytes", "running", "computing", "waiting"];

    pub(crate) fn new(limits: Arc<Limits>) -> Self {
        Self(limits)
    }

    pub(crate) fn limits(&self) -> &Arc<Limits> {
        &self.0
    }

    /// The number of threads of the runtime on which the server was made.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.0.threads
    }

    /// All limits, in the order of [`Usage::WHAT`]. They are read one after the other, not at one moment.
    pub fn now(&self) -> Vec<LimitUsage> {
        let limits = &*self.0;
        let (queue, large) = (&limits.queue, &limits.large_queue);
        let usage = [
            (limits.connected.value(), limits.connections.limit.into()),
            limits.pending_handshakes.usage(),
            limits.body_memory.usage(),
            (queue.running.value() + large.running.value(), queue.max_running()),
            queue.computing(),
            (queue.waiting.value() + large.waiting.value(), queue.max_waiting()),
        ];
        Self::WHAT
            .into_iter()
            .zip(usage)
            .map(|(what, (now, limit))| LimitUsage { what, now, limit })
            .collect()
    }
}

impl Limits {
    pub(crate) fn of(settings: &Settings) -> Self {
        let threads = worker_threads();
        Self {
            connections: Permits::new(settings.max_connections),
            connected: Gauge::default(),
            idle_eviction: Arc::default(),
            pending_handshakes: PendingConnections::new(settings.max_handshakes),
            threads,
            handshake_permits: CpuPermits::for_handshakes(all_but_one(threads)),
            body_memory: BodyMemory::new(settings.max_bodies, settings.max_body),
            queue: AdmissionQueue::new(settings),
            large_queue: AdmissionQueue::for_large_bodies(settings),
        }
    }
}
