//! The served metrics are compared with their page.

mod openmetrics;
mod page;

use std::time::SystemTime;

use k8s_openapi::api::core::v1::Namespace;
use vestibule_admission::{HookKind, Review};
use vestibule_identity::{
    AuthorityStatus, Identity, IdentityEvent, Leaf, Local, Observer as _, RegistrationKind, RegistrationName,
    RegistrationStatus, Role, Status,
};
use vestibule_server::{CertificateCell, Server, Settings};

use super::certificates::CertificateCounters;
use super::*;
use crate::lookup::test_objects::Objects;
use crate::lookup::watch::Watch;
use crate::lookup::watch_state::WatchState;
use crate::lookup::{LookupDeclaration, Lookups, Source};
use openmetrics::Exposition;
use page::rows;

/// An identity of which everything can be told.
struct Detailed(Local);

impl Identity for Detailed {
    fn present(&self) -> Option<Arc<Leaf>> {
        self.0.present()
    }

    fn ca_bundle(&self) -> Option<Arc<str>> {
        self.0.ca_bundle()
    }

    fn status(&self) -> Status {
        let mut status = self.0.status();
        let not_after = SystemTime::now();
        status.authorities = [Role::Active, Role::Next, Role::Retired, Role::Foreign]
            .map(|role| AuthorityStatus { role, not_after })
            .to_vec();
        status.generation = Some(7);
        status.ring_read_ago = Some(Duration::from_secs(1));
        status.registrations = vec![RegistrationStatus { registration: registration(), in_sync: true }];
        (status.clock_skew, status.blocked) = (-42, Some("clock"));
        status
    }
}

fn registration() -> RegistrationName {
    RegistrationName { kind: RegistrationKind::Mutating, name: "demo".to_owned() }
}

/// The telemetry of a server, with all metrics of a webhook.
struct Served {
    telemetry: Telemetry,
    counters: CertificateCounters,
    registry: Registry,
}

impl Served {
    fn new() -> Self {
        let identity = Detailed(Local::in_memory(&["hook.shop.svc"], SystemTime::now()).unwrap());
        let counters = CertificateCounters::default();
        let server = Server::new(Settings::default(), Arc::new(CertificateCell::default()));
        let mut registry = Registry::default();
        let telemetry = Telemetry::register(&mut registry, None, None);
        gauges::register_server(&mut registry, server.usage(), || true);
        counters.register(&mut registry, Arc::new(identity));
        process::register(&mut registry);
        Self { telemetry, counters, registry }
    }

    fn page(&self) -> String {
        page(&self.registry)
    }
}

fn everything_happens(Served { telemetry, counters, .. }: &Served) {
    for decision in DECISIONS {
        telemetry.count("label", "CREATE", decision, Duration::from_millis(3));
    }
    Refusal::ALL.iter().copied().for_each(|refusal| telemetry.refused(refusal));
    CloseReason::ALL.iter().copied().for_each(|reason| telemetry.closed(reason));
    telemetry.identified(ClientIdentity::None);
    telemetry.identified(ClientIdentity::Certificate);
    telemetry.identified(ClientIdentity::Token);
    CredentialError::ALL
        .iter()
        .copied()
        .for_each(|error| telemetry.identified(ClientIdentity::Invalid(error)));
    telemetry.abandoned("label");
    telemetry.handshake_failed(SocketAddr::from(([127, 0, 0, 1], 1)), "eof");
    let changes = ["created", "restored", "grafted", "held", "promoted", "removed", "revoked", "repaired"];
    changes.iter().for_each(|change| counters.happened(&IdentityEvent::RingWritten { change }));
    counters.happened(&IdentityEvent::LeafRenewed { not_after: SystemTime::now() });
    counters.happened(&IdentityEvent::Failed { object: String::new(), reason: String::new() });
    let repaired_from = Some("argocd".to_owned());
    counters.happened(&IdentityEvent::BundleWritten { registration: registration(), repaired_from });
}

const DECISIONS: [Decision; 11] = [
    Decision::Allowed,
    Decision::Mutated(3),
    Decision::Denied(403),
    Decision::NotReady,
    Decision::Converted(2),
    Decision::Unconvertible,
    Decision::Fault(FaultKind::Error),
    Decision::Fault(FaultKind::Undecodable),
    Decision::Fault(FaultKind::Panic),
    Decision::Fault(FaultKind::Deadline),
    Decision::Fault(FaultKind::Patch),
];

