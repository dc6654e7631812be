//! The served metrics are held to the vocabulary.

use std::collections::BTreeSet;
use std::time::SystemTime;

use openmetrics::{Exposition, Family as Read};
use vestibule_admission::{HookKind, Review};
use vestibule_identity::{
    AuthorityStatus, IdentityEvent, Leaf, Local, Observer as _, RegistrationKind, RegistrationName,
    RegistrationStatus, Role, Status,
};
use vestibule_server::{CertificateCell, Server, Settings};

use super::family::Sample;
use super::family::{MetricFamily, MetricLabel, MetricUnit, MetricValues};
use super::vocabulary::VOCABULARY;
use super::*;
use crate::lookup::Lookups;

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

const OWN: MetricFamily =
    MetricFamily::gauge("own", "A metric of the app's own\nin two lines with a \\").bytes();

fn telemetry() -> (Telemetry, CertificateCounters) {
    let identity = Detailed(Local::in_memory(&["hook.shop.svc"], SystemTime::now()).unwrap());
    let counters = CertificateCounters::default();
    let own = vec![Metric::new(OWN, || vec![Sample::new(0.5)])];
    let server = Server::new(Settings::default(), Arc::new(CertificateCell::default()));
    let telemetry = Telemetry::new(
        Arc::new(identity),
        &counters,
        Lookups::default(),
        server.load(),
        Box::new(|| true),
        own,
        None,
    );
    (telemetry, counters)
}

fn everything_happens(telemetry: &Telemetry, counters: &CertificateCounters) {
    for decision in DECISIONS {
        telemetry.count("label", "CREATE", decision, Duration::from_millis(3));
    }
    Refusal::ALL.iter().copied().for_each(|refusal| telemetry.refused(refusal));
    CloseReason::ALL.iter().copied().for_each(|reason| telemetry.closed(reason));
    telemetry.identified(ClientIdentity::None);
    telemetry.identified(ClientIdentity::Certificate);
    telemetry.identified(ClientIdentity::Token);
    Doubt::ALL.iter().copied().for_each(|doubt| telemetry.identified(ClientIdentity::Invalid(doubt)));
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

#[test]
fn served_metrics_are_open_metrics_and_in_the_table() {
    let (telemetry, counters) = telemetry();
    everything_happens(&telemetry, &counters);
    let text = telemetry.metrics();
    let served = Exposition::read(&text).unwrap_or_else(|error| panic!("{error}\n{text}"));
    for family in served.families() {
        let known = VOCABULARY.into_iter().chain([OWN]).find(|known| known.name() == family.name);
        fits(family, &known.unwrap_or_else(|| panic!("{} is in no table", family.name)));
    }
    // Of lookups nothing is told where there are none; they are served in tests of their own.
    let missing: Vec<_> = VOCABULARY
        .into_iter()
        .map(|family| family.name())
        .filter(|name| served.family(name).is_none_or(|family| family.samples.is_empty()))
        .filter(|name| !name.starts_with("vestibule_store_") && name != "vestibule_watch_broken_seconds")
        .collect();
    assert!(missing.is_empty(), "{missing:?} of the table is not served");
    assert_eq!(served.value("vestibule_own_bytes", &[]), Some(0.5));
}

/// Every closed value happens, and no other.
fn fits(family: &Read, known: &MetricFamily) {
    let name = &family.name;
    assert_eq!(family.kind, known.kind().as_str(), "{name}");
    assert_eq!(family.unit.as_deref(), known.unit().map(MetricUnit::as_str), "{name}");
    assert!(family.help.ends_with('.') && !family.help.ends_with(".."), "{name}: {}", family.help);
    let labels: BTreeSet<_> = known.label_set().iter().map(MetricLabel::name).collect();
    for sample in &family.samples {
        let found = sample.labels.keys().map(String::as_str).filter(|label| *label != "le").collect();
        assert_eq!(labels, found, "{name}");
    }
    for label in known.label_set() {
        let found: BTreeSet<_> = family.samples.iter().map(|sample| &*sample.labels[label.name()]).collect();
        if let MetricValues::Closed(values) = label.values() {
            let closed: BTreeSet<_> = values.iter().copied().collect();
            assert!(found.is_subset(&closed), "{name}: {found:?} of {closed:?}");
            // One of a kind is enough for the test's configuration and operation.
            if !["kind", "operation"].contains(&label.name()) {
                assert_eq!(found, closed, "{name}");
            }
        }
    }
}

#[test]
fn counters_begin_at_zero_so_that_the_first_time_is_a_rise() {
    let (telemetry, _) = telemetry();
    telemetry.start_at_zero(["label"]);
    let served = Exposition::read(&telemetry.metrics()).unwrap();
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
    let (telemetry, counters) = telemetry();
    telemetry.start_at_zero(["label"]);
    everything_happens(&telemetry, &counters);
    let before = Exposition::read(&telemetry.metrics()).unwrap().series();
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
    let served = telemetry.metrics();
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
fn a_flood_of_refusals_is_no_flood_of_lines() {
    const EACH: u64 = 1_000;
    let ((telemetry, _), start) = (telemetry(), Instant::now());
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
    let served = Exposition::read(&telemetry.metrics()).unwrap();
    let labels = [("reason", "queue_full")];
    assert_eq!(served.value("vestibule_admission_refused_total", &labels), Some(EACH as f64));
}

#[test]
fn the_table_is_in_order() {
    let problems: Vec<_> = VOCABULARY.iter().filter_map(MetricFamily::problem).collect();
    assert!(problems.is_empty(), "{problems:?}");
    let names: BTreeSet<_> = VOCABULARY.iter().map(MetricFamily::name).collect();
    assert_eq!(names.len(), VOCABULARY.len());
    assert!(VOCABULARY.iter().all(|family| !family.help().ends_with('.')));
}

#[test]
fn names_that_would_break_the_page_are_refused_before_they_are_served() {
    const BOUND: MetricLabel = MetricLabel::closed("le", &["1"]);
    for (family, problem) in [
        (MetricFamily::gauge("Own", "Own"), "lower-case"),
        (MetricFamily::counter("own_total", "Own"), "`_total`"),
        (MetricFamily::gauge("own", "Own").labels(&[BOUND]), "`le`"),
        (MetricFamily::gauge("clock_skew", "Own").seconds(), "taken"),
    ] {
        let app = crate::app::App::new("demo").metric(Metric::new(family, Vec::new));
        let problems = app.check().unwrap_err().problems;
        assert!(problems.iter().any(|found| found.contains(problem)), "{problems:?}");
    }
}
