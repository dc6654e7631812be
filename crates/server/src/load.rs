//! How much of what has a limit is taken now.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use tokio::runtime::Handle;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::gate::Gate;
use crate::newcomers::Newcomers;
use crate::room::Room;
use crate::settings::Settings;
use crate::turns::Turns;
use crate::unasked::Unasked;

/// What a server holds now, beside its limits; for metrics. Clones look at the same server.
///
/// ```
/// # use std::sync::Arc;
/// use vestibule_server::{CertificateCell, Load, Server, Settings};
///
/// let server = Server::new(Settings::default(), Arc::new(CertificateCell::default()));
/// let held = server.load().now();
/// assert!(held.iter().map(|held| held.what).eq(Load::WHAT));
/// assert!(held.iter().all(|held| held.now == 0 && held.limit > 0));
/// ```
#[derive(Clone)]
pub struct Load(Arc<Limits>);

/// One thing that has a limit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Held {
    /// One of [`Load::WHAT`].
    pub what: &'static str,
    /// How much of it is taken.
    pub now: u64,
    /// How much of it there is.
    pub limit: u64,
}

/// Everything that is counted, in one place.
pub(crate) struct Limits {
    /// One of them is always taken by the accept loop, for whoever comes next.
    pub(crate) connections: Places,
    pub(crate) connected: Counted,
    pub(crate) newcomers: Newcomers,
    pub(crate) unasked: Arc<Unasked>,
    pub(crate) threads: usize,
    pub(crate) handshake_turns: Turns,
    pub(crate) room: Room,
    pub(crate) gate: Gate,
    /// Of those with large bodies, before which no small one waits. How many they are is for the room to say.
    pub(crate) gate_of_large: Gate,
}

/// Places of which each is taken by one.
pub(crate) struct Places {
    pub(crate) free: Arc<Semaphore>,
    pub(crate) limit: u32,
}

/// How many there are.
#[derive(Default)]
pub(crate) struct Counted(AtomicU64);

/// One more, until it is dropped.
pub(crate) struct One<'a>(&'a AtomicU64);

impl Load {
    /// What is counted: connections; of those, the ones whose TLS handshake is not done; bytes of bodies in memory;
    /// handlers that have begun and not ended; of those, the ones that compute, but for the one of a large body; requests
    /// that wait for their handler to begin.
    pub const WHAT: [&'static str; 6] =
        ["connections", "handshakes", "body_bytes", "running", "computing", "waiting"];

    pub(crate) fn new(limits: Arc<Limits>) -> Self {
        Self(limits)
    }

    pub(crate) fn limits(&self) -> &Arc<Limits> {
        &self.0
    }

    /// The threads of the runtime that the server was made on.
    #[must_use]
    pub fn threads(&self) -> usize {
        self.0.threads
    }

    /// All of them, in the order of [`Load::WHAT`]. Each is read for itself.
    pub fn now(&self) -> Vec<Held> {
        let Limits { connections, connected, newcomers, room, gate, gate_of_large: large, .. } = &*self.0;
        let counts = [
            (connected.now(), connections.limit.into()),
            (newcomers.unfinished(), newcomers.limit()),
            room.held(),
            (gate.running.now() + large.running.now(), gate.most_running()),
            gate.computing(),
            (gate.waiting.now() + large.waiting.now(), gate.bound()),
        ];
        Self::WHAT.into_iter().zip(counts).map(|(what, (now, limit))| Held { what, now, limit }).collect()
    }
}

impl Limits {
    pub(crate) fn of(settings: &Settings) -> Self {
        let threads = threads();
        Self {
            connections: Places::new(settings.max_connections),
            connected: Counted::default(),
            unasked: Arc::default(),
            newcomers: Newcomers::new(settings.max_handshakes),
            threads,
            handshake_turns: Turns::new(all_but_one(threads)),
            room: Room::new(settings.max_bodies, settings.max_body),
            gate: Gate::new(settings),
            gate_of_large: Gate::apart(settings),
        }
    }
}

impl Places {
    pub(crate) fn new(limit: usize) -> Self {
        // What a semaphore can count, on machines of 32 bits as well.
        let limit = u32::try_from(limit.min(Semaphore::MAX_PERMITS)).unwrap_or(u32::MAX);
        Self { free: Arc::new(Semaphore::new(limit as usize)), limit }
    }

    /// Waits, first come, first served.
    pub(crate) async fn take(&self) -> SemaphorePermit<'_> {
        match self.free.acquire().await {
            Ok(place) => place,
            // It is never closed.
            Err(_) => std::future::pending().await,
        }
    }

    pub(crate) fn held(&self) -> (u64, u64) {
        let free = u64::try_from(self.free.available_permits()).unwrap_or(u64::MAX);
        (u64::from(self.limit).saturating_sub(free), self.limit.into())
    }
}

impl Counted {
    pub(crate) fn one(&self) -> One<'_> {
        self.0.fetch_add(1, Ordering::Relaxed);
        One(&self.0)
    }

    pub(crate) fn now(&self) -> u64 {
        self.0.load(Ordering::Relaxed)
    }
}

impl Drop for One<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

/// The threads of the runtime.
pub(crate) fn threads() -> usize {
    let around = || std::thread::available_parallelism().map_or(1, usize::from);
    Handle::try_current().map_or_else(|_| around(), |runtime| runtime.metrics().num_workers())
}

/// How many of `threads` may compute: one is left to read and to refuse, else the more is refused, the less is done.
pub(crate) fn all_but_one(threads: usize) -> usize {
    threads.saturating_sub(1).max(1)
}
