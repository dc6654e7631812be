//! Connections whose handshake is not done.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::net::TcpStream;
use tokio::sync::Notify;

use crate::load::{Counted, One};

/// Whoever connects sends the first byte at once. When there are too many, those who did not are the ones to go, the
/// oldest first: silent strangers keep nobody out who has something to say.
pub(crate) struct Newcomers {
    limit: u64,
    /// Those who spoke.
    spoken: Counted,
    /// The others, by the order in which they came.
    silent: Mutex<BTreeMap<u64, Arc<Notify>>>,
    next: AtomicU64,
}

/// One of them.
pub(crate) struct Newcomer<'a> {
    newcomers: &'a Newcomers,
    number: u64,
    leave: Arc<Notify>,
    spoken: Option<One<'a>>,
}

/// It had said nothing when there were too many.
pub(crate) struct Crowded;

impl Newcomers {
    pub(crate) fn new(limit: usize) -> Self {
        let limit = limit.try_into().unwrap_or(u64::MAX);
        Self { limit, spoken: Counted::default(), silent: Mutex::default(), next: AtomicU64::default() }
    }

    pub(crate) fn limit(&self) -> u64 {
        self.limit
    }

    pub(crate) fn unfinished(&self) -> u64 {
        self.spoken.now() + u64::try_from(self.silent().len()).unwrap_or(u64::MAX)
    }

    /// One more; another one goes where that is too many.
    pub(crate) fn arrive(&self) -> Newcomer<'_> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let leave = Arc::new(Notify::new());
        let mut silent = self.silent();
        if self.spoken.now() + u64::try_from(silent.len()).unwrap_or(u64::MAX) >= self.limit
            && let Some((_, oldest)) = silent.pop_first()
        {
            oldest.notify_one();
        }
        silent.insert(number, Arc::clone(&leave));
        Newcomer { newcomers: self, number, leave, spoken: None }
    }

    fn silent(&self) -> MutexGuard<'_, BTreeMap<u64, Arc<Notify>>> {
        self.silent.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Newcomer<'_> {
    /// Resolves with the first byte, or when it has to go.
    pub(crate) async fn speaks(&mut self, stream: &TcpStream) -> Result<(), Crowded> {
        let mut first = [0];
        tokio::select! {
            biased;
            // An error shows in the handshake, an end too.
            _ = stream.peek(&mut first) => {}
            () = self.leave.notified() => return Err(Crowded),
        }
        self.newcomers.silent().remove(&self.number);
        self.spoken = Some(self.newcomers.spoken.one());
        Ok(())
    }
}

impl Drop for Newcomer<'_> {
    fn drop(&mut self) {
        self.newcomers.silent().remove(&self.number);
    }
}
