//! Reading a body within its limits.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Body;
use tokio::time::{Instant, timeout, timeout_at};

use crate::load::Limits;
use crate::refusal::{Refusal, Refused};
use crate::room::{LARGE, Share, weight};

/// While others wait for room, whoever has some brings at least [`LEAST`] bytes in each of these: who only holds it
/// against others is given up.
const PERIOD: Duration = Duration::from_secs(1);
const LEAST: usize = 64 << 10;

/// No allocator keeps so much for the next time: glibc's, which learns from what is freed, takes 32 MiB at most from its heaps.
const OWN_SPACE: usize = 33 << 20;

/// The limit of a body that does not declare its length, of which all has to be reserved. API servers declare lengths.
const UNDECLARED: usize = 8 << 20;

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

    /// Reads `body` when there is room for all of it, for which it waits until `patience` is over. Nothing is read before:
    /// what waits, waits at the client.
    pub(crate) async fn receive(
        &self,
        body: impl Body<Data = Bytes> + Unpin,
        patience: Instant,
    ) -> Result<Received<'_>, Refused> {
        let declared = body.size_hint().exact().map(|length| usize::try_from(length).unwrap_or(usize::MAX));
        let length = declared.unwrap_or(self.limit.min(UNDECLARED));
        if length > self.limit {
            return Err(too_large(self.limit));
        }
        let share = timeout_at(patience, self.limits.room.reserve(weight(length))).await.ok().flatten();
        let mut share = share.ok_or_else(|| {
            Refusal::BytesInFlight.because(
                "too many requests: no memory was free for the body before half of the timeout; try again",
            )
        })?;
        let bytes = timeout(self.time, self.read(body, length)).await;
        let bytes = bytes.map_err(|_| {
            Refusal::SlowBody
                .because(format!("timeout: the request body took longer than {} ms", self.time.as_millis()))
        })??;
        share.shrink(weight(bytes.len()));
        Ok(Received { bytes, _share: share })
    }

    async fn read(
        &self,
        mut body: impl Body<Data = Bytes> + Unpin,
        length: usize,
    ) -> Result<Vec<u8>, Refused> {
        let mut bytes = with_room_for(length);
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
            if bytes.len() + data.len() > length {
                return Err(too_large(length));
            }
            bytes.extend_from_slice(&data);
        }
    }
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
    use std::pin::Pin;
    use std::task::{Context, Poll};
    use std::thread::sleep;

    use http_body_util::Full;
    use hyper::body::Frame;

    use super::*;
    use crate::room::Room;
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

    /// What grows is moved to a larger place again and again, and is there twice meanwhile.
    #[tokio::test]
    async fn a_body_that_does_not_say_its_length_has_its_place_at_once() {
        let limits = Arc::new(Limits::of(&Settings::default()));
        let bodies = Bodies::new(8 << 20, Duration::MAX, limits);
        let body = Full::new(Bytes::from_static(b"{}")).map_frame(|frame| frame);
        assert_eq!(body.size_hint().exact(), None);
        let Ok(received) = bodies.receive(body, Instant::now() + PERIOD).await else { panic!("refused") };
        assert!(received.bytes == b"{}" && received.bytes.capacity() >= 8 << 20);
    }

    #[tokio::test]
    async fn what_is_there_is_taken_however_late_it_is_looked_at() {
        let limits = Arc::new(Limits::of(&Settings::default()));
        let bodies = Bodies::new(1, Duration::MAX, Arc::clone(&limits));
        let body = LookedAtLate(Some(Bytes::from_static(b"{")), &limits.room);
        let others = async {
            let _all = limits.room.reserve(usize::MAX).await;
            let _more = limits.room.reserve(usize::MAX).await;
            pending::<()>().await;
        };
        tokio::select! {
            biased;
            () = others => {}
            read = bodies.read(body, 1) => assert!(read.is_ok_and(|bytes| bytes == b"{")),
        }
    }
}
