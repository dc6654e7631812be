//! Reading a body within its limits.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Body;
use tokio::time::{Instant, timeout, timeout_at};

use crate::load::Limits;
use crate::refusal::{Refusal, Refused};
use crate::room::{LARGE, Room, Share, weight};

/// While others wait for room, whoever has some brings at least [`LEAST`] bytes in each of these: who only holds it
/// against others is given up.
const PERIOD: Duration = Duration::from_secs(1);
const LEAST: usize = 64 << 10;

/// No allocator keeps so much for the next time: glibc's, which learns from what is freed, takes 32 MiB at most from its heaps.
const OWN_SPACE: usize = 33 << 20;

/// The memory that is reserved at first for a body without a declared length. Each time the body outgrows its reservation, twice
/// as much is reserved, up to the limit.
const FIRST_RESERVATION: usize = LARGE;

/// Bodies of all requests share one budget of memory.
pub(crate) struct Bodies {
    limit: usize,
    time: Duration,
    limits: Arc<Limits>,
}

/// A whole body; its share of the budget is given back when it is dropped.
pub(crate) struct Received<'a> {
    pub(crate) bytes: Vec<u8>,
    _share: Share<'a>,
}

impl Bodies {
    pub(crate) fn new(limit: usize, time: Duration, limits: Arc<Limits>) -> Self {
        Self { limit, time, limits }
    }

    /// The same budget, for bodies with another limit.
    pub(crate) fn with_limit(&self, limit: usize) -> Self {
        Self { limit, time: self.time, limits: Arc::clone(&self.limits) }
    }

    /// Reads `body` when there is room for it, for which it waits until `patience` is over. Nothing is read before that: the
    /// bytes wait at the client. A body without a declared length reserves its memory step by step while it arrives.
    pub(crate) async fn receive(
        &self,
        body: impl Body<Data = Bytes> + Unpin,
        patience: Instant,
    ) -> Result<Received<'_>, Refused> {
        let declared = body.size_hint().exact().map(|length| usize::try_from(length).unwrap_or(usize::MAX));
        let limit = declared.unwrap_or(self.limit);
        if limit > self.limit {
            return Err(too_large(self.limit));
        }
        let length = declared.unwrap_or(limit.min(FIRST_RESERVATION));
        let share = timeout_at(patience, self.limits.room.reserve(weight(length))).await.ok().flatten();
        let share = share.ok_or_else(no_memory)?;
        let mut reserved = Reserved { share, length, limit, patience };
        let bytes = timeout(self.time, self.read(body, &mut reserved)).await;
        let bytes = bytes.map_err(|_| {
            Refusal::SlowBody
                .because(format!("timeout: the request body took longer than {} ms", self.time.as_millis()))
        })??;
        reserved.share.shrink(weight(bytes.len()));
        Ok(Received { bytes, _share: reserved.share })
    }

    async fn read<'a>(
        &'a self,
        mut body: impl Body<Data = Bytes> + Unpin,
        reserved: &mut Reserved<'a>,
    ) -> Result<Vec<u8>, Refused> {
        let mut bytes = with_room_for(reserved.limit);
        let (mut looked, mut there) = (Instant::now(), 0);
        loop {
            // What has come is looked at first: slow is who keeps waiting for more.
            let Ok(frame) = timeout_at(looked + PERIOD, body.frame()).await else {
                if bytes.len() - there < LEAST && self.limits.room.is_wanted() {
                    return Err(Refusal::SlowBody
                        .because("timeout: the request body came too slowly while other requests waited"));
                }
                (looked, there) = (Instant::now(), bytes.len());
                continue;
            };
            let Some(frame) = frame else { return Ok(bytes) };
            let frame = frame.map_err(|_| {
                Refusal::Unreadable.because("unexpected EOF: the connection ended within the request body")
            })?;
            let Ok(data) = frame.into_data() else { continue };
            let length = bytes.len() + data.len();
            if length > reserved.limit {
                return Err(too_large(reserved.limit));
            }
            if length > reserved.length {
                reserved.grow(length, &self.limits.room).await?;
                // The client did not have to send anything while its body waited for memory.
                (looked, there) = (Instant::now(), bytes.len());
            }
            bytes.extend_from_slice(&data);
        }
    }
}

/// The memory that one body has reserved while it is read.
struct Reserved<'a> {
    share: Share<'a>,
    /// The length of a body that it suffices for.
    length: usize,
    /// The declared length, or the longest that a body without one may become.
    limit: usize,
    /// The body waits for memory until then.
    patience: Instant,
}

impl<'a> Reserved<'a> {
    /// Reserves memory for a body of `length`, and for twice as much as before if the limit allows it.
    async fn grow(&mut self, length: usize, room: &'a Room) -> Result<(), Refused> {
        self.length = self.length.saturating_mul(2).max(length).min(self.limit);
        let grown = timeout_at(self.patience, room.grow(&mut self.share, weight(self.length))).await;
        if grown.unwrap_or_default() { Ok(()) } else { Err(no_memory()) }
    }
}

