//! Connections that are yet to show what they are for: on the HTTPS port those whose handshake is not done, on the plain
//! port all.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::net::TcpStream;
use tokio::sync::Notify;

/// Of all places, the part that the silent ones may have while others spoke: whoever just came is given the time to.
const KEPT_FOR_SILENT: usize = 8;

/// Whoever connects sends the first byte at once. When there are too many, those who did not are the ones to go, the
/// oldest first: silent strangers keep nobody out who has something to say. Where few are silent, the oldest of those who
/// spoke goes: nor does whoever stops after his first byte.
pub(crate) struct Newcomers {
    limit: usize,
    unfinished: Mutex<Unfinished>,
    next: AtomicU64,
}

/// By the order in which they came.
#[derive(Default)]
struct Unfinished {
    silent: BTreeMap<u64, Arc<Notify>>,
    spoken: BTreeMap<u64, Arc<Notify>>,
}

/// One of them.
pub(crate) struct Newcomer<'a> {
    newcomers: &'a Newcomers,
    number: u64,
    leave: Arc<Notify>,
}

impl Newcomers {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, unfinished: Mutex::default(), next: AtomicU64::default() }
    }

    pub(crate) fn limit(&self) -> u64 {
        self.limit.try_into().unwrap_or(u64::MAX)
    }

    pub(crate) fn unfinished(&self) -> u64 {
        self.all().number().try_into().unwrap_or(u64::MAX)
    }

    /// One more; another one goes where that is too many.
    pub(crate) fn arrive(&self) -> Newcomer<'_> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let leave = Arc::new(Notify::new());
        let mut all = self.all();
        if all.number() >= self.limit {
            let few = self.limit / KEPT_FOR_SILENT;
            let those = if all.silent.len() > few { &mut all.silent } else { &mut all.spoken };
            if let Some((_, oldest)) = those.pop_first() {
                oldest.notify_one();
            }
        }
        all.silent.insert(number, Arc::clone(&leave));
        Newcomer { newcomers: self, number, leave }
    }

    fn all(&self) -> MutexGuard<'_, Unfinished> {
        self.unfinished.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Unfinished {
    fn number(&self) -> usize {
        self.silent.len() + self.spoken.len()
    }
}

impl Newcomer<'_> {
    /// Resolves with the first byte.
    pub(crate) async fn speaks(&self, stream: &TcpStream) {
        // An error shows in the handshake, an end too.
        let _ = stream.peek(&mut [0]).await;
        let mut all = self.newcomers.all();
        if let Some(leave) = all.silent.remove(&self.number) {
            all.spoken.insert(self.number, leave);
        }
    }

    /// Resolves when it has to go.
    pub(crate) async fn leaves(&self) {
        self.leave.notified().await;
    }
}

impl Drop for Newcomer<'_> {
    fn drop(&mut self) {
        let mut all = self.newcomers.all();
        all.silent.remove(&self.number);
        all.spoken.remove(&self.number);
    }
}
