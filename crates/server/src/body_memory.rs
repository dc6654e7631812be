//! The memory that all request bodies may take together.

use std::sync::Arc;

use bytes::Bytes;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::permits::{Gauge, Permits};

/// A body of this length or more is large: it gets a memory mapping of its own, and few are processed at a time.
pub(crate) const LARGE: usize = 1 << 20;

/// The largest body that may use the memory kept for small ones. Nearly every review is smaller, and must not wait for large ones.
const SMALL: usize = 64 << 10;

/// One in this many bytes is kept for small bodies.
const KEPT_FOR_SMALL: usize = 8;

/// The bytes of large bodies that are processed at a time; a larger body is processed alone.
const PROCESSED: usize = 8 << 20;

/// The most bodies that may wait for memory. A waiting connection takes memory too, and a refused call is repeated by the API
/// server.
const MAX_WAITING: u64 = 64;

/// A pool of bytes. A body takes as many as it [needs](memory_for) before it is read.
pub(crate) struct BodyMemory {
    small: Permits,
    any: Permits,
    waiting: Gauge,
    processed: Permits,
}

/// Bytes of the pool that are taken until this is dropped.
pub(crate) struct Reservation<'a>(SemaphorePermit<'a>);

impl BodyMemory {
    /// A pool of `bytes`; one body may have `largest`.
    pub(crate) fn new(bytes: usize, largest: usize) -> Self {
        let processed = Permits::new(largest.min(PROCESSED));
        let small = bytes / KEPT_FOR_SMALL;
        let (small, any) = (Permits::new(small), Permits::new(bytes - small));
        Self { small, any, waiting: Gauge::default(), processed }
    }

    /// The number of bytes that are taken, and of all.
    pub(crate) fn usage(&self) -> (u64, u64) {
        let ((small, small_limit), (any, limit)) = (self.small.usage(), self.any.usage());
        (small + any, small_limit + limit)
    }

    /// Whether a body waits for memory.
    pub(crate) fn has_waiters(&self) -> bool {
        self.waiting.value() > 0
    }

    /// Waits for `bytes`, first come, first served; [`None`] if [`MAX_WAITING`] bodies wait already. A body larger than the pool
    /// takes all of it but the part for small bodies, and so passes alone.
    pub(crate) async fn reserve(&self, bytes: usize) -> Option<Reservation<'_>> {
        let count = u32::try_from(bytes).unwrap_or(u32::MAX);
        if bytes <= SMALL
            && let Ok(permit) = self.small.free.try_acquire_many(count)
        {
            return Some(Reservation(permit));
        }
        self.acquire(count.min(self.any.limit)).await.map(Reservation)
    }

    /// Enlarges a reservation of more than 64 KiB to `bytes`, waiting as [`reserve`](Self::reserve) does; false if too many wait
    /// already. The caller sets a deadline: two reservations may wait for each other.
    pub(crate) async fn enlarge<'a>(&'a self, reservation: &mut Reservation<'a>, bytes: usize) -> bool {
        let wanted = u32::try_from(bytes).unwrap_or(u32::MAX).min(self.any.limit);
        let held = u32::try_from(reservation.0.num_permits()).unwrap_or(u32::MAX);
        let Some(more) = self.acquire(wanted.saturating_sub(held)).await else { return false };
        reservation.0.merge(more);
        true
    }

    /// Waits until a large body of `bytes` may be processed; [`None`] at once for a body that is not large. Handlers make copies
    /// of the object and take long over a large one, so 8 MiB of large bodies are processed at a time.
    pub(crate) async fn process_large(&self, bytes: usize) -> Option<Reservation<'_>> {
        if bytes < LARGE {
            return None;
        }
        let count = u32::try_from(bytes).unwrap_or(u32::MAX).min(self.processed.limit);
        self.processed.free.acquire_many(count).await.ok().map(Reservation)
    }

    /// The answer to the request of `reservation`. A large answer keeps its part of the reservation until it is written or its
    /// connection closed, since the client decides how fast it reads. The memory kept for small bodies is given back at once.
    pub(crate) fn keep_for_answer(&self, mut reservation: Reservation<'_>, answer: Vec<u8>) -> Bytes {
        let count = answer.len().min(reservation.0.num_permits());
        if count <= SMALL {
            return answer.into();
        }
        reservation.shrink(count);
        reservation.0.forget();
        Bytes::from_owner(UnreadAnswer { bytes: answer, count, pool: Arc::clone(&self.any.free) })
    }

    async fn acquire(&self, count: u32) -> Option<SemaphorePermit<'_>> {
        if let Ok(permit) = self.any.free.try_acquire_many(count) {
            return Some(permit);
        }
        let _waits = self.waiting.increment();
        if self.waiting.value() > MAX_WAITING {
            return None;
        }
        // The semaphore is never closed.
        self.any.free.acquire_many(count).await.ok()
    }
}

