//! The state of a connection, and how long it may stay in it.
//!
//! hyper's own timeout for heads also runs while the connection is idle, which may last much longer than a head.

use std::future::pending;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, ReadBuf, Take};
use tokio::time::Instant;

use super::MIN_BUFFER;
use crate::close_reason::CloseReason;
use crate::deadline::after;
use crate::idle_eviction::UnusedConnection;

pub(super) struct Timeouts {
    pub(super) head: Duration,
    pub(super) idle: Duration,
    /// How long the client may take to read [`MAX_SMALL`] bytes of an answer.
    pub(super) write: Duration,
}

pub(super) struct State {
    timeouts: Timeouts,
    unused: Option<UnusedConnection>,
    phase: Mutex<Phase>,
    /// Since when a write waits for the client to read.
    stalled: Mutex<Option<Instant>>,
    announced: Mutex<Option<CloseReason>>,
}

#[derive(Clone, Copy)]
enum Phase {
    /// No byte of the next request has arrived.
    Idle { since: Instant },
    /// A part of its head has arrived.
    Head { since: Instant },
    /// The request is answered. The deadline of the call applies.
    Responding { has_long_body: bool },
    /// The last answer was made, and a part of the request body is unread.
    Closing { since: Instant },
}

impl State {
    pub(super) fn new(timeouts: Timeouts, unused: Option<UnusedConnection>) -> Self {
        Self {
            timeouts,
            unused,
            phase: Mutex::new(Phase::Idle { since: Instant::now() }),
            stalled: Mutex::default(),
            announced: Mutex::default(),
        }
    }

    /// A request with a body of this length, if it is known, has arrived in part.
    pub(super) fn request_begins(&self, body: Option<u64>) {
        self.set(Phase::Responding { has_long_body: body.is_none_or(|length| length > MAX_SMALL) });
    }

    /// The answer was made. It is the last one if `last` gives a reason.
    pub(super) fn request_ends(&self, body_left: bool, last: Option<CloseReason>) {
        *self.announced.lock().unwrap_or_else(PoisonError::into_inner) = last;
        let since = Instant::now();
        self.set(if body_left { Phase::Closing { since } } else { Phase::Idle { since } });
    }

    pub(super) fn is_body_left(&self) -> bool {
        matches!(self.get(), Phase::Closing { .. })
    }

    /// The reason why the last answer said `Connection: close`, if it did.
    pub(super) fn announced(&self) -> Option<CloseReason> {
        *self.announced.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The timeout that has passed, if one has.
    pub(super) fn overdue(&self) -> Option<CloseReason> {
        if self.stalled().is_some_and(|since| since.elapsed() >= self.timeouts.write) {
            return Some(CloseReason::SlowRead);
        }
        let (since, limit, reason) = match self.get() {
            Phase::Idle { since } => (since, self.timeouts.idle, CloseReason::Idle),
            Phase::Closing { since } => (since, self.timeouts.idle, CloseReason::Refused),
            Phase::Head { since } => (since, self.timeouts.head, CloseReason::SlowHead),
            Phase::Responding { .. } => return None,
        };
        (since.elapsed() >= limit).then_some(reason)
    }

    /// When to check [`overdue`](Self::overdue) again. The beginning of a head or of a stall wakes no task, so it is checked at least
    /// once per head timeout.
    pub(super) fn deadline(&self) -> Instant {
        let mut next_check = after(Instant::now(), self.timeouts.head);
        if let Some(since) = self.stalled() {
            next_check = next_check.min(after(since, self.timeouts.write));
        }
        match self.get() {
            Phase::Idle { since } | Phase::Closing { since } => {
                next_check.min(after(since, self.timeouts.idle))
            }
            Phase::Head { since } => after(since, self.timeouts.head),
            Phase::Responding { .. } => next_check,
        }
    }

    /// Resolves when the connection is evicted before its first request.
    pub(super) async fn evicted(&self) {
        match &self.unused {
            Some(unused) => unused.evicted().await,
            None => pending().await,
        }
    }

    /// The most bytes that the next read may take.
    fn read_limit(&self) -> u64 {
        if matches!(self.get(), Phase::Responding { has_long_body: true }) { u64::MAX } else { MAX_READ }
    }

    fn bytes_arrived(&self) {
        if let Some(unused) = &self.unused {
            unused.mark_used();
        }
        let mut phase = self.phase.lock().unwrap_or_else(PoisonError::into_inner);
        if let Phase::Idle { .. } = *phase {
            *phase = Phase::Head { since: Instant::now() };
        }
    }

    fn stalled(&self) -> Option<Instant> {
        *self.stalled.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set_stalled(&self, since: Option<Instant>) {
        *self.stalled.lock().unwrap_or_else(PoisonError::into_inner) = since;
    }

    fn get(&self) -> Phase {
        *self.phase.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, to: Phase) {
        *self.phase.lock().unwrap_or_else(PoisonError::into_inner) = to;
    }
}

/// The most bytes of one read, unless a [longer](MAX_SMALL) body is read. hyper reads into a buffer of [`MIN_BUFFER`] at first, doubles
/// the next one when a read fills it, and keeps it while the connection is idle.
const MAX_READ: u64 = MIN_BUFFER as u64 - 1;

/// Reads of [`MAX_READ`] would make longer bodies take a tenth more time.
const MAX_SMALL: u64 = 64 << 10;

/// A stream that tells the connection's state when bytes arrive, and when writes wait for the client.
pub(super) struct TrackedIo<I> {
    io: Take<I>,
    state: Arc<State>,
    /// The bytes that were written since a write had to wait.
    since_stall: Option<usize>,
}

impl<I: AsyncRead> TrackedIo<I> {
    pub(super) fn new(io: I, state: Arc<State>) -> Self {
        Self { io: io.take(MAX_READ), state, since_stall: None }
    }

    /// Notes whether the client reads. A write of [`MAX_SMALL`] bytes ends a stall.
    fn noted(&mut self, outcome: Poll<io::Result<usize>>) -> Poll<io::Result<usize>> {
        match (&outcome, self.since_stall) {
            (Poll::Pending, None) => {
                self.since_stall = Some(0);
                self.state.set_stalled(Some(Instant::now()));
            }
            (Poll::Ready(Ok(written)), Some(before)) => {
                self.since_stall =
                    Some(before.saturating_add(*written)).filter(|&sum| (sum as u64) < MAX_SMALL);
                if self.since_stall.is_none() {
                    self.state.set_stalled(None);
                }
            }
            _ => {}
        }
        outcome
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for TrackedIo<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let limit = self.state.read_limit();
        self.io.set_limit(limit);
        let outcome = Pin::new(&mut self.io).poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.state.bytes_arrived();
        }
        outcome
    }
}

impl<I: AsyncRead + AsyncWrite + Unpin> AsyncWrite for TrackedIo<I> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(self.io.get_mut()).poll_write(context, bytes);
        self.noted(written)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        let flushed = Pin::new(self.io.get_mut()).poll_flush(context);
        // After a flush, nothing waits for the client.
        self.noted(flushed.map_ok(|()| usize::MAX)).map_ok(|_| ())
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(self.io.get_mut()).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        let written = Pin::new(self.io.get_mut()).poll_write_vectored(context, slices);
        self.noted(written)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.get_ref().is_write_vectored()
    }
}

