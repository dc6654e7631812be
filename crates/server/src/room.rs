//! The memory that bodies may hold together.

use tokio::sync::SemaphorePermit;

use crate::load::{Counted, Places};

/// The largest body that has room of its own: nearly every review is smaller, and is not to wait behind large ones.
const SMALL: usize = 64 << 10;

/// Of all the room, the part that only small bodies may take.
const KEPT_FOR_SMALL: usize = 8;

/// Bytes, of which whoever brings a body takes as many as it is long before it is read.
pub(crate) struct Room {
    small: Places,
    any: Places,
    waiting: Counted,
}

/// Bytes that are taken until this is dropped.
pub(crate) struct Share<'a>(SemaphorePermit<'a>);

impl Room {
    pub(crate) fn new(bytes: usize) -> Self {
        let small = bytes / KEPT_FOR_SMALL;
        Self { small: Places::new(small), any: Places::new(bytes - small), waiting: Counted::default() }
    }

    /// How many bytes are taken, and how many there are.
    pub(crate) fn held(&self) -> (u64, u64) {
        let ((small, small_limit), (any, limit)) = (self.small.held(), self.any.held());
        (small + any, small_limit + limit)
    }

    /// Whether somebody waits for what others have.
    pub(crate) fn is_wanted(&self) -> bool {
        self.waiting.now() > 0
    }

    /// Waits for `bytes`, first come, first served. A body larger than the room takes all of it: it may still pass, alone.
    pub(crate) async fn reserve(&self, bytes: usize) -> Option<Share<'_>> {
        let count = u32::try_from(bytes).unwrap_or(u32::MAX);
        if bytes <= SMALL
            && let Ok(permit) = self.small.free.try_acquire_many(count)
        {
            return Some(Share(permit));
        }
        let count = count.min(self.any.limit);
        if let Ok(permit) = self.any.free.try_acquire_many(count) {
            return Some(Share(permit));
        }
        let _waits = self.waiting.one();
        // It is never closed.
        self.any.free.acquire_many(count).await.ok().map(Share)
    }
}

impl Share<'_> {
    /// Gives back what is above `bytes`.
    pub(crate) fn shrink(&mut self, bytes: usize) {
        let surplus = self.0.num_permits().saturating_sub(bytes);
        drop(self.0.split(surplus));
    }
}
