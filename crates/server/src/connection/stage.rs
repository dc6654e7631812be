//! Where a connection is between two requests, and for how long it may stay there.
//!
//! hyper's own timeout for heads also runs while the connection rests, where much more patience is due.

use std::future::pending;
use std::io;
use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::Instant;

use crate::close_reason::CloseReason;
use crate::deadline::after;
use crate::unasked::Arrival;

pub(super) struct Patience {
    pub(super) head: Duration,
    pub(super) idle: Duration,
}

pub(super) struct Stage {
    patience: Patience,
    arrival: Option<Arrival>,
    now: Mutex<Now>,
    announced: Mutex<Option<CloseReason>>,
}

#[derive(Clone, Copy)]
enum Now {
    /// No byte of the next request has come.
    Resting { since: Instant },
    /// Some of its head has come.
    Head { since: Instant },
    /// A response is being made. Its own deadlines apply.
    Responding,
    /// The last response was made, with some of the request's body unread.
    Leaving { since: Instant },
}

impl Stage {
    pub(super) fn new(patience: Patience, arrival: Option<Arrival>) -> Self {
        Self {
            patience,
            arrival,
            now: Mutex::new(Now::Resting { since: Instant::now() }),
            announced: Mutex::default(),
        }
    }

    pub(super) fn request_begins(&self) {
        self.set(Now::Responding);
    }

    /// Its response was made: the last one, if there is a reason.
    pub(super) fn request_ends(&self, body_left: bool, last: Option<CloseReason>) {
        *self.announced.lock().unwrap_or_else(PoisonError::into_inner) = last;
        let since = Instant::now();
        self.set(if body_left { Now::Leaving { since } } else { Now::Resting { since } });
    }

    pub(super) fn is_body_left(&self) -> bool {
        matches!(self.get(), Now::Leaving { .. })
    }

    /// Why the last response was the last one, if it was.
    pub(super) fn announced(&self) -> Option<CloseReason> {
        *self.announced.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What has taken too long, if anything has.
    pub(super) fn overdue(&self) -> Option<CloseReason> {
        let (since, limit, reason) = match self.get() {
            Now::Resting { since } => (since, self.patience.idle, CloseReason::Idle),
            Now::Leaving { since } => (since, self.patience.idle, CloseReason::Refused),
            Now::Head { since } => (since, self.patience.head, CloseReason::SlowHead),
            Now::Responding => return None,
        };
        (since.elapsed() >= limit).then_some(reason)
    }

    /// When to look again. Nobody is woken when a head begins, so it is looked for at least once in its time.
    pub(super) fn deadline(&self) -> Instant {
        let next_look = after(Instant::now(), self.patience.head);
        match self.get() {
            Now::Resting { since } | Now::Leaving { since } => {
                next_look.min(after(since, self.patience.idle))
            }
            Now::Head { since } => after(since, self.patience.head),
            Now::Responding => next_look,
        }
    }

    /// Resolves when others have a better claim to its place.
    pub(super) async fn has_to_leave(&self) {
        match &self.arrival {
            Some(arrival) => arrival.leaves().await,
            None => pending().await,
        }
    }

    fn bytes_arrived(&self) {
        if let Some(arrival) = &self.arrival {
            arrival.asks();
        }
        let mut now = self.now.lock().unwrap_or_else(PoisonError::into_inner);
        if let Now::Resting { .. } = *now {
            *now = Now::Head { since: Instant::now() };
        }
    }

    fn get(&self) -> Now {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn set(&self, to: Now) {
        *self.now.lock().unwrap_or_else(PoisonError::into_inner) = to;
    }
}

/// A stream that tells its stage when bytes arrive.
pub(super) struct Staged<I> {
    io: I,
    stage: Arc<Stage>,
}

impl<I> Staged<I> {
    pub(super) fn new(io: I, stage: Arc<Stage>) -> Self {
        Self { io, stage }
    }
}

impl<I: AsyncRead + Unpin> AsyncRead for Staged<I> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        let outcome = Pin::new(&mut self.io).poll_read(context, buffer);
        if buffer.filled().len() > before {
            self.stage.bytes_arrived();
        }
        outcome
    }
}

impl<I: AsyncWrite + Unpin> AsyncWrite for Staged<I> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.io).poll_shutdown(context)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[io::IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.io).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.io.is_write_vectored()
    }
}
