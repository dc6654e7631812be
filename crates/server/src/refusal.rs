//! Requests that are answered without calling a handler.

use std::borrow::Cow;

use bytes::Bytes;
use http::header::{ALLOW, CONNECTION, CONTENT_TYPE, RETRY_AFTER, WWW_AUTHENTICATE};
use http::{HeaderValue, Response, StatusCode};
use http_body_util::Full;
use strum::{IntoStaticStr, VariantArray};

use crate::close_reason::CloseReason;
use crate::connection::BodyLeft;

/// Why a request was answered without calling a handler. The body of the answer is one line of text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum Refusal {
    /// 401: the client is not authenticated, and must be ([`ClientAuthentication::Require`](crate::ClientAuthentication::Require)).
    Unauthenticated,
    /// 404: no hook has exactly this path. 503 with `Retry-After` if a replica of another version may serve it
    /// ([`Settings::ask_elsewhere`](crate::Settings::ask_elsewhere)).
    UnknownPath,
    /// 405: the method is not POST.
    Method,
    /// 415: a content type other than JSON, or a content encoding.
    MediaType,
    /// 413: the body is over the limit. A declared length is checked before a byte is read.
    TooLarge,
    /// 408: the body did not arrive in time.
    SlowBody,
    /// 400: the body is no review, or ended early.
    Unreadable,
    /// 429 with `Retry-After`: the admission queue is full.
    QueueFull,
    /// 429 with `Retry-After`: the request waited for its handler until the deadline.
    DeadlinePassed,
    /// 429 with `Retry-After`: no memory was free for the body.
    BytesInFlight,
    /// 503 with `Retry-After`: a condition of readiness does not hold.
    NotReady,
}

/// A refusal with its text.
pub(crate) struct Refused {
    pub(crate) refusal: Refusal,
    pub(crate) text: Cow<'static, str>,
    /// Whether a part of the request body is unread.
    pub(crate) body_left: bool,
    /// Whether another replica may answer; the API server is then told to retry.
    pub(crate) elsewhere: bool,
}

impl Refusal {
    /// All of them.
    pub const ALL: &[Self] = Self::VARIANTS;

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
        self.into()
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
            // Required by RFC 9110 section 15.5.2.
            Refusal::Unauthenticated => {
                drop(headers.insert(WWW_AUTHENTICATE, HeaderValue::from_static("Bearer")));
            }
            Refusal::Method => drop(headers.insert(ALLOW, HeaderValue::from_static("POST"))),
            Refusal::QueueFull | Refusal::DeadlinePassed | Refusal::BytesInFlight => {
                headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
            }
            Refusal::NotReady => {
                headers.insert(RETRY_AFTER, HeaderValue::from_static("1"));
                // On a kept connection the API server would retry at this replica until its deadline. A new connection may lead
                // to another replica.
                headers.insert(CONNECTION, HeaderValue::from_static("close"));
            }
            Refusal::UnknownPath if self.elsewhere => {
                // The API server retries at once, over a new connection, which may lead to another replica.
                headers.insert(RETRY_AFTER, HeaderValue::from_static("0"));
                headers.insert(CONNECTION, HeaderValue::from_static("close"));
            }
            _ => {}
        }
        response
    }
}

/// An answer of one line of text.
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
