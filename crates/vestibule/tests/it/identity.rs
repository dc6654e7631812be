//! An identity that changes while its app is served.

use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};

use k8s_openapi::api::core::v1::Pod;
use vestibule::Operation::Create;
use vestibule::identity::{
    AuthorityStatus, Identity, IdentityEvent, Leaf, Local, NamespacedName, Observer, Off, RegistrationKind,
    RegistrationName, RegistrationStatus, Role, Status,
};
use vestibule::prometheus_client::metrics::gauge::Gauge;
use vestibule::tooling::CertificateCounters;
use vestibule::{App, Context, FailurePolicy, Reject, ServeError, on};
use vestibule_caller::Hook;

use crate::served::{NAME, Served, options, review};

/// An identity whose state the test sets.
#[derive(Default)]
pub(crate) struct Staged(Mutex<Scene>);

#[derive(Default)]
struct Scene {
    leaf: Option<Arc<Leaf>>,
    status: Status,
}

impl Staged {
    pub(crate) fn waiting_for(what: &str) -> Arc<Self> {
        let staged = Self::default();
        staged.change(|status| status.waiting_for = Some(what.to_owned()));
        Arc::new(staged)
    }

    pub(crate) fn change(&self, change: impl FnOnce(&mut Status)) {
        change(&mut self.0.lock().unwrap().status);
    }

    /// Presents a certificate of a new CA, and returns that.
    pub(crate) fn renew(&self) -> Arc<str> {
        let local = Local::in_memory(&[NAME], SystemTime::now()).unwrap();
        self.0.lock().unwrap().leaf = local.present();
        local.ca_bundle().unwrap()
    }
}

impl Identity for Staged {
    fn present(&self) -> Option<Arc<Leaf>> {
        self.0.lock().unwrap().leaf.clone()
    }

    fn ca_bundle(&self) -> Option<Arc<str>> {
        None
    }

    fn status(&self) -> Status {
        self.0.lock().unwrap().status.clone()
    }
}

pub(crate) fn app() -> App {
    async fn label(pod: Pod, _: Context) -> Result<Pod, Reject> {
        Ok(pod)
    }
    App::new("demo").mutate("label", on::<Pod>([Create]).failure_policy(FailurePolicy::Fail), label)
}

fn hook() -> Hook {
    Hook::mutating("label", "/mutate/label")
}

#[tokio::test]
async fn without_a_certificate_the_server_listens_and_readiness_says_why_it_waits() {
    let identity = Staged::waiting_for("the ring Secret demo/x-ring");
    let served = Served::start_as(app(), options(identity.clone()), &Staged::default().renew()).await;
    let (status, body) = served.probe("/readyz").await;
    assert_eq!(status, "HTTP/1.1 503 Service Unavailable");
    assert_eq!(body, "not ready: certificate waits for the ring Secret demo/x-ring");
    assert_eq!(served.probe("/livez").await.0, "HTTP/1.1 200 OK");

    let bundle = identity.renew();
    identity.change(|status| status.waiting_for = Some("API servers to learn of the CA (12 s)".to_owned()));
    let (status, body) = served.probe("/readyz").await;
    assert_eq!(status, "HTTP/1.1 503 Service Unavailable");
    assert_eq!(body, "not ready: certificate waits for API servers to learn of the CA (12 s)");

    identity.change(|status| status.waiting_for = None);
    assert_eq!(served.probe("/readyz").await.0, "HTTP/1.1 200 OK");
    served.caller(&bundle).call(&review(), &hook()).await.unwrap();
    served.stop().await;
}

#[tokio::test]
async fn each_handshake_gets_the_current_certificate() {
    let identity = Arc::new(Staged::default());
    let first = identity.renew();
    let served = Served::start_as(app(), options(identity.clone()), &first).await;
    let early = served.caller(&first);
    early.call(&review(), &hook()).await.unwrap();
    let second = identity.renew();
    served.caller(&second).call(&review(), &hook()).await.unwrap();
    assert!(served.caller(&first).call(&review(), &hook()).await.is_err());
    // The connection of the caller is still open.
    early.call(&review(), &hook()).await.unwrap();
    drop(early);
    served.stop().await;
}

#[tokio::test]
async fn an_app_without_a_certificate_now_and_later_is_refused() {
    let error = app().bind(options(Arc::new(Off))).await.err().unwrap();
    assert!(matches!(error, ServeError::NoCertificate), "{error}");
    assert!(error.to_string().contains("`off`"), "{error}");
}

/// Prometheus would refuse the whole page.
#[tokio::test]
async fn metrics_with_a_doubled_or_invalid_name_are_refused_at_start() {
    for (name, problem) in [
        ("demo_lookups", None),
        ("vestibule_ready", Some("`vestibule_ready` is registered twice")),
        ("price-list", Some("`price-list` cannot be the name of a metric")),
    ] {
        let app = app().metrics(move |registry| registry.register(name, "Prices", Gauge::<i64>::default()));
        let bound = app.bind(options(Staged::waiting_for("a Secret"))).await;
        match (bound, problem) {
            (Ok(_), None) => {}
            (Err(ServeError::App(error)), Some(problem)) => {
                assert!(error.to_string().contains(problem), "{error}");
            }
            (Ok(_), Some(problem)) => panic!("served in spite of {problem}"),
            (Err(error), _) => panic!("{name}: {error}"),
        }
    }
}

