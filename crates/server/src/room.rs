//! The memory that bodies may hold together.

use tokio::sync::SemaphorePermit;

use crate::load::{Counted, Places};

/// From this length on, a body is large: it gets address space of its own, and few are worked on at a time.
pub(crate) const LARGE: usize = 1 << 20;

/// The largest body that has room of its own: nearly every review is smaller, and is not to wait behind large ones.
const SMALL: usize = 64 << 10;

/// Of all the room, the part that only small bodies may take.
const KEPT_FOR_SMALL: usize = 8;

/// Of large bodies, so many bytes are worked on at a time, or one body that is larger.
const AT_WORK: usize = 8 << 20;

/// So many may wait for room; a connection that waits holds memory too, and whoever is turned away comes again.
const MOST_WAITING: u64 = 64;

/// Bytes, of which whoever brings a body takes as many as it [needs](weight) before it is read.
pub(crate) struct Room {
    small: Places,
    any: Places,
    waiting: Counted,
    at_work: Places,
}

/// Bytes that are taken until this is dropped.
pub(crate) struct Share<'a>(SemaphorePermit<'a>);

impl Room {
    /// For `bytes` of bodies, of which one alone may have `largest`.
    pub(crate) fn new(bytes: usize, largest: usize) -> Self {
        let at_work = Places::new(largest.min(AT_WORK));
        let small = bytes / KEPT_FOR_SMALL;
        let (small, any) = (Places::new(small), Places::new(bytes - small));
        Self { small, any, waiting: Counted::default(), at_work }
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

    /// Waits for `bytes`, first come, first served, unless too many wait already. A body larger than the room takes all of
    /// it: it may still pass, alone.
    pub(crate) async fn reserve(&self, bytes: usize) -> Option<Share<'_>> {
        let count = u32::try_from(bytes).unwrap_or(u32::MAX);
        if bytes <= SMALL
            && let Ok(permit) = self.small.free.try_acquire_many(count)
        {
            return Some(Share(permit));
        }
        self.take(count.min(self.any.limit)).await.map(Share)
    }

    /// Adds to a share of more than 64 KiB until it is one of `bytes`, waiting as [`reserve`](Self::reserve) does; false if too
    /// many wait already. Two shares that wait for each other's bytes are given up when the patience of one of them is over.
    pub(crate) async fn grow<'a>(&'a self, share: &mut Share<'a>, bytes: usize) -> bool {
        let wanted = u32::try_from(bytes).unwrap_or(u32::MAX).min(self.any.limit);
        let held = u32::try_from(share.0.num_permits()).unwrap_or(u32::MAX);
        let Some(more) = self.take(wanted.saturating_sub(held)).await else { return false };
        share.0.merge(more);
        true
    }

    /// Waits until a body of `bytes` may be worked on. Handlers make copies of what they get, and take long over what is
    /// large: of large bodies, 8 MiB are worked on at a time, or one that is larger.
    pub(crate) async fn work_on(&self, bytes: usize) -> Option<Share<'_>> {
        if bytes < LARGE {
            return None;
        }
        let count = u32::try_from(bytes).unwrap_or(u32::MAX).min(self.at_work.limit);
        self.at_work.free.acquire_many(count).await.ok().map(Share)
    }
}

impl Room {
    async fn take(&self, count: u32) -> Option<SemaphorePermit<'_>> {
        if let Ok(permit) = self.any.free.try_acquire_many(count) {
            return Some(permit);
        }
        let _waits = self.waiting.one();
        if self.waiting.now() > MOST_WAITING {
            return None;
        }
        // It is never closed.
        self.any.free.acquire_many(count).await.ok()
    }
}

impl Share<'_> {
    /// Gives back what is above `bytes`.
    pub(crate) fn shrink(&mut self, bytes: usize) {
        let surplus = self.0.num_permits().saturating_sub(bytes);
        drop(self.0.split(surplus));
    }
}

/// The room that a body needs: a large one thrice, twice more for what is made of it.
pub(crate) fn weight(bytes: usize) -> usize {
    if bytes < LARGE { bytes } else { bytes.saturating_mul(3) }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::{Context, Poll, Waker};

    use super::*;

    /// What `future` comes to at the first look.
    fn now<F: Future + Unpin>(mut future: F) -> Poll<F::Output> {
        pin!(&mut future).poll(&mut Context::from_waker(Waker::noop()))
    }

    #[test]
    fn so_many_wait_for_room_and_no_more() {
        let room = Room::new(8 * SMALL, LARGE);
        let Poll::Ready(Some(all)) = now(pin!(room.reserve(usize::MAX))) else { panic!("it has room") };
        let mut waiting: Vec<_> = (0..MOST_WAITING).map(|_| Box::pin(room.reserve(LARGE))).collect();
        assert!(waiting.iter_mut().all(|one| now(one).is_pending()));
        assert!(matches!(now(pin!(room.reserve(LARGE))), Poll::Ready(None)));
        drop(all);
        assert!(matches!(now(&mut waiting[0]), Poll::Ready(Some(_))));
    }

    #[test]
    fn a_large_body_takes_room_for_what_is_made_of_it() {
        let room = Room::new(64 * LARGE, 8 * LARGE);
        let Poll::Ready(Some(mut share)) = now(pin!(room.reserve(weight(8 * LARGE)))) else {
            panic!("it has room")
        };
        assert_eq!(room.held().0, 24 << 20);
        share.shrink(weight(LARGE - 1));
        assert_eq!(room.held().0, (1 << 20) - 1);
    }

    #[test]
    fn of_large_bodies_eight_mebibytes_are_worked_on_at_a_time_or_one_that_is_larger() {
        let room = Room::new(64 * LARGE, 28 * LARGE);
        let Poll::Ready(Some(one)) = now(pin!(room.work_on(28 * LARGE))) else { panic!("nobody works") };
        let mut next = pin!(room.work_on(LARGE));
        assert!(now(&mut next).is_pending());
        // Those that are not large have nothing to wait for.
        assert!(matches!(now(pin!(room.work_on(LARGE - 1))), Poll::Ready(None)));
        drop(one);
        assert!(matches!(now(&mut next), Poll::Ready(Some(_))));
    }
}
