//! What people see of a decision, and what nobody does.

use std::io::Write;
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};
use tracing_subscriber::filter::LevelFilter;
use vestibule_caller::{Outcome, Review};
use vestibule_injector::{Namespaces, app, compile};

use crate::cluster::FakeCluster;
use crate::road::Road;

const RULES: &str = "\
apiVersion: vestibule.dev/v1alpha1
kind: Injection
metadata: {name: data}
spec:
  match: {objects: {labels: {app: web}}}
  volumes: [{name: data, emptyDir: {}}]
---
apiVersion: vestibule.dev/v1alpha1
kind: Injection
metadata: {name: tool}
spec:
  match: {objects: {labels: {app: web}}}
  containers: [{select: {all: true}, onConflict: skipRule, env: [{name: TOKEN, value: s3cret-of-the-rule}]}]
---
apiVersion: vestibule.dev/v1alpha1
kind: Injection
metadata: {name: asked}
spec:
  optIn: pod
  pod: {labels: {asked: \"true\"}}
";

const OBSERVE: &str = "---
apiVersion: vestibule.dev/v1alpha1
kind: InjectorSettings
metadata: {name: settings}
spec: {mode: observe, successEvents: true}
";

const SUCCESS: &str = "---
apiVersion: vestibule.dev/v1alpha1
kind: InjectorSettings
metadata: {name: settings}
spec: {successEvents: true}
";

/// An injector on a cluster that takes Events.
async fn stage(rules: &str) -> (Road, FakeCluster) {
    let cluster = FakeCluster::start().await;
    cluster.open();
    let rules = compile([("rules.yaml", rules)]).unwrap_or_else(|findings| panic!("{findings:?}"));
    let namespaces = Namespaces::connect(Some(&cluster.kubeconfig())).await;
    let namespaces = namespaces.unwrap_or_else(|error| panic!("{error}"));
    let road = Road::to(app(rules, namespaces).unwrap_or_else(|error| panic!("{error}"))).await;
    while road.readiness().await.contains("namespaces") {
        tokio::task::yield_now().await;
    }
    (road, cluster)
}

/// A pod that a ReplicaSet makes, with something else in the place of the volume.
fn conflicting(owner: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"generateName": "web-", "namespace": "listed", "labels": {"app": "web"},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner,
                "uid": format!("uid-{owner}"), "controller": true}]},
        "spec": {"containers": [{"name": "app", "image": "app:1"}],
            "volumes": [{"name": "data", "hostPath": {"path": "/s3cret-of-the-pod"}}]}})
}

async fn call(road: &Road, object: Value, dry_run: bool) -> Outcome {
    let review = Review::create(object);
    let review = if dry_run { review.dry_run() } else { review }.build().unwrap();
    road.judged("best-effort", &review).await
}

#[tokio::test]
async fn the_owner_learns_once_of_what_was_left_out() {
    let (road, cluster) = stage(RULES).await;
    // Of a dry run nothing is told, of the same again nothing more: what comes after them comes next.
    call(&road, conflicting("dry"), true).await;
    for owner in ["web-5d4f", "web-5d4f", "web-5d4f", "next"] {
        call(&road, conflicting(owner), false).await;
    }
    let (path, event) = cluster.posted().await;
    assert_eq!(path, "/apis/events.k8s.io/v1/namespaces/listed/events");
    assert_eq!(
        event["regarding"],
        json!({"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-5d4f", "namespace": "listed",
               "uid": "uid-web-5d4f"})
    );
    assert_eq!(
        (&event["type"], &event["reason"], &event["reportingController"]),
        (&json!("Warning"), &json!("InjectionConflict"), &json!("vestibule.dev/injector"))
    );
    let note = event["note"].as_str().unwrap();
    assert!(
        note.starts_with("rule data left Pod web-***** as it is: volume `data` exists already"),
        "{note}"
    );
    assert!(note.ends_with("(rules.yaml:6)"), "{note}");
    assert_eq!(cluster.posted().await.1["regarding"]["name"], "next");
}

#[tokio::test]
async fn success_is_told_only_to_those_who_asked_for_it() {
    let (road, cluster) = stage(&format!("{RULES}{SUCCESS}")).await;
    call(&road, conflicting("web-5d4f"), false).await;
    let mut told = [cluster.posted().await.1, cluster.posted().await.1];
    told.sort_by_key(|event| event["reason"].to_string());
    assert_eq!((&told[0]["type"], &told[0]["reason"]), (&json!("Normal"), &json!("Injected")));
    assert_eq!(told[0]["note"], "rule tool was applied to Pod web-*****");
    assert_eq!(told[1]["reason"], "InjectionConflict");
}

