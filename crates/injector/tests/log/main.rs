//! What nobody sees of a decision. A program of its own: whether an event is recorded is remembered for the whole process by
//! whoever meets it first, so that a subscriber beside other tests may be told of none.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, dead_code)]

#[path = "../it/cluster.rs"]
mod cluster;
#[path = "../it/road.rs"]
mod road;
#[path = "../it/seen/stage.rs"]
mod stage;

use serde_json::json;
use tempfile::NamedTempFile;
use tracing_subscriber::filter::LevelFilter;
use vestibule_caller::Outcome;

use stage::{RULES, call, conflicting, stage};

/// Takes a value that no line of any file may be made of.
const VALUED: &str = "---
apiVersion: vestibule.dev/v1alpha1
kind: Injection
metadata: {name: valued}
spec:
  match: {objects: {labels: {app: web}}}
  parameters: [{name: note, type: string, annotation: note}]
  pod: {labels: {noted: {$cel: params.note}}}
";

/// Values of the object and of the rules are seen nowhere but in the patch: not in the log at any level, nor in metrics,
/// Events, audit annotations and warnings.
#[tokio::test]
async fn secrets_are_seen_by_nobody() {
    let log = NamedTempFile::new().unwrap();
    let subscriber = tracing_subscriber::fmt().with_max_level(LevelFilter::TRACE);
    subscriber.with_writer(log.reopen().unwrap()).init();
    let (road, cluster) = stage(&format!("{RULES}{VALUED}")).await;
    let mut pod = conflicting("web-5d4f");
    pod["metadata"]["annotations"] = json!({"note": "s3cret\nmetadata: {{s3cret}} $(s3cret)", "inject.vestibule.dev/aksed": "s3cret",
               "inject.vestibule.dev/asked": "s3cret", "vestibule.dev/inject": "s3cret"});
    let env = json!([{"name": "TOKEN", "value": "s3cret-of-the-pod"}, {"name": "OTHER", "value": "s3cret"}]);
    pod["spec"]["containers"][0]["env"] = env;
    let Outcome::Allowed(allowed) = call(&road, pod, false).await else { panic!("allowed") };
    assert!(allowed.patch.is_none(), "two rules meet something else, and two a value that is none");
    let seen = [
        allowed.warnings.shown.join("\n"),
        format!("{:?}", allowed.audit_annotations.kept),
        cluster.posted().await.1.to_string(),
        cluster.posted().await.1.to_string(),
        cluster.posted().await.1.to_string(),
        cluster.posted().await.1.to_string(),
        road.page("/metrics").await,
        std::fs::read_to_string(log.path()).unwrap(),
    ];
    let parts = [
        "aksed",
        "conflict",
        "invalid_value",
        "data",
        "TOKEN",
        "invalid_parameter",
        "injections",
        "a rule has decided",
    ];
    for (text, part) in seen.iter().zip(parts) {
        assert!(text.contains(part), "{part}: {text}");
        assert!(!text.contains("s3cret"), "{part}: {text}");
    }
    assert_eq!(allowed.warnings.shown.len(), 6, "{:?}", allowed.warnings.shown);
}
