//! Reads a request body within its limits.

use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::Body;
use tokio::time::{Instant, timeout, timeout_at};

use crate::body_memory::{BodyMemory, LARGE, Reservation, memory_for};
use crate::limits::Limits;
use crate::refusal::{Refusal, Refused};

/// While other bodies wait for memory, a body must bring [`MIN_PROGRESS`] bytes in each of these periods, or it is refused: it holds
/// memory that others need.
const PERIOD: Duration = Duration::from_secs(1);
const MIN_PROGRESS: usize = 64 << 10;

/// An allocation of this size goes back to the operating system when it is freed. glibc raises its threshold for that to at most
/// 32 MiB.
const OWN_MAPPING: usize = 33 << 20;

/// The length for which a body without a declared length reserves memory at first. Each time the body outgrows its reservation, it
/// reserves twice as much, up to the limit.
const FIRST_RESERVATION: usize = LARGE;

/// Reads bodies into the server's [`BodyMemory`].
pub(crate) struct BodyReader {
    time: Duration,
    limits: Arc<Limits>,
}

/// A whole body; its memory is given back when it is dropped.
pub(crate) struct ReceivedBody<'a> {
    pub(crate) bytes: Vec<u8>,
    pub(crate) memory: Reservation<'a>,
}

impl BodyReader {
    pub(crate) fn new(time: Duration, limits: Arc<Limits>) -> Self {
        Self { time, limits }
    }

    /// Waits until `patience` for memory for the whole body, then reads it; until then its bytes stay at the client. A body over
    /// `max` is refused. A body without a declared length reserves memory step by step while it arrives.
    pub(crate) async fn receive(
        &self,
        body: impl Body<Data = Bytes> + Unpin,
        max: usize,
        patience: Instant,
    ) -> Result<ReceivedBody<'_>, Refused> {
        let declared = body.size_hint().exact().map(|length| usize::try_from(length).unwrap_or(usize::MAX));
        let limit = declared.unwrap_or(max);
        if limit > max {
            return Err(too_large(max));
        }
        let length = declared.unwrap_or(limit.min(FIRST_RESERVATION));
        let memory = timeout_at(patience, self.limits.body_memory.reserve(memory_for(length))).await;
        let memory = memory.ok().flatten().ok_or_else(no_memory)?;
        let mut reserved = Reserved { memory, length, limit, patience };
        let bytes = timeout(self.time, self.read(body, &mut reserved)).await;
        let bytes = bytes.map_err(|_| {
            Refusal::SlowBody
                .because(format!("timeout: the request body took longer than {} ms", self.time.as_millis()))
        })??;
        reserved.memory.shrink(memory_for(bytes.len()));
        Ok(ReceivedBody { bytes, memory: reserved.memory })
    }

    async fn read<'a>(
        &'a self,
        mut body: impl Body<Data = Bytes> + Unpin,
        reserved: &mut Reserved<'a>,
    ) -> Result<Vec<u8>, Refused> {
        let memory = &self.limits.body_memory;
        let mut bytes = with_capacity(reserved.limit);
        let (mut checked, mut before) = (Instant::now(), 0);
        loop {
            // A frame that is there is taken before the time is looked at: a thread that was busy does not make the client slow.
            let Ok(frame) = timeout_at(checked + PERIOD, body.frame()).await else {
                if bytes.len() - before < MIN_PROGRESS && memory.has_waiters() {
                    return Err(Refusal::SlowBody
                        .because("timeout: the request body came too slowly while other requests waited"));
                }
                (checked, before) = (Instant::now(), bytes.len());
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
                reserved.enlarge(length, memory).await?;
                // The body waited for memory, so the client could not make progress.
                (checked, before) = (Instant::now(), bytes.len());
            }
            bytes.extend_from_slice(&data);
        }
    }
}

/// The memory that one body has reserved while it is read.
struct Reserved<'a> {
    memory: Reservation<'a>,
    /// The length of a body for which the memory suffices.
    length: usize,
    /// The declared length; without one, the limit of all bodies.
    limit: usize,
    /// The body waits for memory until then.
    patience: Instant,
}

impl<'a> Reserved<'a> {
    /// Reserves memory for a body of `length`, and for twice the reserved length if the limit allows it.
    async fn enlarge(&mut self, length: usize, memory: &'a BodyMemory) -> Result<(), Refused> {
        self.length = self.length.saturating_mul(2).max(length).min(self.limit);
        let enlarged = memory.enlarge(&mut self.memory, memory_for(self.length));
        match timeout_at(self.patience, enlarged).await {
            Ok(true) => Ok(()),
            Ok(false) | Err(_) => Err(no_memory()),
        }
    }
}

