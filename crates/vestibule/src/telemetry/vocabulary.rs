//! Every metric that the framework serves, in one table: it is what registers them, what docs/reference/metrics.md is
//! written from, and what alerts and the dashboard are checked against.

use vestibule_server::Load;

use super::family::{MetricFamily, MetricLabel};

const HOOK: MetricLabel = MetricLabel::of_each("webhook", "hook and conversion of the app");
const OPERATION: MetricLabel =
    MetricLabel::closed("operation", &["CREATE", "UPDATE", "DELETE", "CONNECT", "CONVERT"]);
const DECISION: MetricLabel = MetricLabel::closed(
    "decision",
    &["allowed", "mutated", "denied", "fault", "not_ready", "converted", "unconvertible"],
);
const FAULT_OR_NONE: MetricLabel =
    MetricLabel::closed("reason", &["", "error", "undecodable", "panic", "deadline", "patch"]);
/// The reason of undecided calls whose caller closed the connection.
pub(super) const ABANDONED: &str = "abandoned";
pub(super) const UNDECIDED_BY: [&str; 6] = ["error", "undecodable", "panic", "deadline", "patch", ABANDONED];
pub(super) const REFUSALS: [&str; 11] = [
    "unauthenticated",
    "unknown_path",
    "method",
    "media_type",
    "too_large",
    "slow_body",
    "unreadable",
    "queue_full",
    "deadline_passed",
    "bytes_in_flight",
    "not_ready",
];
pub(super) const CLOSED_BY: [&str; 11] = [
    "client",
    "age",
    "idle",
    "slow_handshake",
    "handshake",
    "slow_head",
    "slow_body",
    "refused",
    "malformed",
    "drain",
    "error",
];
pub(super) const CLIENT_KINDS: [&str; 4] = ["none", "certificate", "token", "invalid"];
/// Why the credentials of a client are not valid; empty if they are valid, or if there are none.
pub(super) const DOUBTS: [&str; 11] = [
    "",
    "unreadable",
    "signature",
    "unknown_authority",
    "purpose",
    "expired",
    "not_yet_valid",
    "name",
    "unknown_key",
    "issuer",
    "audience",
];
const WHAT: MetricLabel = MetricLabel::closed("what", &Load::WHAT);
const ROLE: MetricLabel = MetricLabel::closed("role", &["leaf", "active", "next", "retired", "foreign"]);
const ROTATION: MetricLabel = MetricLabel::closed(
    "result",
    &[
        "renewed", "created", "restored", "grafted", "held", "promoted", "removed", "revoked", "repaired",
        "failed",
    ],
);
const REGISTRATION_KIND: MetricLabel =
    MetricLabel::closed("kind", &["mutating", "validating", "crd", "apiservice"]);
const REGISTRATION: MetricLabel = MetricLabel::of_each("name", "configuration of `--registration`");
/// Why a rotation that is due does not happen: see [`Status::blocked`](vestibule_identity::Status::blocked).
pub(super) const BLOCKED_BY: [&str; 5] = ["hold", "clock", "denied", "newer_schema", "ring_write"];
const LOOKED_UP: MetricLabel = MetricLabel::of_each("kind", "type that the app watches");

pub(super) const READY: MetricFamily =
    MetricFamily::gauge("ready", "Whether `/readyz` is well, a drain aside; it says itself what is missing");
pub(super) const REQUESTS: MetricFamily =
    MetricFamily::counter("admission_requests", "Decisions of hooks and conversions").labels(&[
        HOOK,
        OPERATION,
        DECISION,
        FAULT_OR_NONE,
    ]);
pub(super) const DURATION: MetricFamily =
    MetricFamily::histogram("admission_duration", "From a request's head to its answer")
        .seconds()
        .labels(&[HOOK]);
pub(super) const UNDECIDED: MetricFamily = MetricFamily::counter(
    "admission_undecided",
    "Calls that reached a hook or its queue and got no verdict, so that failurePolicy decided",
)
.labels(&[HOOK, MetricLabel::closed("reason", &UNDECIDED_BY)]);
pub(super) const PANICS: MetricFamily =
    MetricFamily::counter("panics", "Handlers that panicked; the process goes on").labels(&[HOOK]);
pub(super) const REFUSED: MetricFamily =
    MetricFamily::counter("admission_refused", "Requests answered without asking a hook")
        .labels(&[MetricLabel::closed("reason", &REFUSALS)]);
pub(super) const CLIENTS: MetricFamily = MetricFamily::counter(
    "client_identity",
    "Requests by what their client showed, where that is observed or required",
)
.labels(&[MetricLabel::closed("kind", &CLIENT_KINDS), MetricLabel::closed("reason", &DOUBTS)]);
pub(super) const HANDSHAKES_FAILED: MetricFamily =
    MetricFamily::counter("handshakes_failed", "TLS handshakes that came to nothing");

