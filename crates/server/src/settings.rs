//! The limits, times and addresses of the server.

use std::net::{Ipv6Addr, SocketAddr};
use std::time::Duration;

/// The largest request that kube-apiserver takes from a client: `MaxRequestBodyBytes`.
const LARGEST_REQUEST: usize = 3 << 20;
/// The largest object that etcd stores: `--max-request-bytes`. The old object of an update is no larger.
const LARGEST_STORED: usize = 3 << 19;
/// The bytes that Go's encoding/json writes for `<`, `>` and `&`: `\u003c` and so on.
const ESCAPED: usize = 6;
/// The rest of a review: the user and its groups, names, options, and the fields that the API server adds to an object.
const ENVELOPE: usize = 1 << 20;
/// The largest review of an API server with default limits (docs/reference/limits.md, The largest review).
const LARGEST_REVIEW: usize = ESCAPED * (LARGEST_REQUEST + LARGEST_STORED) + ENVELOPE;

/// Limits, times and addresses. The defaults are for a webhook behind a Service.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Settings {
    /// The address of the HTTPS port; port 0 takes a free one. `[::]:10250`: the port that the firewalls of managed control planes
    /// let through.
    pub listen: SocketAddr,
    /// The address at which `/livez`, `/readyz`, `/startupz` and `/metrics` are served without TLS. None by default.
    pub probes: Option<SocketAddr>,
    /// Whether `/livez`, `/readyz` and `/startupz` are served on the HTTPS port too. Off by default.
    pub probes_over_https: bool,
    /// The oldest TLS version accepted. 1.2, the oldest that kube-apiserver offers.
    pub tls_min: TlsVersion,
    /// The most open connections. At this number the oldest one without a request is closed, or new ones wait in the backlog. 4096,
    /// 20 to 30 KB each when idle after bodies of up to 64 KiB. One API server was seen to open 700.
    pub max_connections: usize,
    /// The most connections whose handshake is not done. 1024; one more evicts the one that has been silent longest, or the oldest
    /// one if few are silent.
    pub max_handshakes: usize,
    /// The time from accept to the end of the handshake; its first byte must arrive in half of it. 10 s, the API server's own limit.
    pub handshake_timeout: Duration,
    /// The time from the first byte of a request to the end of its head. 5 s; the API server sends heads whole.
    pub head_timeout: Duration,
    /// The time from the moment at which a body has its memory to its end. 10 s; while other bodies wait for memory, it must bring at
    /// least 64 KiB per second.
    pub body_timeout: Duration,
    /// How long a connection may be idle between requests. 120 s: kube-apiserver closes its idle connections after 90 s, and a server
    /// that closes first makes a call fail that is being sent.
    pub idle_timeout: Duration,
    /// The maximum age of a connection, with 20 % jitter: the next answer says `Connection: close`, so that new replicas get their
    /// share of the calls. Zero closes after each answer, [`None`] never. 5 min.
    pub connection_age: Option<Duration>,
    /// The largest head, in bytes, and the most that is read ahead of the handler; at least 8 KiB. 64 KiB: the API server's heads are
    /// below 1 KiB, plus tracing headers of its callers and a bearer token.
    pub max_head: usize,
    /// The most header fields of a request. 100.
    pub max_headers: usize,
    /// The largest body of a review, in bytes. 28 MiB: an API server with default limits sends no larger one. It takes 3 MiB from its
    /// clients, stores objects of 1.5 MiB, and writes `<`, `>` and `&` as six bytes each; 1 MiB is for the rest of the review.
    pub max_body: usize,
    /// The largest body of a conversion, in bytes. 64 MiB: all objects of a list are converted in one review.
    pub max_conversion_body: usize,
    /// The most levels of JSON of an object under review; a deeper object is a fault. By default, 127 if the object is decoded into a
    /// type, which is serde_json's limit, and no limit otherwise.
    pub max_depth: Option<usize>,
    /// The memory that all bodies may take together, in bytes. 64 MiB, an eighth of it for bodies below 64 KiB. A body is read when
    /// memory is free for all of it. It waits for that until half of its timeout, and is then refused with 429; it is refused at
    /// once if 64 bodies wait. A body of 1 MiB or more takes three times its length, for the copies that handlers make; 8 MiB of such
    /// bodies are processed at a time, or one larger body. A body that needs more than all the memory passes alone.
    pub max_bodies: usize,
    /// The most handlers that have begun and not ended. 512.
    pub max_running: usize,
    /// The most handlers that compute at a time; the others await something, or a CPU permit. By default one less than the runtime's
    /// threads and at least one: reading and refusing requests needs a thread too. One handler of a body of 1 MiB or more computes
    /// beside them, on a thread that the runtime replaces meanwhile.
    pub max_computing: Option<usize>,
    /// The most requests that wait for their handler to begin; further ones are refused with 429 at once. 512, and fewer if handlers
    /// are too slow for the [latency budget](Self::latency_budget).
    pub max_waiting: usize,
    /// How long a request may wait in the queue: no more requests may wait than handlers complete in this time, as measured, but
    /// always 8. 500 ms: the API server repeats a refused call after one second, so any shorter wait is better for it.
    pub latency_budget: Duration,
    /// Whether an unknown path is answered with 503 and `Retry-After: 0` instead of 404, so that the API server retries at another
    /// replica. For webhooks that register themselves: a replica that cannot reach the API server and still serves may be called for
    /// a hook of the next version. Off by default.
    pub ask_elsewhere: bool,
    /// How long a draining server accepts connections: until every API server knows that the endpoint is removed. 10 s.
    pub drain_delay: Duration,
    /// The time from the start of a drain to the end of the server, even if connections are open; idle ones are closed up to one second
    /// before. 95 s: the API server closes its idle connections after 90 s.
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
