//! Log lines and metrics: one line for each decision, and the registry of all metrics.

pub(crate) mod certificates;
mod exposition;
pub(crate) mod gauges;
mod log_rate_limit;
pub(crate) mod process;
mod scrape;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::{Metric, Registry, Unit};
use vestibule_admission::{Decision, FaultKind, Operation};
use vestibule_server::{ClientIdentity, CloseReason, Converted, CredentialError, Decided, Observer, Refusal};

use crate::pipeline::span::{CallTraces, shorten, trace_id};
pub(crate) use exposition::{CONTENT_TYPE, page, problems};
use log_rate_limit::LogRateLimit;

/// The targets of log lines, by which log levels are set.
const ADMISSION: &str = "vestibule::admission";
const SERVER: &str = "vestibule::server";

/// The reason of undecided calls whose caller closed the connection.
const ABANDONED: &str = "abandoned";
/// The value of the label `operation` for conversions.
const CONVERT: &str = "CONVERT";

/// In seconds. kube-apiserver's own buckets begin at 5 ms; most answers take less.
const BUCKETS: [f64; 12] = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.5, 1.0, 5.0, 30.0];

/// Logs and counts. Every label has a closed set of values, so that requests cannot create series.
#[derive(Clone)]
pub(crate) struct Telemetry {
    requests: Family<Request, Counter>,
    duration: Durations,
    refused: Family<Reason, Counter>,
    undecided: Family<Undecided, Counter>,
    panics: Family<Hook, Counter>,
    clients: Family<Client, Counter>,
    handshakes_failed: Counter,
    closed: Family<Reason, Counter>,
    failures: Arc<LogRateLimit>,
    refusals: Arc<BTreeMap<&'static str, LogRateLimit>>,
    author: Option<Arc<dyn Observer>>,
    traces: Option<Arc<dyn CallTraces>>,
}

