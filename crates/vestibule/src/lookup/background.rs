//! Tasks that are aborted when their handle is dropped.

use std::pin::Pin;
use std::task::{Context, Poll};

use tokio::task::{JoinError, JoinHandle};

/// A task that is aborted when this is dropped.
pub(super) struct Background<A>(JoinHandle<A>);

impl<A: Send + 'static> Background<A> {
    pub(super) fn start(task: impl Future<Output = A> + Send + 'static) -> Self {
        Self(tokio::spawn(task))
    }
}

impl<A> Future for Background<A> {
    type Output = Result<A, JoinError>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Self::Output> {
        Pin::new(&mut self.0).poll(context)
    }
}

impl<A> Drop for Background<A> {
    fn drop(&mut self) {
        self.0.abort();
    }
}
