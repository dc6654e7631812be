//! Connections on which nothing has been asked yet.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::Instant;

/// Whoever has just come is about to ask, on a machine that is very busy a little later.
const TO_ASK: Duration = Duration::from_secs(3);

/// API servers dial ahead, and what was dialled so may rest for as long as any other connection before its first call: there is no
/// time within which it has to come. But where all places are taken, these are the ones to go, the oldest first, so
/// that strangers who shake hands and rest keep nobody out.
#[derive(Default)]
pub(crate) struct Unasked {
    /// By the order in which they came.
    all: Mutex<BTreeMap<u64, (Instant, Arc<Notify>)>>,
    next: AtomicU64,
}

/// One of them.
pub(crate) struct Arrival {
    among: Arc<Unasked>,
    number: u64,
    has_asked: AtomicBool,
    leave: Arc<Notify>,
}

impl Unasked {
    pub(crate) fn arrive(self: &Arc<Self>) -> Arrival {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let leave = Arc::new(Notify::new());
        self.all().insert(number, (Instant::now(), Arc::clone(&leave)));
        Arrival { among: Arc::clone(self), number, has_asked: AtomicBool::new(false), leave }
    }

    /// Tells the oldest to leave, if there is one that had time to ask.
    pub(crate) fn make_room(&self) {
        let mut all = self.all();
        if let Some(oldest) = all.first_entry().filter(|oldest| oldest.get().0.elapsed() >= TO_ASK) {
            oldest.remove().1.notify_one();
        }
    }

    fn all(&self) -> MutexGuard<'_, BTreeMap<u64, (Instant, Arc<Notify>)>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Arrival {
    /// From now on it stays.
    pub(crate) fn asks(&self) {
        if !self.has_asked.swap(true, Ordering::Relaxed) {
            self.among.all().remove(&self.number);
        }
    }

    /// Resolves when it has to leave. Whoever was told so just before he asked stays all the same.
    pub(crate) async fn leaves(&self) {
        self.leave.notified().await;
        if self.has_asked.load(Ordering::Relaxed) {
            std::future::pending::<()>().await;
        }
    }
}

impl Drop for Arrival {
    fn drop(&mut self) {
        self.asks();
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::{advance, timeout};

    use super::*;

    #[tokio::test(start_paused = true)]
    async fn the_oldest_goes_that_has_not_asked() {
        let unasked = Arc::new(Unasked::default());
        let all: Vec<_> = (0..4).map(|_| unasked.arrive()).collect();
        all[0].asks();
        unasked.make_room();
        advance(TO_ASK).await;
        unasked.make_room();
        unasked.make_room();
        all[2].asks();
        let mut leaving = Vec::new();
        for one in &all {
            leaving.push(timeout(Duration::ZERO, one.leaves()).await.is_ok());
        }
        assert_eq!(leaving, [false, true, false, false], "the third was told to, and asked all the same");
        drop(all);
        assert!(unasked.all().is_empty());
    }
}