#[tokio::test]
async fn a_value_that_cannot_be_read_is_told_without_it() {
    let (road, cluster) = stage(RULES).await;
    let mut pod = conflicting("web-5d4f");
    pod["metadata"]["labels"] = json!({});
    pod["metadata"]["annotations"] = json!({"inject.vestibule.dev/asked": "s3cret"});
    let Outcome::Allowed(allowed) = call(&road, pod, false).await else { panic!("allowed") };
    assert_eq!(allowed.warnings.shown.len(), 1);
    let event = cluster.posted().await.1;
    assert_eq!(event["reason"], "InjectionSkipped");
    let note = event["note"].as_str().unwrap();
    assert_eq!(
        note,
        "rule asked left Pod web-***** as it is: invalid_value (rules.yaml:19); `vestibule explain` tells more"
    );
}

/// Every outcome is counted by rule, result and reason; nothing else makes a series.
#[tokio::test]
async fn outcomes_are_counted() {
    let (road, _cluster) = stage(RULES).await;
    for owner in ["one", "two"] {
        call(&road, conflicting(owner), false).await;
    }
    let page = road.page("/metrics").await;
    let counted: Vec<&str> =
        page.lines().filter(|line| line.starts_with("vestibule_injections_total")).collect();
    assert_eq!(
        counted,
        [
            r#"vestibule_injections_total{rule="asked",result="skipped",reason="not_opted_in"} 2"#,
            r#"vestibule_injections_total{rule="data",result="skipped",reason="conflict"} 2"#,
            r#"vestibule_injections_total{rule="tool",result="applied",reason=""} 2"#,
        ]
    );
    let duration = r#"vestibule_admission_duration_seconds_bucket{le="0.0005",webhook="best-effort"}"#;
    assert!(page.contains(duration), "{page}");
}

/// What is only observed is reported as that, and changes nothing: no patch, no warning, no Event.
#[tokio::test]
async fn what_is_observed_is_called_so() {
    let (road, _cluster) = stage(&format!("{RULES}{OBSERVE}")).await;
    let Outcome::Allowed(allowed) = call(&road, conflicting("web-5d4f"), false).await else {
        panic!("allowed")
    };
    assert!(allowed.patch.is_none() && allowed.warnings.shown.is_empty());
    let kept = allowed.audit_annotations.kept;
    assert_eq!(kept["best-effort/mode"], "observe");
    assert_eq!(kept["best-effort/rules"], "tool");
    assert_eq!(kept["best-effort/skipped"], "asked=not_opted_in,data=conflict");
    let page = road.page("/metrics").await;
    assert!(page.contains(r#"{rule="tool",result="observed",reason=""} 1"#), "{page}");
}

#[derive(Clone, Default)]
struct Log(Arc<Mutex<Vec<u8>>>);

impl Write for Log {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.lock().unwrap().extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

/// Values of the object and of the rules are seen nowhere but in the patch: not in the log at any level, nor in metrics,
/// Events, audit annotations and warnings.
#[tokio::test]
async fn secrets_are_seen_by_nobody() {
    let log = Log::default();
    let writer = log.clone();
    let subscriber = tracing_subscriber::fmt().with_max_level(LevelFilter::TRACE);
    let subscriber = subscriber.with_writer(move || writer.clone()).finish();
    // Everything runs on this thread.
    let _guard = tracing_subscriber::util::SubscriberInitExt::set_default(subscriber);
    let (road, cluster) = stage(RULES).await;
    let mut pod = conflicting("web-5d4f");
    pod["metadata"]["annotations"] = json!({"note": "s3cret", "inject.vestibule.dev/aksed": "s3cret"});
    let env = json!([{"name": "TOKEN", "value": "s3cret-of-the-pod"}, {"name": "OTHER", "value": "s3cret"}]);
    pod["spec"]["containers"][0]["env"] = env;
    let Outcome::Allowed(allowed) = call(&road, pod, false).await else { panic!("allowed") };
    assert!(allowed.patch.is_none(), "both rules meet something else");
    let seen = [
        allowed.warnings.shown.join("\n"),
        format!("{:?}", allowed.audit_annotations.kept),
        cluster.posted().await.1.to_string(),
        cluster.posted().await.1.to_string(),
        road.page("/metrics").await,
        String::from_utf8(log.0.lock().unwrap().clone()).unwrap(),
    ];
    for (text, part) in
        seen.iter().zip(["aksed", "conflict", "data", "TOKEN", "injections", "a rule has decided"])
    {
        assert!(text.contains(part), "{part}: {text}");
        assert!(!text.contains("s3cret"), "{part}: {text}");
    }
    assert_eq!(allowed.warnings.shown.len(), 3, "{:?}", allowed.warnings.shown);
}
