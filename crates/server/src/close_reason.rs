//! Why a connection ended.

/// Why a connection ended. Each that was accepted ends for one of these.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum CloseReason {
    /// The client left, between requests or in one.
    Client,
    /// It was as old as connections may become; the last answer said so.
    Age,
    /// It rested for too long.
    Idle,
    /// The TLS handshake took too long.
    SlowHandshake,
    /// The TLS handshake failed.
    Handshake,
    /// The head of a request took too long.
    SlowHead,
    /// The body of a request took too long; the last answer was 408.
    SlowBody,
    /// A request was answered without reading its body, or the client is to ask another replica.
    Refused,
    /// What came is no HTTP/1.1, or has a head over the limits; the last answer was 400, 414 or 431.
    Malformed,
    /// The server ends.
    Drain,
    /// It broke.
    Error,
}

impl CloseReason {
    /// All of them.
    pub const ALL: [Self; 11] = [
        Self::Client,
        Self::Age,
        Self::Idle,
        Self::SlowHandshake,
        Self::Handshake,
        Self::SlowHead,
        Self::SlowBody,
        Self::Refused,
        Self::Malformed,
        Self::Drain,
        Self::Error,
    ];

    /// One lower-case word, for metrics.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Client => "client",
            Self::Age => "age",
            Self::Idle => "idle",
            Self::SlowHandshake => "slow_handshake",
            Self::Handshake => "handshake",
            Self::SlowHead => "slow_head",
            Self::SlowBody => "slow_body",
            Self::Refused => "refused",
            Self::Malformed => "malformed",
            Self::Drain => "drain",
            Self::Error => "error",
        }
    }
}
