//! One HTTP/1.1 connection from its first byte to its last.

mod state;

use std::convert::Infallible;
use std::error::Error;
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::header::CONNECTION;
use http::{HeaderValue, Request, Response};
use http_body_util::Full;
use hyper::body::{Body, Incoming};
use hyper::server::conn::http1;
use hyper::service::Service;
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep_until, timeout};

use self::state::{State, Timeouts, TrackedIo};
use crate::close_reason::CloseReason;
use crate::deadline::after;
use crate::idle_eviction::UnusedConnection;
use crate::random::jittered;
use crate::settings::Settings;
use crate::shutdown::Phases;

/// How long a client may take to read an answer that was sent before its request body had been read.
const LINGER: Duration = Duration::from_secs(1);

/// The smallest buffer that hyper takes.
const MIN_BUFFER: usize = 8 << 10;

/// Answers requests.
pub(crate) trait Respond: Send + Sync + 'static {
    fn respond(&self, request: Request<Incoming>) -> impl Future<Output = Response<Full<Bytes>>> + Send;
}

/// Serves requests until the client, a timeout or the end of the server closes the connection, and returns which it was. A
/// connection that is evicted before its first request counts as idle.
pub(crate) async fn serve<I, R>(
    io: I,
    unused: Option<UnusedConnection>,
    responder: Arc<R>,
    settings: &Settings,
    lingering: &Semaphore,
    phases: Phases,
) -> CloseReason
where
    I: AsyncRead + AsyncWrite + Unpin,
    R: Respond,
{
    let timeouts =
        Timeouts { head: settings.head_timeout, idle: settings.idle_timeout, write: settings.body_timeout };
    let state = Arc::new(State::new(timeouts, unused));
    let max_age_at = settings.connection_age.map(|age| after(Instant::now(), jittered(age)));
    let service = Exchange { responder, state: Arc::clone(&state), phases: phases.clone(), max_age_at };
    let io = TokioIo::new(TrackedIo::new(io, Arc::clone(&state)));
    let mut http = http1::Builder::new();
    http.max_buf_size(settings.max_head.max(MIN_BUFFER));
    if settings.max_headers != Settings::default().max_headers {
        // For its default of 100, hyper needs no allocation.
        http.max_headers(settings.max_headers);
    }
    let (reason, io) = {
        let mut connection = http.serve_connection(io, service);
        let mut idle_are_closed = pin!(phases.idle_are_closed());
        let mut closing = false;
        let reason = loop {
            tokio::select! {
                // A request whose head has arrived is answered, and the connection not closed as idle.
                biased;
                ended = poll_fn(|context| connection.poll_without_shutdown(context)) => break match ended {
                    _ if closing => CloseReason::Drain,
                    Ok(()) => state.announced().unwrap_or(CloseReason::Client),
                    Err(error) => reason_of(&error),
                },
                () = &mut idle_are_closed, if !closing => {
                    closing = true;
                    Pin::new(&mut connection).graceful_shutdown();
                }
                () = state.evicted() => break CloseReason::Idle,
                () = sleep_until(state.deadline()) => {
                    if let Some(reason) = state.overdue() {
                        break reason;
                    }
                }
            }
        };
        (reason, connection.into_parts().io.into_inner())
    };
    let unread = state.is_body_left() || reason == CloseReason::Malformed;
    close(io, unread, lingering).await;
    reason
}

/// Whether the client closed the connection, which most do without TLS's `close_notify` (RFC 8446 section 6.1).
fn is_closed_by_client(error: &hyper::Error) -> bool {
    use std::io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};

    let source = error.source().and_then(|source| source.downcast_ref::<std::io::Error>());
    source.is_some_and(|error| {
        matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof)
    })
}

fn reason_of(error: &hyper::Error) -> CloseReason {
    if error.is_parse() {
        CloseReason::Malformed
    } else if error.is_incomplete_message() || is_closed_by_client(error) {
        CloseReason::Client
    } else {
        CloseReason::Error
    }
}

/// The most connections whose unread request bodies are discarded at a time: discarding all at once would cost more than the
/// requests that were refused.
pub(crate) const MAX_LINGERING: usize = 8;

/// Closes the connection. A socket that is closed with unread bytes is reset, and the client may then lose the answer.
async fn close(mut io: impl AsyncRead + AsyncWrite + Unpin, linger: bool, lingering: &Semaphore) {
    let closed = async {
        if io.shutdown().await.is_ok() && linger {
            // The client reads the answer during this wait, unless it sends the whole body first.
            let _permit = lingering.acquire().await;
            // An array would be a part of every connection's future.
            let mut rest = vec![0; 8192];
            while let Ok(1..) = io.read(&mut rest).await {}
        }
    };
    // A client that does not close its side in time is cut off.
    let _ = timeout(LINGER, closed).await;
}

/// Keeps the state of the connection around each answer, and says `Connection: close` in the last one.
struct Exchange<R> {
    responder: Arc<R>,
    state: Arc<State>,
    phases: Phases,
    /// From then on, the next answer is the last one. Closing between answers would lose a call that is already on its way.
    max_age_at: Option<Instant>,
}

impl<R: Respond> Service<Request<Incoming>> for Exchange<R> {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let responder = Arc::clone(&self.responder);
        let state = Arc::clone(&self.state);
        let (phases, max_age_at) = (self.phases.clone(), self.max_age_at);
        Box::pin(async move {
            state.request_begins(request.body().size_hint().exact());
            let has_body = !request.body().is_end_stream();
            let mut response = responder.respond(request).await;
            let left = response.extensions().get::<BodyLeft>().filter(|_| has_body).map(|left| left.0);
            let is_old = max_age_at.is_some_and(|at| at <= Instant::now());
            let last = if phases.is_draining() {
                Some(CloseReason::Drain)
            } else {
                left.or(is_old.then_some(CloseReason::Age))
            };
            if last.is_some() {
                response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            let is_last = || response.headers().contains_key(CONNECTION).then_some(CloseReason::Refused);
            state.request_ends(left.is_some(), last.or_else(is_last));
            Ok(response)
        })
    }
}

/// An extension of responses that were made before the request body was read to its end: the reason to close the connection.
#[derive(Clone, Copy)]
pub(crate) struct BodyLeft(pub(crate) CloseReason);