#[tokio::test]
async fn served_metrics_are_open_metrics_and_in_the_table() {
    let mut served = Served::new();
    let watched = [LookupDeclaration::watch(Watch::<Namespace>::new())];
    let lookups = Lookups::open(&watched, &Source::Objects(Objects::new())).unwrap();
    let nowhere = kube::Config::new("http://127.0.0.1:1".parse().unwrap());
    let (_, watch) = WatchState::listening(&kube::Client::try_from(nowhere).unwrap());
    gauges::register_watches(&mut served.registry, lookups, vec![("Namespace".to_owned(), watch)]);
    everything_happens(&served);
    let text = served.page();
    let read = Exposition::read(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    let rows = rows("Of every webhook");
    for family in read.families() {
        let row = rows.iter().find(|row| row.family() == family.name);
        let row = row.unwrap_or_else(|| panic!("{} is not on the page", family.name));
        row.fits(family);
        // Every closed value happens. One of a kind is enough for the test's configuration and operation.
        for (label, closed) in
            row.labels.iter().filter(|(label, _)| !["kind", "operation"].contains(&label.as_str()))
        {
            let Some(closed) = closed else { continue };
            assert_eq!(page::values(family, label), *closed, "{}", family.name);
        }
    }
    let missing: Vec<_> = rows
        .iter()
        .map(page::Row::family)
        .filter(|name| read.family(name).is_none_or(|family| family.samples.is_empty()))
        .collect();
    assert!(missing.is_empty(), "{missing:?} of the page are not served");
}

#[test]
fn counters_start_at_zero() {
    let served = Served::new();
    served.telemetry.start_at_zero(["label"]);
    let served = Exposition::read(&served.page()).unwrap();
    for (name, labels) in [
        ("vestibule_panics_total", &[("webhook", "label")][..]),
        ("vestibule_admission_undecided_total", &[("webhook", "label"), ("reason", "deadline")]),
        ("vestibule_admission_refused_total", &[("reason", "queue_full")]),
        ("vestibule_handshakes_failed_total", &[]),
        ("vestibule_ring_discontinuities_total", &[]),
    ] {
        assert_eq!(served.value(name, labels), Some(0.0), "{name}");
    }
}

/// Case A15: a hundred thousand of everything that callers choose, and each decision there is.
#[test]
fn no_request_makes_a_series() {
    const DISTINCT: usize = 100_000;
    let of_a_webhook = Served::new();
    let telemetry = &of_a_webhook.telemetry;
    telemetry.start_at_zero(["label"]);
    everything_happens(&of_a_webhook);
    let before = Exposition::read(&of_a_webhook.page()).unwrap().series();
    for (number, decision) in (0..DISTINCT).zip(DECISIONS.into_iter().cycle()) {
        let body = format!(
            r#"{{"apiVersion":"admission.k8s.io/v1","kind":"AdmissionReview","request":{{"uid":"u{number}","operation":"CREATE",
            "kind":{{"group":"g{number}","version":"v1","kind":"Kind{number}"}},"namespace":"namespace-{number}",
            "resource":{{"group":"g{number}","version":"v1","resource":"kinds{number}"}},"name":"name-{number}",
            "userInfo":{{"username":"user-{number}"}},"object":{{"kind":"Kind{number}"}}}}}}"#
        );
        let review = Review::parse(body.as_bytes()).unwrap();
        let hook = ("label", HookKind::Mutating);
        telemetry.decided(&Decided::new(hook, &review.request, decision, Duration::from_millis(1)));
    }
    let served = of_a_webhook.page();
    let after = Exposition::read(&served).unwrap();
    assert_eq!(after.series(), before);
    assert!(after.series() <= 500, "{}", after.series());
    let labels = [("webhook", "label")];
    assert_eq!(
        after.value("vestibule_admission_duration_seconds_count", &labels),
        Some((DISTINCT + DECISIONS.len()) as f64)
    );
    for theirs in ["namespace-", "user-", "Kind", "name-", "kinds"] {
        assert!(!served.contains(theirs), "{theirs}");
    }
}

/// A flood of what is refused is one line a second for each reason, and all of it is counted.
#[test]
fn refusals_are_logged_at_a_limited_rate() {
    const EACH: u64 = 1_000;
    let (of_a_webhook, start) = (Served::new(), Instant::now());
    let telemetry = &of_a_webhook.telemetry;
    let lines = |at: Instant, times: u64| -> Vec<u64> {
        let admitted = |refusal: Refusal| telemetry.refusals[refusal.as_str()].admits(at);
        Refusal::ALL
            .iter()
            .copied()
            .flat_map(|refusal| (0..times).filter_map(move |_| admitted(refusal)))
            .collect()
    };
    assert_eq!(lines(start, EACH), [0; Refusal::ALL.len()], "the first of each at once");
    assert_eq!(lines(start + Duration::from_secs(1), 1), [EACH - 1; Refusal::ALL.len()]);

    (0..EACH).for_each(|_| telemetry.refused(Refusal::QueueFull));
    let served = Exposition::read(&of_a_webhook.page()).unwrap();
    let labels = [("reason", "queue_full")];
    assert_eq!(served.value("vestibule_admission_refused_total", &labels), Some(EACH as f64));
}