fn no_memory() -> Refused {
    Refusal::BytesInFlight
        .because("too many requests: no memory was free for the body before half of the timeout; try again")
}

fn too_large(limit: usize) -> Refused {
    Refusal::TooLarge.because(format!("request body too large: the limit is {limit} bytes"))
}

/// Memory is taken as bytes arrive. What is set aside for a large body is mapped for it alone, so that it goes back to the
/// system with it, and what one thread has freed is not kept beside what another takes.
fn with_room_for(length: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let own = if length < LARGE { length } else { length.max(OWN_SPACE) };
    // Where address space is scarce too, the second will do; where that fails, so will what comes.
    if bytes.try_reserve_exact(own).is_err() {
        let _ = bytes.try_reserve_exact(length);
    }
    bytes
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::future::pending;
    use std::iter;
    use std::pin::Pin;
    use std::task::{Context, Poll};
    use std::thread::sleep;

    use hyper::body::Frame;

    use super::*;
    use crate::settings::Settings;

    /// What is there, to a thread that has other work while others wait for room.
    struct LookedAtLate<'a>(Option<Bytes>, &'a Room);

    impl Body for LookedAtLate<'_> {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _context: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            sleep(PERIOD);
            assert!(self.1.is_wanted());
            Poll::Ready(self.0.take().map(|bytes| Ok(Frame::data(bytes))))
        }
    }

    /// A vector that grows is copied to a larger one, and both are in memory meanwhile.
    #[tokio::test]
    async fn a_body_without_a_declared_length_is_never_moved() {
        let limits = Arc::new(Limits::of(&Settings::default()));
        let bodies = Bodies::new(8 << 20, Duration::MAX, limits);
        let Ok(received) = bodies.receive(undeclared(2), Instant::now() + PERIOD).await else {
            panic!("refused")
        };
        assert!(received.bytes.len() == 2 && received.bytes.capacity() >= 8 << 20);
    }

    #[tokio::test]
    async fn a_body_without_a_declared_length_reserves_memory_while_it_arrives() {
        let limits = Arc::new(Limits::of(&Settings::default()));
        let bodies = Bodies::new(28 << 20, Duration::MAX, Arc::clone(&limits));
        let soon = || Instant::now() + PERIOD;
        for mebibytes in [12, 28] {
            let Ok(received) = bodies.receive(undeclared(mebibytes << 20), soon()).await else {
                panic!("{mebibytes} MiB refused")
            };
            assert_eq!(received.bytes.len(), mebibytes << 20);
            // A large body takes room three times; one that is larger than all the room takes all that is not kept for small ones.
            assert_eq!(limits.room.held().0, (3 * mebibytes as u64).min(56) << 20);
            drop(received);
            assert_eq!(limits.room.held().0, 0);
        }
        let Err(refused) = bodies.receive(undeclared((28 << 20) + 1), soon()).await else { panic!("taken") };
        assert_eq!(refused.refusal, Refusal::TooLarge);
        assert_eq!(refused.text, "request body too large: the limit is 29360128 bytes");
        let Some(_most) = limits.room.reserve(50 << 20).await else { panic!("no room") };
        let Err(refused) = bodies.receive(undeclared(4 << 20), soon()).await else { panic!("taken") };
        assert_eq!(refused.refusal, Refusal::BytesInFlight);
        assert_eq!(limits.room.held().0, 50 << 20);
    }

    /// A body of this length in chunks of 64 KiB.
    fn undeclared(length: usize) -> impl Body<Data = Bytes> + Unpin {
        let chunk = Bytes::from_static(&[b' '; 64 << 10]);
        let whole = iter::repeat_n(chunk.clone(), length / chunk.len());
        let chunks = whole.chain([chunk.slice(..length % chunk.len())]);
        Chunks(chunks)
    }

    struct Chunks<I>(I);

    impl<I: Iterator<Item = Bytes> + Unpin> Body for Chunks<I> {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _context: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            Poll::Ready(self.0.next().map(|bytes| Ok(Frame::data(bytes))))
        }
    }

    #[tokio::test]
    async fn what_is_there_is_taken_however_late_it_is_looked_at() {
        let limits = Arc::new(Limits::of(&Settings::default()));
        let bodies = Bodies::new(1, Duration::MAX, Arc::clone(&limits));
        let body = LookedAtLate(Some(Bytes::from_static(b"{")), &limits.room);
        let Some(share) = limits.room.reserve(1).await else { panic!("no room") };
        let mut reserved = Reserved { share, length: 1, limit: 1, patience: Instant::now() };
        let others = async {
            let _all = limits.room.reserve(usize::MAX).await;
            let _more = limits.room.reserve(usize::MAX).await;
            pending::<()>().await;
        };
        tokio::select! {
            biased;
            () = others => {}
            read = bodies.read(body, &mut reserved) => assert!(read.is_ok_and(|bytes| bytes == b"{")),
        }
    }
}