impl Reservation<'_> {
    /// Gives back all but `bytes`.
    pub(crate) fn shrink(&mut self, bytes: usize) {
        let surplus = self.0.num_permits().saturating_sub(bytes);
        drop(self.0.split(surplus));
    }
}

/// An answer, and its bytes of the pool.
struct UnreadAnswer {
    bytes: Vec<u8>,
    count: usize,
    pool: Arc<Semaphore>,
}

impl AsRef<[u8]> for UnreadAnswer {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl Drop for UnreadAnswer {
    fn drop(&mut self) {
        self.pool.add_permits(self.count);
    }
}

/// The memory that a body of `bytes` needs: three times its length if it is large, since a typed handler keeps the object as text
/// before and after its change.
pub(crate) fn memory_for(bytes: usize) -> usize {
    if bytes < LARGE { bytes } else { bytes.saturating_mul(3) }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    /// The outcome of the first poll.
    fn poll_once<F: Future + Unpin>(mut future: F) -> Poll<F::Output> {
        pin!(&mut future).poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn a_body_is_refused_when_64_wait_for_memory() {
        let memory = BodyMemory::new(8 * SMALL, LARGE);
        let Poll::Ready(Some(all)) = poll_once(pin!(memory.reserve(usize::MAX))) else {
            panic!("the pool is empty")
        };
        let mut waiting: Vec<_> = (0..MAX_WAITING).map(|_| Box::pin(memory.reserve(LARGE))).collect();
        assert!(waiting.iter_mut().all(|one| poll_once(one).is_pending()));
        assert!(matches!(poll_once(pin!(memory.reserve(LARGE))), Poll::Ready(None)));
        drop(all);
        assert!(matches!(poll_once(&mut waiting[0]), Poll::Ready(Some(_))));
    }

    #[test]
    fn a_large_body_takes_three_times_its_length() {
        let memory = BodyMemory::new(64 * LARGE, 8 * LARGE);
        let Poll::Ready(Some(mut reservation)) = poll_once(pin!(memory.reserve(memory_for(8 * LARGE))))
        else {
            panic!("the pool is empty")
        };
        assert_eq!(memory.usage().0, 24 << 20);
        reservation.shrink(memory_for(LARGE - 1));
        assert_eq!(memory.usage().0, (1 << 20) - 1);
    }

    #[test]
    fn eight_mebibytes_of_large_bodies_are_processed_at_a_time_or_one_larger_body() {
        let memory = BodyMemory::new(64 * LARGE, 28 * LARGE);
        let Poll::Ready(Some(one)) = poll_once(pin!(memory.process_large(28 * LARGE))) else {
            panic!("no body is processed")
        };
        let mut next = pin!(memory.process_large(LARGE));
        assert!(poll_once(&mut next).is_pending());
        // A body that is not large does not wait.
        assert!(matches!(poll_once(pin!(memory.process_large(LARGE - 1))), Poll::Ready(None)));
        drop(one);
        assert!(matches!(poll_once(&mut next), Poll::Ready(Some(_))));
    }
}
