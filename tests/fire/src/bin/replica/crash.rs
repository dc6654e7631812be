//! A client that aborts the process at a chosen write.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::{Context, Poll};

use clap::Args;
use http::{Method, Request};
use tower::{Layer, Service};

/// The write at which the process aborts. Writes of the Secret and of configurations count, from 1.
#[derive(Clone, Copy, Args)]
pub(crate) struct CrashPoint {
    /// Abort instead of sending the n-th write
    #[arg(long, value_name = "N")]
    die_before: Option<usize>,
    /// Abort when the n-th write was answered, before the answer is read
    #[arg(long, value_name = "N")]
    die_after: Option<usize>,
}

impl<S> Layer<S> for CrashPoint {
    type Service = CrashingClient<S>;

    fn layer(&self, inner: S) -> CrashingClient<S> {
        CrashingClient { inner, crash: *self, writes: Arc::default() }
    }
}

/// A client that counts its writes.
pub(crate) struct CrashingClient<S> {
    inner: S,
    crash: CrashPoint,
    writes: Arc<AtomicUsize>,
}

impl<S, B> Service<Request<B>> for CrashingClient<S>
where
    S: Service<Request<B>>,
    S::Future: Send + 'static,
{
    type Response = S::Response;
    type Error = S::Error;
    type Future = Pin<Box<dyn Future<Output = Result<S::Response, S::Error>> + Send>>;

    fn poll_ready(&mut self, context: &mut Context<'_>) -> Poll<Result<(), Self::Error>> {
        self.inner.poll_ready(context)
    }

    fn call(&mut self, request: Request<B>) -> Self::Future {
        let number = is_write(&request).then(|| self.writes.fetch_add(1, Ordering::SeqCst) + 1);
        let is_at = |fatal: Option<usize>| number.is_some() && number == fatal;
        if is_at(self.crash.die_before) {
            std::process::abort();
        }
        let dies = is_at(self.crash.die_after);
        let answer = self.inner.call(request);
        Box::pin(async move {
            let answer = answer.await;
            if dies {
                std::process::abort();
            }
            answer
        })
    }
}

/// Whether the request writes the Secret or a configuration; Events do not count.
fn is_write<B>(request: &Request<B>) -> bool {
    let writes = [Method::POST, Method::PUT, Method::PATCH].contains(request.method());
    writes && !request.uri().path().contains("/events")
}
