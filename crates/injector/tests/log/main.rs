//! Values that no log, metric or Event may hold. A program of its own: `tracing` caches for the whole process whether an event
//! is recorded, so beside other tests a subscriber might receive none.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, dead_code)]

#[path = "../it/fake_cluster.rs"]
mod fake_cluster;
#[path = "../it/fixture.rs"]
mod fixture;
#[path = "../it/reporting/fixture.rs"]
mod reporting;

use serde_json::json;
use tempfile::NamedTempFile;
use tracing_subscriber::filter::LevelFilter;

use reporting::{RULES, call, conflicting, injector_on_cluster};

/// A rule that writes a value from an annotation into a label.
const VALUED: &str = "---
apiVersion: vestibule.dev/v1alpha1
kind: Injection
metadata: {name: valued}
spec:
  match: {objectSelector: {matchLabels: {app: web}}}
  parameters: [{name: note, type: string, annotation: note}]
  pod: {labels: {noted: {$cel: params.note}}}
";

/// Values of the object and of the rules are in the patch only: not in the log at any level, nor in metrics, Events, audit
/// annotations and warnings.
#[tokio::test]
async fn secrets_are_in_the_patch_only() {
    let log = NamedTempFile::new().unwrap();
    let subscriber = tracing_subscriber::fmt().with_max_level(LevelFilter::TRACE);
    subscriber.with_writer(log.reopen().unwrap()).init();
    let (injector, cluster) = injector_on_cluster(&format!("{RULES}{VALUED}")).await;
    let mut pod = conflicting("web-5d4f");
    pod["metadata"]["annotations"] = json!({"note": "s3cret\nmetadata: {{s3cret}} $(s3cret)", "inject.vestibule.dev/aksed": "s3cret",
               "inject.vestibule.dev/asked": "s3cret", "vestibule.dev/inject": "s3cret"});
    let env = json!([{"name": "TOKEN", "value": "s3cret-of-the-pod"}, {"name": "OTHER", "value": "s3cret"}]);
    pod["spec"]["containers"][0]["env"] = env;
    let allowed = call(&injector, pod, false).await;
    assert!(allowed.patch.is_none(), "two rules meet something else, and two a value that is none");
    let seen = [
        allowed.warnings.shown.join("\n"),
        format!("{:?}", allowed.audit_annotations.kept),
        cluster.posted().await.1.to_string(),
        cluster.posted().await.1.to_string(),
        cluster.posted().await.1.to_string(),
        cluster.posted().await.1.to_string(),
        injector.page("/metrics").await,
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