type Durations = Family<Hook, Histogram, fn() -> Histogram>;

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Request {
    webhook: String,
    operation: &'static str,
    decision: &'static str,
    reason: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Hook {
    webhook: String,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Undecided {
    webhook: String,
    reason: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Reason {
    reason: &'static str,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Client {
    kind: &'static str,
    reason: &'static str,
}

impl Telemetry {
    /// Registers its metrics. `author` is an observer of the app's author; the log names traces that `traces` exports.
    pub(crate) fn register(
        registry: &mut Registry,
        author: Option<Arc<dyn Observer>>,
        traces: Option<Arc<dyn CallTraces>>,
    ) -> Self {
        Self {
            requests: registered(
                registry,
                "vestibule_admission_requests",
                "Decisions of hooks and conversions",
            ),
            duration: registered_duration(registry),
            undecided: registered(
                registry,
                "vestibule_admission_undecided",
                "Calls that reached a hook or its queue and got no verdict, so that failurePolicy decided",
            ),
            panics: registered(registry, "vestibule_panics", "Handlers that panicked; the process goes on"),
            refused: registered(
                registry,
                "vestibule_admission_refused",
                "Requests answered without a call of a hook",
            ),
            clients: registered(
                registry,
                "vestibule_client_identity",
                "Requests by the credential of their client, if clients are observed or required",
            ),
            handshakes_failed: registered(
                registry,
                "vestibule_handshakes_failed",
                "TLS handshakes that failed",
            ),
            closed: registered(
                registry,
                "vestibule_connections_closed",
                "Connections to the HTTPS port that were closed, by the reason",
            ),
            failures: Arc::default(),
            refusals: Arc::new(
                Refusal::ALL.iter().map(|reason| (reason.as_str(), LogRateLimit::default())).collect(),
            ),
            author,
            traces,
        }
    }

    /// Starts the counters of these hooks at zero: Prometheus sees the first event only as an increase from zero.
    pub(crate) fn start_at_zero<'h>(&self, hooks: impl IntoIterator<Item = &'h str>) {
        for hook in hooks {
            let _ = self.panics.get_or_create(&Hook { webhook: hook.to_owned() });
            for reason in FaultKind::ALL.map(FaultKind::as_str).into_iter().chain([ABANDONED]) {
                let _ = self.undecided.get_or_create(&Undecided { webhook: hook.to_owned(), reason });
            }
        }
        for refusal in Refusal::ALL {
            let _ = self.refused.get_or_create(&Reason { reason: refusal.as_str() });
        }
        for reason in CloseReason::ALL {
            let _ = self.closed.get_or_create(&Reason { reason: reason.as_str() });
        }
    }
}

impl Observer for Telemetry {
    fn decided(&self, decided: &Decided<'_>) {
        self.log(decided);
        let operation = Operation::as_str(decided.request.operation);
        self.count(decided.hook, operation, decided.decision, decided.elapsed);
        self.notify(|observer| observer.decided(decided));
    }

    fn converted(&self, converted: &Converted<'_>) {
        tracing::info!(
            target: ADMISSION,
            uid = shorten(&converted.request.uid),
            version = shorten(&converted.request.desired_api_version),
            objects = converted.request.objects.len(),
            operation = CONVERT,
            hook = converted.hook,
            verdict = converted.decision.as_str(),
            reason = Some(reason(converted.decision)).filter(|reason| !reason.is_empty()),
            client = converted.client.map(known_by),
            ms = milliseconds(converted.elapsed),
            trace_id = trace_id(converted.request.trace, self.traces.as_deref()),
            "converted"
        );
        self.count(converted.hook, CONVERT, converted.decision, converted.elapsed);
        self.notify(|observer| observer.converted(converted));
    }

    fn refused(&self, refusal: Refusal) {
        let reason = refusal.as_str();
        // Any client that reaches the port can cause refusals, thousands a second.
        if let Some(left_out) = self.refusals.get(reason).and_then(|limit| limit.admits(Instant::now())) {
            tracing::info!(target: SERVER, reason, left_out = if_any(left_out), "refused");
        }
        self.refused.get_or_create(&Reason { reason }).inc();
        self.notify(|observer| observer.refused(refusal));
    }

    fn identified(&self, client: ClientIdentity) {
        let reason = client.error().map(CredentialError::as_str).unwrap_or_default();
        tracing::debug!(target: SERVER, client = client.as_str(), reason, "client identified");
        self.clients.get_or_create(&Client { kind: client.as_str(), reason }).inc();
        self.notify(|observer| observer.identified(client));
    }

    fn abandoned(&self, hook: &str) {
        tracing::info!(target: ADMISSION, hook, "the caller went away before the decision");
        self.undecided.get_or_create(&Undecided { webhook: hook.to_owned(), reason: ABANDONED }).inc();
        self.notify(|observer| observer.abandoned(hook));
    }

    fn closed(&self, reason: CloseReason) {
        self.closed.get_or_create(&Reason { reason: reason.as_str() }).inc();
        self.notify(|observer| observer.closed(reason));
    }

    fn handshake_failed(&self, peer: SocketAddr, reason: &str) {
        // Any client that reaches the port can cause failed handshakes.
        if let Some(left_out) = self.failures.admits(Instant::now()) {
            tracing::info!(target: SERVER, %peer, reason, left_out = if_any(left_out), "a TLS handshake failed");
        }
        self.handshakes_failed.inc();
        self.notify(|observer| observer.handshake_failed(peer, reason));
    }
}

impl Telemetry {
    fn count(&self, hook: &str, operation: &'static str, decision: Decision, elapsed: Duration) {
        let webhook = hook.to_owned();
        self.duration.get_or_create(&Hook { webhook: webhook.clone() }).observe(elapsed.as_secs_f64());
        if let Decision::Fault(kind) = decision {
            let labels = Undecided { webhook: webhook.clone(), reason: kind.as_str() };
            self.undecided.get_or_create(&labels).inc();
            if kind == FaultKind::Panic {
                self.panics.get_or_create(&Hook { webhook: webhook.clone() }).inc();
            }
        }
        let labels = Request { webhook, operation, decision: decision.as_str(), reason: reason(decision) };
        self.requests.get_or_create(&labels).inc();
    }

    /// One line, and never a value of the object.
    fn log(&self, decided: &Decided<'_>) {
        let request = decided.request;
        let operations = match decided.decision {
            Decision::Mutated(operations) => operations,
            _ => 0,
        };
        tracing::info!(
            target: ADMISSION,
            uid = shorten(&request.uid),
            kind = shorten(&request.kind.to_string()),
            namespace = request.namespace.as_deref().map(shorten),
            name = request.display_name().as_deref(),
            operation = request.operation.as_str(),
            hook = decided.hook,
            verdict = decided.decision.as_str(),
            reason = Some(reason(decided.decision)).filter(|reason| !reason.is_empty()),
            error = decided.error,
            operations,
            client = decided.client.map(known_by),
            ms = milliseconds(decided.elapsed),
            trace_id = trace_id(request.trace, self.traces.as_deref()),
            "decided"
        );
    }

    fn notify(&self, event: impl FnOnce(&dyn Observer)) {
        if let Some(author) = &self.author {
            event(&**author);
        }
    }
}

fn registered<M: Metric + Clone + Default>(registry: &mut Registry, name: &str, help: &str) -> M {
    let metric = M::default();
    registry.register(name, help, metric.clone());
    metric
}

fn registered_duration(registry: &mut Registry) -> Durations {
    let duration: Durations = Family::new_with_constructor(|| Histogram::new(BUCKETS));
    let help = "From a request's head to its answer";
    registry.register_with_unit("vestibule_admission_duration", help, Unit::Seconds, duration.clone());
    duration
}

/// The number of dropped lines, for a field of the log; [`None`] leaves the field out.
fn if_any(left_out: u64) -> Option<u64> {
    Some(left_out).filter(|left_out| *left_out > 0)
}

/// How the client was identified, or why not; never its name.
fn known_by(client: ClientIdentity) -> &'static str {
    client.error().map_or(client.as_str(), CredentialError::as_str)
}

/// To the microsecond.
fn milliseconds(elapsed: Duration) -> f64 {
    (elapsed.as_secs_f64() * 1e6).round() / 1e3
}

fn reason(decision: Decision) -> &'static str {
    match decision {
        Decision::Fault(kind) => kind.as_str(),
        _ => "",
    }
}
