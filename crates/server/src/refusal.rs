//! Requests that reach no handler.

use std::borrow::Cow;

use bytes::Bytes;
use http::header::{ALLOW, CONNECTION, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, Response, StatusCode};
use http_body_util::Full;

use crate::CloseReason;
use crate::connection::BodyLeft;

/// Why a request was answered without asking a handler. Each is one short line of text on the wire.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Refusal {
    /// 401: who calls is not known, and has to be ([`ClientAuthentication::Require`](crate::ClientAuthentication::Require)).
    Unauthenticated,
    /// 404: nothing is served at the path; it is compared exactly. 503 with `Retry-After` where another version of the
    /// program may serve it ([`Settings::ask_elsewhere`](crate::Settings::ask_elsewhere)).
    UnknownPath,
    /// 405: hooks take POST only.
    Method,
    /// 415: a content type other than JSON, or a content encoding.
    MediaType,
    /// 413: a body over the limit. A declared length is refused before anything is read.
    TooLarge,
    /// 408: the body did not arrive in time.
    SlowBody,
    /// 400: the body is no review, or broke off.
    Unreadable,
    /// 429 with `Retry-After`: as many requests wait for their handler as may.
    QueueFull,
    /// 429 with `Retry-After`: the request waited for its handler until its deadline.
    DeadlinePassed,
    /// 429 with `Retry-After`: bodies hold as much memory as they may.
    BytesInFlight,
    /// 503 with `Retry-After`: something is still missing.
    NotReady,
}

/// A refusal with the words for the client.
pub(crate) struct Refused {
    pub(crate) refusal: Refusal,
    pub(crate) text: Cow<'static, str>,
    /// Whether some of the request's body is still to come.
    pub(crate) body_left: bool,
    /// Whether another replica may answer: then the API server is told to ask again.
    pub(crate) elsewhere: bool,
}

impl Refusal {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Unauthenticated,
        Self::UnknownPath,
        Self::Method,
        Self::MediaType,
        Self::TooLarge,
        Self::SlowBody,
        Self::Unreadable,
        Self::QueueFull,
        Self::DeadlinePassed,
        Self::BytesInFlight,
        Self::NotReady,
    ];

    /// The HTTP status sent.
    pub fn status(self) -> StatusCode {
        match self {
            Self::Unauthenticated => StatusCode::UNAUTHORIZED,
            Self::UnknownPath => StatusCode::NOT_FOUND,
            Self::Method => StatusCode::METHOD_NOT_ALLOWED,
            Self::MediaType => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            Self::TooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::SlowBody => StatusCode::REQUEST_TIMEOUT,
            Self::Unreadable => StatusCode::BAD_REQUEST,
            Self::QueueFull | Self::DeadlinePassed | Self::BytesInFlight => StatusCode::TOO_MANY_REQUESTS,
            Self::NotReady => StatusCode::SERVICE_UNAVAILABLE,
        }
    }

    /// One lower-case word, for metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Unauthenticated => "unauthenticated",
            Self::UnknownPath => "unknown_path",
            Self::Method => "method",
            Self::MediaType => "media_type",
            Self::TooLarge => "too_large",
            Self::SlowBody => "slow_body",
            Self::Unreadable => "unreadable",
            Self::QueueFull => "queue_full",
            Self::DeadlinePassed => "deadline_passed",
            Self::BytesInFlight => "bytes_in_flight",
            Self::NotReady => "not_ready",
        }
    }

    pub(crate) fn because(self, text: impl Into<Cow<'static, str>>) -> Refused {
        Refused { refusal: self, text: text.into(), body_left: false, elsewhere: false }
    }
}

impl Refused {
    pub(crate) fn with_body_left(self) -> Self {
        Self { body_left: true, ..self }
    }

    pub(crate) fn or_elsewhere(self, elsewhere: bool) -> Self {
        Self { elsewhere, ..self }
    }

    pub(crate) fn response(self) -> Response<Full<Bytes>> {
        let status = if self.elsewhere { StatusCode::SERVICE_UNAVAILABLE } else { self.refusal.status() };
        let mut response = text(status, self.text);
        if self.body_left {
            let reason = match self.refusal {
                Refusal::SlowBody => CloseReason::SlowBody,
                _ => CloseReason::Refused,
            };
            response.extensions_mut().insert(BodyLeft(reason));
        }
        let headers = response.headers_mut();
        match self.refusal {
            // RFC 9110 15.5.2 asks for it.
            Refusal::Unauthenticated => {
                drop(headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer")));
            }
            Refusal::Method => drop(headers.insert(ALLOW, HeaderValue::from_static("POST"))),
            Refusal::QueueFull | Refusal::DeadlinePassed | Refusal::BytesInFlight => {
                headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
            }
            Refusal::NotReady => {
                headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
                // On a connection that is kept, the API server would ask this replica again until its deadline; the next
                // one may lead to another.
                headers.insert(CONNECTION, HeaderValue::from_static("close"));
            }
            Refusal::UnknownPath if self.elsewhere => {
                // The API server asks again at once, over a new connection, which may lead to another replica.
                headers.insert(RETRY_AFTER, HeaderValue::from_static("0"));
                headers.insert(CONNECTION, HeaderValue::from_static("close"));
            }
            _ => {}
        }
        response
    }
}

/// A short line of text.
pub(crate) fn text(status: StatusCode, text: impl Into<Cow<'static, str>>) -> Response<Full<Bytes>> {
    let body = match text.into() {
        Cow::Borrowed(text) => Bytes::from_static(text.as_bytes()),
        Cow::Owned(text) => Bytes::from(text),
    };
    let mut response = Response::new(Full::new(body));
    *response.status_mut() = status;
    response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("text/plain; charset=utf-8"));
    response
}
