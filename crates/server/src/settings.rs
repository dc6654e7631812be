//! Every limit of the server, in one place.

use std::net::{Ipv6Addr, SocketAddr};
use std::time::Duration;

/// What kube-apiserver takes from a client: `MaxRequestBodyBytes`.
const LARGEST_REQUEST: usize = 3 << 20;
/// What etcd takes of it: `--max-request-bytes`. It is the most that an object which is updated was before.
const LARGEST_STORED: usize = 3 << 19;
/// What encoding/json makes of `<`, `>` and `&`: `\u003c` and so on.
const ESCAPED: usize = 6;
/// The rest of a review: the user and its groups, names, options, and what the API server itself adds to an object.
const ENVELOPE: usize = 1 << 20;
/// The largest review of an API server with default limits (docs/reference/limits.md, The largest review).
const LARGEST_REVIEW: usize = ESCAPED * (LARGEST_REQUEST + LARGEST_STORED) + ENVELOPE;

/// Limits, times and addresses. The defaults are right for a webhook behind a Service; the reasons are beside them.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// Where HTTPS is served; port 0 takes a free one. `[::]:10250`: the port that managed control planes are allowed
    /// to reach.
    pub listen: SocketAddr,
    /// Where `/livez`, `/readyz`, `/startupz` and `/metrics` are served without TLS. Nowhere, unless set.
    pub probes: Option<SocketAddr>,
    /// Whether `/livez`, `/readyz` and `/startupz` are served on the HTTPS port too, for whoever can ask nowhere else. Not unless set.
    pub probes_over_https: bool,
    /// The oldest TLS accepted. 1.2, as kube-apiserver offers it.
    pub tls_min: TlsVersion,
    /// Connections held at a time; further ones wait to be accepted. 4096, about 30 KB each when idle. One API server
    /// was seen to open 700.
    pub max_connections: usize,
    /// Connections whose handshake is not done. 1024; when one more comes, the one goes that has been silent longest,
    /// or the oldest where few are silent.
    pub max_handshakes: usize,
    /// From accept to the end of the handshake, and twice the time to its first byte. 10 s, the API server's own limit; it
    /// begins at once.
    pub handshake_timeout: Duration,
    /// From the first byte of a request to the end of its head. 5 s; the API server sends heads whole.
    pub head_timeout: Duration,
    /// From the moment there is room for a body to its end. 10 s; while others wait for room, whoever has it sends at
    /// least 64 KiB in each second.
    pub body_timeout: Duration,
    /// How long a connection may rest between requests. 120 s: kube-apiserver closes its own after 90 s, and a server
    /// that closes first fails the call that is just being sent.
    pub idle_timeout: Duration,
    /// How old a connection may become, 20 % more or less by chance: the answer after that says `Connection: close`, so
    /// that new replicas get their share of the calls. Zero closes after each answer, [`None`] after none. 5 min.
    pub connection_age: Option<Duration>,
    /// The largest head, in bytes, and the most that is read ahead of the handler; 8 KiB at least. 64 KiB: the API server's
    /// heads are below 1 KiB, to which tracing headers of its callers and a bearer token may add some.
    pub max_head: usize,
    /// The most header fields of a request. 100.
    pub max_headers: usize,
    /// The largest body of a review, in bytes. 28 MiB: an API server with default limits sends no larger one. It takes 3 MiB
    /// from its clients, stores objects of 1.5 MiB, and writes a byte as six where it is `<`, `>` or `&`; 1 MiB is for the rest of
    /// the review.
    pub max_body: usize,
    /// The largest body of a conversion, in bytes. 64 MiB: a list that is read in another version comes whole.
    pub max_conversion_body: usize,
    /// The most levels of JSON that an object under review may have; one that nests deeper is a fault. Unless set, 127 where it is
    /// decoded into a type, which is as deep as serde_json reads, and any number where nobody decodes it.
    pub max_depth: Option<usize>,
    /// The most that bodies may hold in memory together, in bytes. 64 MiB, an eighth of it for bodies below 64 KiB. A
    /// body is read when there is room for all of it; it waits for that until half of its time is over, and is then
    /// turned away with 429, and so is whoever finds 64 waiting. One from 1 MiB on takes room thrice, for what handlers make
    /// of it; of such bodies handlers get 8 MiB at a time, or one that is larger. One that is larger than all the room passes alone.
    pub max_bodies: usize,
    /// Handlers that have begun and not ended. 512.
    pub max_running: usize,
    /// Handlers that compute at a time; the others await something, or their turn. One less than the runtime has threads
    /// and at least one, unless set: who reads and refuses needs one too. Of those whose body has 1 MiB or more, one computes
    /// beside them, on a thread that the runtime replaces meanwhile.
    pub max_computing: Option<usize>,
    /// Requests that wait until their handler begins; further ones are turned away with 429 at once. 512, and fewer where
    /// handlers are too slow for the [latency budget](Self::latency_budget).
    pub max_waiting: usize,
    /// How long a request may wait for its handler in the queue: no more are let wait than handlers get done in this time,
    /// as measured, but always 8. 500 ms: whoever is turned away comes again after a whole second, so that a shorter wait is
    /// the better one for the caller.
    pub latency_budget: Duration,
    /// Whether a path that is unknown here is answered with 503 and `Retry-After: 0` instead of 404, so that the API server
    /// asks another replica. For webhooks that register themselves: a replica that is cut off from the API server and still
    /// serves may be asked for a hook of the next version. Off, unless set.
    pub ask_elsewhere: bool,
    /// How long a draining server still accepts connections: until every API server knows that the endpoint is gone.
    /// 10 s.
    pub drain_delay: Duration,
    /// From the start of a drain to the end, whatever is still open. 95 s: longer than the API server keeps an idle
    /// connection, so that it is the one who closes.
    pub drain_timeout: Duration,
}

/// A version of TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TlsVersion {
    /// TLS 1.2 (RFC 5246)
    V1_2,
    /// TLS 1.3 (RFC 8446)
    V1_3,
}

impl Default for Settings {
    fn default() -> Self {
        let seconds = Duration::from_secs;
        Self {
            listen: SocketAddr::from((Ipv6Addr::UNSPECIFIED, 10250)),
            probes: None,
            probes_over_https: false,
            tls_min: TlsVersion::V1_2,
            max_connections: 4096,
            max_handshakes: 1024,
            handshake_timeout: seconds(10),
            head_timeout: seconds(5),
            body_timeout: seconds(10),
            idle_timeout: seconds(120),
            connection_age: Some(seconds(5 * 60)),
            max_head: 64 << 10,
            max_headers: 100,
            max_body: LARGEST_REVIEW,
            max_conversion_body: 64 << 20,
            max_depth: None,
            max_bodies: 64 << 20,
            max_running: 512,
            max_computing: None,
            max_waiting: 512,
            latency_budget: Duration::from_millis(500),
            ask_elsewhere: false,
            drain_delay: seconds(10),
            drain_timeout: seconds(95),
        }
    }
}