#[tokio::test]
async fn an_idle_timeout_below_that_of_the_api_server_is_refused() {
    let mut options = options(Staged::waiting_for("a Secret"));
    options.settings.idle_timeout = Duration::from_secs(90);
    let error = app().bind(options.clone()).await.err().unwrap();
    assert!(matches!(error, ServeError::Idle) && error.to_string().contains("91 s"), "{error}");
    options.settings.idle_timeout = Duration::from_secs(91);
    assert!(app().bind(options).await.is_ok());
}

#[tokio::test]
async fn metrics_show_the_state_of_certificates() {
    let identity = Arc::new(Staged::default());
    let bundle = identity.renew();
    identity.change(detailed);
    let leaf = identity.present().unwrap();
    let served = Served::start_as(app(), options(identity.clone()), &bundle).await;
    let (_, metrics) = served.probe("/metrics").await;
    let expected = [
        format!(r#"vestibule_certificate_not_after_seconds{{role="leaf"}} {}"#, leaf.not_after.as_secs()),
        r#"vestibule_certificate_not_after_seconds{role="active"} 1000"#.to_owned(),
        r#"vestibule_certificate_not_after_seconds{role="foreign"} 500"#.to_owned(),
        format!(r#"vestibule_certificate_not_before_seconds{{role="leaf"}} {}"#, leaf.not_before.as_secs()),
        "vestibule_ca_generation 7".to_owned(),
        "vestibule_ring_read_age_seconds 1.5".to_owned(),
        r#"vestibule_cabundle_in_sync{kind="mutating",name="demo"} 0"#.to_owned(),
        r#"vestibule_rotation_blocked{reason="clock"} 1"#.to_owned(),
        r#"vestibule_rotation_blocked{reason="hold"} 0"#.to_owned(),
        "vestibule_clock_skew_seconds -42".to_owned(),
    ];
    for line in expected {
        assert!(metrics.lines().any(|found| found == line), "{line} in {metrics}");
    }
    identity.change(|status| status.authorities.clear());
    assert!(!served.probe("/metrics").await.1.contains(r#"role="active""#));
    served.stop().await;
}

#[tokio::test]
async fn metrics_count_the_events_of_an_identity_and_name_no_unknown_ca() {
    let identity = Arc::new(Staged::default());
    let bundle = identity.renew();
    let told = Arc::new(Told::default());
    let mut options = options(identity);
    options.certificates = CertificateCounters::with_observer(told.clone());
    let counters = options.certificates.clone();
    let served = Served::start_as(app(), options, &bundle).await;
    happenings().iter().for_each(|event| counters.happened(event));
    let (_, metrics) = served.probe("/metrics").await;
    for line in [
        r#"vestibule_certificate_rotations_total{result="renewed"} 1"#,
        r#"vestibule_certificate_rotations_total{result="promoted"} 1"#,
        r#"vestibule_certificate_rotations_total{result="failed"} 1"#,
        r#"vestibule_cabundle_repairs_total{kind="mutating",name="demo"} 1"#,
        "vestibule_ring_discontinuities_total 1",
    ] {
        assert!(metrics.lines().any(|found| found == line), "{line} in {metrics}");
    }
    assert!(!metrics.contains("argocd") && !metrics.contains("s3cret"), "{metrics}");
    assert_eq!(*told.0.lock().unwrap(), happenings());
    served.stop().await;
}

#[derive(Default)]
struct Told(Mutex<Vec<IdentityEvent>>);

impl Observer for Told {
    fn happened(&self, event: &IdentityEvent) {
        self.0.lock().unwrap().push(event.clone());
    }
}

pub(crate) fn happenings() -> [IdentityEvent; 6] {
    let registration = || RegistrationName { kind: RegistrationKind::Mutating, name: "demo".to_owned() };
    [
        IdentityEvent::LeafRenewed { not_after: SystemTime::UNIX_EPOCH },
        IdentityEvent::RingWritten { change: "promoted" },
        IdentityEvent::BundleWritten { registration: registration(), repaired_from: None },
        IdentityEvent::BundleWritten {
            registration: registration(),
            repaired_from: Some("argocd".to_owned()),
        },
        IdentityEvent::Discontinuity,
        IdentityEvent::Failed { object: "the Secret s3cret".to_owned(), reason: "403".to_owned() },
    ]
}

/// A status that sets every metric.
pub(crate) fn detailed(status: &mut Status) {
    let at = |seconds| SystemTime::UNIX_EPOCH + Duration::from_secs(seconds);
    let authority = |role, end| AuthorityStatus { role, not_after: at(end) };
    status.authorities = vec![
        authority(Role::Active, 1000),
        authority(Role::Next, 2000),
        authority(Role::Foreign, 900),
        authority(Role::Foreign, 500),
    ];
    status.generation = Some(7);
    status.ring_read_ago = Some(Duration::from_millis(1500));
    let registration = RegistrationName { kind: RegistrationKind::Mutating, name: "demo".to_owned() };
    status.registrations = vec![RegistrationStatus { registration, in_sync: false }];
    status.clock_skew = -42;
    status.blocked = Some("clock");
}

#[test]
fn an_app_makes_the_settings_of_its_identity() {
    let service = NamespacedName { namespace: "shop".to_owned(), name: "hook".to_owned() };
    let settings = app().identity_settings(service);
    assert_eq!(settings.secret.unwrap().to_string(), "shop/hook-ring");
    let registrations: Vec<_> = settings.registrations.iter().map(ToString::to_string).collect();
    assert_eq!(registrations, ["mutating/demo"]);
}
