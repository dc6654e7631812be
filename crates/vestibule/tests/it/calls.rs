//! Calls of a served app: verdicts, faults, readiness and metrics.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use k8s_openapi::api::core::v1::Pod;
use vestibule::Operation::Create;
use vestibule::prometheus_client::metrics::counter::Counter;
use vestibule::prometheus_client::metrics::family::Family;
use vestibule::prometheus_client::metrics::gauge::Gauge;
use vestibule::{App, Change, Context, FailurePolicy, OnFault, Reject, deny, on};
use vestibule_caller::{self as caller, Admission, Hook, Outcome};

use crate::served::{Served, changed, review};

async fn label(mut pod: Pod, context: Context) -> Result<Pod, Reject> {
    context.warn("labelled");
    pod.metadata.labels.get_or_insert_default().insert("seen".to_owned(), "true".to_owned());
    Ok(pod)
}

async fn guard(change: Change<Pod>, _: Context) -> Result<(), Reject> {
    let labelled = change.object().is_some_and(|pod| pod.metadata.labels.is_some());
    if labelled { Ok(()) } else { Err(deny("no label").field("metadata.labels", "is missing")) }
}

#[tokio::test]
async fn a_validator_of_the_same_app_sees_the_object_of_its_mutator() {
    let app = App::new("demo")
        .mutate("label", on::<Pod>([Create]).failure_policy(FailurePolicy::Fail), label)
        .validate("guard", on::<Pod>([Create]).failure_policy(FailurePolicy::Fail), guard);
    let served = Served::start(app).await;
    let guard = Hook::validating("guard.demo.vestibule.dev", "/validate/guard");

    let first = review();
    let Admission::Refused { code, message, causes, .. } =
        served.admit(&first, &guard, caller::FailurePolicy::Ignore).await
    else {
        panic!("admitted")
    };
    assert_eq!(code, 403);
    assert_eq!(message, r#"admission webhook "guard.demo.vestibule.dev" denied the request: no label"#);
    assert_eq!(causes[0].field, "metadata.labels");

    let label = Hook::mutating("label.demo.vestibule.dev", "/mutate/label");
    let labelled = changed(served.outcome(&first, &label).await);
    assert_eq!(labelled["metadata"]["labels"]["seen"], "true");
    assert_eq!(labelled["metadata"]["x-unknown"], first.object().unwrap()["metadata"]["x-unknown"]);
    assert_eq!(labelled["spec"], first.object().unwrap()["spec"]);

    let second = first.with_object(labelled).unwrap();
    assert!(matches!(served.outcome(&second, &guard).await, Outcome::Allowed(_)));
    let Outcome::Allowed(again) = served.outcome(&second, &label).await else { panic!("not allowed") };
    assert!(again.patch.is_none());
    assert_eq!(again.warnings.shown, ["labelled"]);
    served.stop().await;
}

/// Regression: they were lost with the future that the server dropped.
#[tokio::test]
async fn warnings_and_audit_annotations_survive_a_missed_deadline() {
    let speaks = async |pod: Pod, context: Context| {
        context.warn("look out");
        context.audit("seen", "yes");
        std::future::pending::<()>().await;
        Ok::<_, Reject>(pod)
    };
    let on = on::<Pod>([Create])
        .failure_policy(FailurePolicy::Fail)
        .timeout_seconds(1)
        .on_fault(OnFault::AllowWithWarning);
    let served = Served::start(App::new("demo").mutate("speaks", on, speaks)).await;
    let hook = Hook::mutating("speaks.demo.vestibule.dev", "/mutate/speaks");
    let Outcome::Allowed(allowed) = served.outcome(&review(), &hook).await else { panic!("not allowed") };
    assert_eq!(allowed.warnings.shown[1], "look out");
    assert_eq!(allowed.audit_annotations.kept["speaks.demo.vestibule.dev/seen"], "yes");
    served.stop().await;
}

#[tokio::test]
async fn the_failure_policy_decides_about_errors_panics_and_delays() {
    let fail = async |_: Pod, _: Context| -> Result<Pod, Reject> { Err("x".parse::<u8>().unwrap_err())? };
    let panic = async |_: Pod, _: Context| -> Result<Pod, Reject> { panic!("s3cret") };
    let wait = async |pod: Pod, context: Context| {
        assert!(context.remaining() < Duration::from_secs(1));
        std::future::pending::<()>().await;
        Ok(pod)
    };
    let app = App::new("demo")
        .mutate("fail", on::<Pod>([Create]).failure_policy(FailurePolicy::Ignore), fail)
        .mutate("panic", on::<Pod>([Create]).failure_policy(FailurePolicy::Ignore), panic)
        .mutate("wait", on::<Pod>([Create]).failure_policy(FailurePolicy::Ignore).timeout_seconds(1), wait);
    let served = Served::start(app).await;
    for (name, words) in
        [("fail", "invalid digit"), ("panic", "panicked"), ("wait", "context deadline exceeded")]
    {
        // The caller waits for longer than the hook's timeout.
        let hook = Hook::mutating(name, &format!("/mutate/{name}"));
        let review = review();
        let Admission::Refused { code, message, .. } =
            served.admit(&review, &hook, caller::FailurePolicy::Fail).await
        else {
            panic!("{name} was admitted")
        };
        assert_eq!(code, 500);
        assert!(message.contains(words) && !message.contains("s3cret"), "{message}");
        let Admission::Admitted { object, .. } =
            served.admit(&review, &hook, caller::FailurePolicy::Ignore).await
        else {
            panic!("{name} was refused")
        };
        assert_eq!(object.as_ref(), review.object());
    }
    served.stop().await;
}

#[tokio::test]
async fn readiness_waits_for_a_condition_and_the_caller_retries() {
    let synced = Arc::new(AtomicBool::new(false));
    let condition = Arc::clone(&synced);
    let app = App::new("demo")
        .mutate("label", on::<Pod>([Create]).failure_policy(FailurePolicy::Fail), label)
        .ready_when("the cache is filled", move || condition.load(Ordering::Relaxed))
        .reports("the cache", || "3 objects".to_owned())
        .metrics(|registry| {
            let cached = Family::<[(&str, &str); 1], Gauge>::default();
            cached.get_or_create(&[("kind", "Pod")]).set(3);
            registry.register("demo_cached", "Objects", cached);
            let lookups = Counter::<u64>::default();
            lookups.inc_by(7);
            registry.register("demo_lookups", "Asked", lookups);
            registry.register("demo_nothing", "Not yet", Family::<[(&str, &str); 1], Gauge>::default());
        });
    let served = Served::start(app).await;
    let (status, body) = served.probe("/readyz").await;
    assert_eq!(status, "HTTP/1.1 503 Service Unavailable");
    assert_eq!(body, "not ready: the cache is filled");
    let (_, verbose) = served.probe("/readyz?verbose").await;
    assert!(
        verbose.starts_with("not ready: the cache is filled\n[-]the cache is filled since 2"),
        "{verbose}"
    );
    assert!(
        verbose.contains("\n[+]certificate ok since 2") && verbose.ends_with("\nthe cache: 3 objects"),
        "{verbose}"
    );
    let (_, metrics) = served.probe("/metrics").await;
    for line in ["demo_cached{kind=\"Pod\"} 3\n", "demo_lookups_total 7\n"] {
        assert!(metrics.contains(line), "{line} in {metrics}");
    }
    assert!(!metrics.contains("demo_nothing"));
    assert_eq!(served.probe("/livez").await.0, "HTTP/1.1 200 OK");

    let review = review();
    let hook = Hook::mutating("label", "/mutate/label").timeout(Duration::from_secs(5));
    let (outcome, ()) = tokio::join!(served.outcome(&review, &hook), async {
        synced.store(true, Ordering::Relaxed);
    });
    assert_eq!(changed(outcome)["metadata"]["labels"]["seen"], "true");
    assert_eq!(served.probe("/readyz").await.0, "HTTP/1.1 200 OK");
    served.stop().await;
}

/// Regression: a panic in the closure ended the process, because it was called in the future that serves.
#[tokio::test]
async fn readiness_waits_for_a_condition_that_panics_and_the_server_goes_on() {
    let lists = Arc::new(std::sync::Mutex::new(Vec::<String>::new()));
    let poison = Arc::clone(&lists);
    let poisoned = std::thread::spawn(move || {
        let _held = poison.lock().unwrap();
        panic!("poisons the Mutex");
    });
    assert!(poisoned.join().is_err());
    let condition = Arc::clone(&lists);
    let app = App::new("demo")
        .mutate("label", on::<Pod>([Create]).failure_policy(FailurePolicy::Fail), label)
        .ready_when("the price list", move || !condition.lock().unwrap().is_empty());
    let served = Served::start(app).await;
    for _ in 0..2 {
        let (status, body) = served.probe("/readyz").await;
        assert_eq!(status, "HTTP/1.1 503 Service Unavailable");
        assert_eq!(body, "not ready: the price list (panicked)");
        let (_, metrics) = served.probe("/metrics").await;
        assert!(metrics.contains("vestibule_ready 0"), "{metrics}");
    }
    lists.clear_poison();
    lists.lock().unwrap().push("of today".to_owned());
    while served.probe("/readyz").await.0 != "HTTP/1.1 200 OK" {
        tokio::task::yield_now().await;
    }
    served.stop().await;
}

#[tokio::test]
async fn decisions_are_counted_without_names_of_users_or_objects() {
    let app =
        App::new("demo").mutate("label", on::<Pod>([Create]).failure_policy(FailurePolicy::Fail), label);
    let served = Served::start(app).await;
    served.outcome(&review(), &Hook::mutating("label", "/mutate/label")).await;
    let (_, metrics) = served.probe("/metrics").await;
    let line = r#"vestibule_admission_requests_total{webhook="label",operation="CREATE",decision="mutated",reason=""} 1"#;
    assert!(metrics.contains(line), "{metrics}");
    assert!(metrics.contains(r#"vestibule_admission_duration_seconds_count{webhook="label"} 1"#));
    assert!(!metrics.contains("shop"), "a namespace makes no series");
    served.stop().await;
}
