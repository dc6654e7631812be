//! One HTTP/1.1 connection from its first byte to its last.

mod age;
mod stage;

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

use self::age::about;
use self::stage::{Patience, Stage, Staged};
use crate::close_reason::CloseReason;
use crate::deadline::after;
use crate::settings::Settings;
use crate::shutdown::{Phase, Phases};
use crate::unasked::Arrival;

/// How long a client that was answered before its body had been read is given to read the answer.
const LINGER: Duration = Duration::from_secs(1);

/// The least that hyper takes for a buffer.
const LEAST_BUFFER: usize = 8 << 10;

/// Makes responses of requests.
pub(crate) trait Respond: Send + Sync + 'static {
    fn respond(&self, request: Request<Incoming>) -> impl Future<Output = Response<Full<Bytes>>> + Send;
}

/// Serves requests until the client or a timeout ends the connection, or the server stops; says which it was. An `arrival`
/// that has to leave before it asks counts as one that rests too long.
pub(crate) async fn serve<I, R>(
    io: I,
    arrival: Option<Arrival>,
    responder: Arc<R>,
    settings: &Settings,
    lingering: &Semaphore,
    phases: Phases,
) -> CloseReason
where
    I: AsyncRead + AsyncWrite + Unpin,
    R: Respond,
{
    let patience = Patience { head: settings.head_timeout, idle: settings.idle_timeout };
    let stage = Arc::new(Stage::new(patience, arrival));
    let old_at = settings.connection_age.map(|age| after(Instant::now(), about(age)));
    let service = Exchange { responder, stage: Arc::clone(&stage), phases: phases.clone(), old_at };
    let io = TokioIo::new(Staged::new(io, Arc::clone(&stage)));
    let mut http = http1::Builder::new();
    http.max_buf_size(settings.max_head.max(LEAST_BUFFER));
    if settings.max_headers != Settings::default().max_headers {
        // hyper has room for its own 100 without asking for any.
        http.max_headers(settings.max_headers);
    }
    let (reason, io) = {
        let mut connection = http.serve_connection(io, service);
        let mut stopping = pin!(phases.reached(Phase::Stopping));
        let mut closing = false;
        let reason = loop {
            tokio::select! {
                ended = poll_fn(|context| connection.poll_without_shutdown(context)) => break match ended {
                    _ if closing => CloseReason::Drain,
                    Ok(()) => stage.announced().unwrap_or(CloseReason::Client),
                    Err(error) => broken(&error),
                },
                () = &mut stopping, if !closing => {
                    closing = true;
                    Pin::new(&mut connection).graceful_shutdown();
                }
                () = stage.has_to_leave() => break CloseReason::Idle,
                () = sleep_until(stage.deadline()) => {
                    if let Some(reason) = stage.overdue() {
                        break reason;
                    }
                }
            }
        };
        (reason, connection.into_parts().io.into_inner())
    };
    let unread = stage.is_body_left() || reason == CloseReason::Malformed;
    end(io, unread, lingering).await;
    reason
}

/// Whoever leaves without a word of TLS (RFC 8446 6.1), as clients do, has left.
fn has_left(error: &hyper::Error) -> bool {
    use std::io::ErrorKind::{BrokenPipe, ConnectionAborted, ConnectionReset, UnexpectedEof};

    let source = error.source().and_then(|source| source.downcast_ref::<std::io::Error>());
    source.is_some_and(|error| {
        matches!(error.kind(), BrokenPipe | ConnectionAborted | ConnectionReset | UnexpectedEof)
    })
}

fn broken(error: &hyper::Error) -> CloseReason {
    if error.is_parse() {
        CloseReason::Malformed
    } else if error.is_incomplete_message() || has_left(error) {
        CloseReason::Client
    } else {
        CloseReason::Error
    }
}

/// So many who were refused are read to their end at a time: all of them would cost more than what was refused.
pub(crate) const MOST_LINGERING: usize = 8;

/// Closing a socket with unread bytes resets it, and the client may then lose the answer it has not read yet.
async fn end(mut io: impl AsyncRead + AsyncWrite + Unpin, linger: bool, lingering: &Semaphore) {
    let farewell = async {
        if io.shutdown().await.is_ok() && linger {
            // Who waits here reads the answer meanwhile, unless it is one that sends everything first.
            let _turn = lingering.acquire().await;
            // Not a part of every connection, as an array would be.
            let mut rest = vec![0; 8192];
            while let Ok(1..) = io.read(&mut rest).await {}
        }
    };
    // Whether the client waits for the end is its own affair.
    let _ = timeout(LINGER, farewell).await;
}

/// What happens around every response, whoever makes it.
struct Exchange<R> {
    responder: Arc<R>,
    stage: Arc<Stage>,
    phases: Phases,
    /// From then on, the next answer is the last one: whoever closes between answers may miss a call on its way.
    old_at: Option<Instant>,
}

impl<R: Respond> Service<Request<Incoming>> for Exchange<R> {
    type Response = Response<Full<Bytes>>;
    type Error = Infallible;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Infallible>> + Send>>;

    fn call(&self, request: Request<Incoming>) -> Self::Future {
        let responder = Arc::clone(&self.responder);
        let stage = Arc::clone(&self.stage);
        let (phases, old_at) = (self.phases.clone(), self.old_at);
        Box::pin(async move {
            stage.request_begins();
            let has_body = !request.body().is_end_stream();
            let mut response = responder.respond(request).await;
            let left = response.extensions().get::<BodyLeft>().filter(|_| has_body).map(|left| left.0);
            let is_old = old_at.is_some_and(|at| at <= Instant::now());
            let last = if phases.is_draining() {
                Some(CloseReason::Drain)
            } else {
                left.or(is_old.then_some(CloseReason::Age))
            };
            if last.is_some() {
                response.headers_mut().insert(CONNECTION, HeaderValue::from_static("close"));
            }
            let is_last = || response.headers().contains_key(CONNECTION).then_some(CloseReason::Refused);
            stage.request_ends(left.is_some(), last.or_else(is_last));
            Ok(response)
        })
    }
}

/// Set as an extension on a response that was made without reading the request's body to its end, for that reason.
#[derive(Clone, Copy)]
pub(crate) struct BodyLeft(pub(crate) CloseReason);