pub(super) const CLOSED: MetricFamily = MetricFamily::counter(
    "connections_closed",
    "Connections to the HTTPS port that ended, by what ended them",
)
.labels(&[MetricLabel::closed("reason", &CLOSED_BY)]);
pub(super) const HELD: MetricFamily =
    MetricFamily::gauge("server_held", "How much is taken now of what has a limit").labels(&[WHAT]);
pub(super) const LIMIT: MetricFamily =
    MetricFamily::gauge("server_limit", "How much of it there is").labels(&[WHAT]);
pub(super) const THREADS: MetricFamily = MetricFamily::gauge(
    "worker_threads",
    "Threads that calls are read, decided and answered on; large bodies have others",
);

pub(super) const NOT_AFTER: MetricFamily = MetricFamily::gauge(
    "certificate_not_after",
    "The end of a certificate, of several in one role the first, in Unix time",
)
.seconds()
.labels(&[ROLE]);
pub(super) const NOT_BEFORE: MetricFamily =
    MetricFamily::gauge("certificate_not_before", "The begin of the serving certificate, in Unix time")
        .seconds()
        .labels(&[MetricLabel::closed("role", &["leaf"])]);
pub(super) const ROTATIONS: MetricFamily = MetricFamily::counter(
    "certificate_rotations",
    "Leaves renewed and ring states written by this replica, and what failed of it",
)
.labels(&[ROTATION]);
pub(super) const GENERATION: MetricFamily =
    MetricFamily::gauge("ca_generation", "The generation of the CA ring");
pub(super) const RING_READ: MetricFamily =
    MetricFamily::gauge("ring_read_age", "How long ago the CA ring was last read").seconds();
pub(super) const IN_SYNC: MetricFamily =
    MetricFamily::gauge("cabundle_in_sync", "Whether a caBundle was last seen as it should be")
        .labels(&[REGISTRATION_KIND, REGISTRATION]);
pub(super) const REPAIRS: MetricFamily = MetricFamily::counter(
    "cabundle_repairs",
    "Times this replica wrote a caBundle again that somebody else had changed",
)
.labels(&[REGISTRATION_KIND, REGISTRATION]);
pub(super) const DISCONTINUITIES: MetricFamily = MetricFamily::counter(
    "ring_discontinuities",
    "Times the CA ring was found rolled back, replaced or deleted",
);
pub(super) const BLOCKED: MetricFamily =
    MetricFamily::gauge("rotation_blocked", "Whether a rotation is due and does not happen")
        .labels(&[MetricLabel::closed("reason", &BLOCKED_BY)]);
pub(super) const CLOCK_SKEW: MetricFamily =
    MetricFamily::gauge("clock_skew", "How far the API server's clock is ahead of ours").seconds();

pub(super) const STORE_READY: MetricFamily =
    MetricFamily::gauge("store_ready", "Whether the first list of a watch has been read")
        .labels(&[LOOKED_UP]);
pub(super) const STORE_OBJECTS: MetricFamily =
    MetricFamily::gauge("store_objects", "Objects that a watch keeps in memory").labels(&[LOOKED_UP]);
pub(crate) const WATCH_BROKEN: MetricFamily = MetricFamily::gauge(
    "watch_broken",
    "For how long no watch was answered, and what was read before grows old; 0 while all is well",
)
.seconds()
.labels(&[LOOKED_UP]);

pub(super) const BUILD: MetricFamily =
    MetricFamily::info("build", "What serves").labels(&[MetricLabel::of_each("version", "build")]);
pub(super) const STARTED: MetricFamily =
    MetricFamily::gauge("process_start_time", "When the process began, in Unix time")
        .seconds()
        .of_any_process();
pub(super) const MEMORY: MetricFamily =
    MetricFamily::gauge("process_resident_memory", "Memory that the process holds").bytes().of_any_process();
pub(super) const DESCRIPTORS: MetricFamily =
    MetricFamily::gauge("process_open_fds", "Open files and connections").of_any_process();
pub(super) const MOST_DESCRIPTORS: MetricFamily =
    MetricFamily::gauge("process_max_fds", "How many there may be").of_any_process();
pub(super) const PROCESSOR: MetricFamily =
    MetricFamily::counter("process_cpu", "Processor time used").seconds().of_any_process();

/// All of them, in the order in which people read about them.
pub(crate) const VOCABULARY: [MetricFamily; 31] = [
    READY,
    REQUESTS,
    DURATION,
    UNDECIDED,
    PANICS,
    REFUSED,
    CLIENTS,
    HANDSHAKES_FAILED,
    CLOSED,
    HELD,
    LIMIT,
    THREADS,
    NOT_AFTER,
    NOT_BEFORE,
    ROTATIONS,
    GENERATION,
    RING_READ,
    IN_SYNC,
    REPAIRS,
    DISCONTINUITIES,
    BLOCKED,
    CLOCK_SKEW,
    STORE_READY,
    STORE_OBJECTS,
    WATCH_BROKEN,
    BUILD,
    STARTED,
    MEMORY,
    DESCRIPTORS,
    MOST_DESCRIPTORS,
    PROCESSOR,
];