fn no_memory() -> Refused {
    Refusal::BytesInFlight
        .because("too many requests: no memory was free for the body before half of the timeout; try again")
}

fn too_large(limit: usize) -> Refused {
    Refusal::TooLarge.because(format!("request body too large: the limit is {limit} bytes"))
}

/// An empty vector for a body of up to `length` bytes. Pages are taken from the system as bytes arrive. A large body gets a mapping of
/// its own, so that its memory goes back to the system with it instead of staying in the heap of one thread.
fn with_capacity(length: usize) -> Vec<u8> {
    let mut bytes = Vec::new();
    let own = if length < LARGE { length } else { length.max(OWN_MAPPING) };
    // With little address space the exact length is tried; if that fails too, the vector grows as bytes arrive.
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

    /// A body that is ready, and that its thread polls late while other bodies wait for memory.
    struct SlowlyPolled<'a>(Option<Bytes>, &'a BodyMemory);

    impl Body for SlowlyPolled<'_> {
        type Data = Bytes;
        type Error = Infallible;

        fn poll_frame(
            mut self: Pin<&mut Self>,
            _context: &mut Context<'_>,
        ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
            sleep(PERIOD);
            assert!(self.1.has_waiters());
            Poll::Ready(self.0.take().map(|bytes| Ok(Frame::data(bytes))))
        }
    }

    /// A vector that grows is copied to a larger one, and both are in memory meanwhile.
    #[tokio::test]
    async fn a_body_without_a_declared_length_is_never_moved() {
        let limits = Arc::new(Limits::of(&Settings::default()));
        let reader = BodyReader::new(Duration::MAX, limits);
        let Ok(received) = reader.receive(undeclared(2), 8 << 20, Instant::now() + PERIOD).await else {
            panic!("refused")
        };
        assert!(received.bytes.len() == 2 && received.bytes.capacity() >= 8 << 20);
    }

    #[tokio::test]
    async fn a_body_without_a_declared_length_reserves_memory_while_it_arrives() {
        let limits = Arc::new(Limits::of(&Settings::default()));
        let reader = BodyReader::new(Duration::MAX, Arc::clone(&limits));
        let soon = || Instant::now() + PERIOD;
        for mebibytes in [12, 28] {
            let Ok(received) = reader.receive(undeclared(mebibytes << 20), 28 << 20, soon()).await else {
                panic!("{mebibytes} MiB refused")
            };
            assert_eq!(received.bytes.len(), mebibytes << 20);
            // A large body takes room three times; one that is larger than all the room takes all that is not kept for small ones.
            assert_eq!(limits.body_memory.usage().0, (3 * mebibytes as u64).min(56) << 20);
            drop(received);
            assert_eq!(limits.body_memory.usage().0, 0);
        }
        let Err(refused) = reader.receive(undeclared((28 << 20) + 1), 28 << 20, soon()).await else {
            panic!("taken")
        };
        assert_eq!(refused.refusal, Refusal::TooLarge);
        assert_eq!(refused.text, "request body too large: the limit is 29360128 bytes");
        let Some(_most) = limits.body_memory.reserve(50 << 20).await else { panic!("no memory") };
        let Err(refused) = reader.receive(undeclared(4 << 20), 28 << 20, soon()).await else {
            panic!("taken")
        };
        assert_eq!(refused.refusal, Refusal::BytesInFlight);
        assert_eq!(limits.body_memory.usage().0, 50 << 20);
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
    async fn a_frame_that_is_ready_is_taken_however_late_it_is_polled() {
        let limits = Arc::new(Limits::of(&Settings::default()));
        let reader = BodyReader::new(Duration::MAX, Arc::clone(&limits));
        let body = SlowlyPolled(Some(Bytes::from_static(b"{")), &limits.body_memory);
        let Some(memory) = limits.body_memory.reserve(1).await else { panic!("no memory") };
        let mut reserved = Reserved { memory, length: 1, limit: 1, patience: Instant::now() };
        let others = async {
            let _all = limits.body_memory.reserve(usize::MAX).await;
            let _more = limits.body_memory.reserve(usize::MAX).await;
            pending::<()>().await;
        };
        tokio::select! {
            biased;
            () = others => {}
            read = reader.read(body, &mut reserved) => assert!(read.is_ok_and(|bytes| bytes == b"{")),
        }
    }
}
