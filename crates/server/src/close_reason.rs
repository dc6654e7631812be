//! Why a connection ended.

use strum::{IntoStaticStr, VariantArray};

/// Why a connection ended. Each accepted connection ends for exactly one of these reasons.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, IntoStaticStr, VariantArray)]
#[strum(serialize_all = "snake_case")]
#[non_exhaustive]
pub enum CloseReason {
    /// The client closed it, between requests or within one.
    Client,
    /// It reached the maximum age; the last answer said `Connection: close`.
    Age,
    /// It was idle for too long, or was evicted at the connection limit before its first request.
    Idle,
    /// The TLS handshake took too long.
    SlowHandshake,
    /// The TLS handshake failed.
    Handshake,
    /// The head of a request took too long.
    SlowHead,
    /// The body of a request took too long; the last answer was 408.
    SlowBody,
    /// The client did not read an answer.
    SlowRead,
    /// A request was answered without reading its body, or so that the client asks another replica.
    Refused,
    /// The client sent no HTTP/1.1, or a head over the limits; the last answer was 400, 414 or 431.
    Malformed,
    /// The server ended.
    Drain,
    /// Another error of the connection.
    Error,
}

impl CloseReason {
    /// All of them.
    pub const ALL: &[Self] = Self::VARIANTS;

    /// One lower-case word, for metrics.
    pub fn as_str(self) -> &'static str {
        self.into()
    }
}