#[cfg(test)]
mod tests {
    use std::pin::pin;
    use std::task::Waker;

    use tokio::io::{AsyncWriteExt, DuplexStream, duplex};

    use super::*;

    fn connection(capacity: usize) -> (Arc<State>, TrackedIo<DuplexStream>, DuplexStream) {
        let (head, idle, write) = (Duration::from_secs(5), Duration::from_secs(120), Duration::ZERO);
        let state = Arc::new(State::new(Timeouts { head, idle, write }, None));
        let (far, near) = duplex(capacity);
        (Arc::clone(&state), TrackedIo::new(near, state), far)
    }

    #[tokio::test]
    async fn a_stall_ends_when_the_client_has_read_64_kib_or_all() {
        const LENGTH: usize = MAX_SMALL as usize;
        let (state, mut io, mut far) = connection(LENGTH);
        let bytes = vec![0; 3 * LENGTH];
        let mut answer = pin!(io.write_all(&bytes));
        let mut poll = || answer.as_mut().poll(&mut Context::from_waker(Waker::noop())).is_pending();
        assert!(state.overdue().is_none() && poll());
        for (read, ends) in [(LENGTH - 1, false), (1, true)] {
            let before = state.stalled();
            far.read_exact(&mut vec![0; read]).await.unwrap();
            assert!(poll());
            assert_eq!(state.stalled() != before, ends);
            assert_eq!(state.overdue(), Some(CloseReason::SlowRead));
        }
        far.read_exact(&mut vec![0; LENGTH]).await.unwrap();
        assert!(!poll() && state.overdue().is_none());
    }

    #[tokio::test]
    async fn reads_are_small_unless_a_body_is_large() {
        let (state, mut io, mut far) = connection(1 << 20);
        let mut buffer = vec![0; 64 << 10];
        far.write_all(&vec![0; 256 << 10]).await.unwrap();
        let small = MIN_BUFFER - 1;
        assert_eq!(io.read(&mut buffer).await.unwrap(), small);
        for (body, read) in
            [(Some(MAX_SMALL), small), (Some(MAX_SMALL + 1), buffer.len()), (None, buffer.len())]
        {
            state.request_begins(body);
            assert_eq!(io.read(&mut buffer).await.unwrap(), read, "{body:?}");
            state.request_ends(false, None);
            assert_eq!(io.read(&mut buffer).await.unwrap(), small, "after {body:?}");
        }
    }
}
