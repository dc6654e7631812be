//! Denials, which are always enforced, and faults, which `failurePolicy` handles.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::{Value, json};
use vestibule::Operation::Create;
use vestibule::admission::{FaultKind, Handler, HandlerFuture, Request, Verdict};
use vestibule::patch::{self, Pointer};
use vestibule::{App, Context, FailurePolicy, Mutate, Reject, Rule, deny, on, on_raw};
use vestibule_admission::Decision;
use vestibule_testenv::Recorder;

use crate::cluster::Cluster;
use crate::samples::config_map;
use crate::widget::Widget;

const TROUBLESHOOTING: &str = include_str!("../../../../docs/troubleshooting.md");

/// An app with one hook for new ConfigMaps. A hook that has not decided is reported half a second before the API server's
/// timeout; the margin is smaller for a shorter timeout.
fn app(policy: FailurePolicy, handler: impl Mutate<ConfigMap>) -> App {
    App::new("failures").mutate("fails", on([Create]).timeout_seconds(5).failure_policy(policy), handler)
}

fn raw(policy: FailurePolicy, handler: impl Handler) -> App {
    let rule = Rule::new("v1", "configmaps", [Create]);
    App::new("failures").mutate_raw("fails", on_raw([rule]).failure_policy(policy), handler)
}

async fn no_such_class(_: ConfigMap, context: Context) -> Result<ConfigMap, Reject> {
    context.warn("classes are deprecated");
    Err(deny("no such class").field("data.class", "unknown class"))
}

async fn out_of_order(mut object: ConfigMap, _: Context) -> Result<ConfigMap, Reject> {
    object.data = None;
    let lookup: Result<(), std::io::Error> = Err(std::io::Error::other("the lookup is out of order"));
    lookup?;
    Ok(object)
}

async fn never(_: ConfigMap, _: Context) -> Result<ConfigMap, Reject> {
    std::future::pending().await
}

/// Checks the status, causes and warnings of a denial.
#[track_caller]
fn assert_denied(reply: &crate::cluster::Reply) {
    let message = reply.refusal(403);
    assert_eq!(
        message,
        r#"admission webhook "fails.failures.vestibule.dev" denied the request: no such class"#
    );
    let status = reply.json();
    assert_eq!(status["reason"], "Forbidden");
    let cause = &status["details"]["causes"][0];
    assert_eq!((&cause["field"], &cause["message"]), (&json!("data.class"), &json!("unknown class")));
    assert_eq!(reply.warnings, ["classes are deprecated"]);
}

#[tokio::test]
async fn a_denial_is_shown_with_message_causes_and_warnings() {
    let Some(cluster) = Cluster::shared().await else { return };
    let webhook = cluster.serve(app(FailurePolicy::Fail, no_such_class)).await;
    let namespace = cluster.namespace(&[]).await;

    assert_denied(&namespace.create(&config_map("a")).await);
    assert_eq!(webhook.decisions.take(), [Decision::Denied(403)]);
}

#[tokio::test]
async fn a_denial_is_enforced_under_ignore_too() {
    let Some(cluster) = Cluster::shared().await else { return };
    let _webhook = cluster.serve(app(FailurePolicy::Ignore, no_such_class)).await;
    let namespace = cluster.namespace(&[]).await;

    assert_denied(&namespace.create(&config_map("a")).await);
    namespace.read(&config_map("a")).await.refusal(404);
}

#[tokio::test]
async fn a_fault_under_ignore_admits_the_object_as_it_was() {
    let Some(cluster) = Cluster::shared().await else { return };
    let webhook = cluster.serve(app(FailurePolicy::Ignore, out_of_order)).await;
    let namespace = cluster.namespace(&[]).await;

    let created = namespace.create(&config_map("a")).await.object();
    assert_eq!(created["data"], json!({ "user": "kept" }));
    assert_eq!(webhook.decisions.take(), [Decision::Fault(FaultKind::Error)]);
}

/// The alerts and the dashboard use these metrics.
#[tokio::test]
async fn the_metrics_of_the_api_server_are_as_documented() {
    const PAGE: &str = include_str!("../../../../docs/apiserver.md");
    async fn one_of_each(object: ConfigMap, context: Context) -> Result<ConfigMap, Reject> {
        if context.name() == Some("a") {
            no_such_class(object, context).await
        } else {
            out_of_order(object, context).await
        }
    }
    let Some(cluster) = Cluster::shared().await else { return };
    let _webhook = cluster.serve(app(FailurePolicy::Ignore, one_of_each)).await;
    let namespace = cluster.namespace(&[]).await;
    assert_denied(&namespace.create(&config_map("a")).await);
    namespace.create(&config_map("b")).await.object();

    let request = http::Request::get("/metrics").body(Vec::new()).unwrap();
    let metrics = cluster.client().request_text(request).await.unwrap();
    let rows = PAGE.lines().filter(|line| line.starts_with("| `apiserver_"));
    let mut asked = 0;
    for row in rows {
        let mut words = row.split('`').skip(1).step_by(2);
        let sample = format!("{}{{", words.next().unwrap());
        let labels: Vec<_> = words.map(|label| format!("{label}=\"")).collect();
        let of_ours = |line: &&str| {
            line.starts_with(&sample) && line.contains(r#"name="fails.failures.vestibule.dev""#)
        };
        let line = metrics.lines().find(of_ours).unwrap_or_else(|| panic!("{sample} is not there"));
        assert!(labels.iter().all(|label| line.contains(label)), "{row}: {line}");
        asked += 1;
    }
    assert_eq!(asked, 4);
}

#[tokio::test]
async fn a_fault_under_fail_refuses_with_its_own_message() {
    let Some(cluster) = Cluster::shared().await else { return };
    let _webhook = cluster.serve(app(FailurePolicy::Fail, out_of_order)).await;
    let namespace = cluster.namespace(&[]).await;

    let message = namespace.create(&config_map("a")).await.refusal(500);
    let quoted =
        r#"an error on the server ("the lookup is out of order") has prevented the request from succeeding"#;
    assert!(message.ends_with(quoted), "{message}");
    assert!(TROUBLESHOOTING.contains(&quoted.replace("the lookup is out of order", "TEXT")));
    namespace.read(&config_map("a")).await.refusal(404);
}

#[tokio::test]
async fn a_panic_is_a_fault_and_the_server_continues() {
    async fn explosive(object: ConfigMap, context: Context) -> Result<ConfigMap, Reject> {
        assert_ne!(context.name(), Some("bomb"), "secret {:?}", object.data);
        Ok(object)
    }
    let Some(cluster) = Cluster::shared().await else { return };
    let webhook = cluster.serve(app(FailurePolicy::Fail, explosive)).await;
    let namespace = cluster.namespace(&[]).await;

    let message = namespace.create(&config_map("bomb")).await.refusal(500);
    assert!(message.contains("the handler of fails panicked"), "{message}");
    assert!(!message.contains("secret"), "{message}");
    namespace.create(&config_map("harmless")).await.object();
    assert_eq!(webhook.decisions.take(), [Decision::Fault(FaultKind::Panic), Decision::Allowed]);
}

#[tokio::test]
async fn a_panic_under_ignore_admits() {
    let Some(cluster) = Cluster::shared().await else { return };
    async fn panics(_: ConfigMap, _: Context) -> Result<ConfigMap, Reject> {
        panic!("at every object")
    }
    let webhook = cluster.serve(app(FailurePolicy::Ignore, panics)).await;
    let namespace = cluster.namespace(&[]).await;

    namespace.create(&config_map("a")).await.object();
    assert_eq!(webhook.decisions.take(), [Decision::Fault(FaultKind::Panic)]);
}

#[tokio::test]
async fn a_slow_handler_under_ignore_admits() {
    let Some(cluster) = Cluster::shared().await else { return };
    let webhook = cluster.serve(app(FailurePolicy::Ignore, never)).await;
    let namespace = cluster.namespace(&[]).await;

    namespace.create(&config_map("a")).await.object();
    assert_eq!(webhook.decisions.take(), [Decision::Fault(FaultKind::Deadline)]);
}

#[tokio::test]
async fn a_slow_handler_under_fail_is_reported_before_the_api_server_times_out() {
    let Some(cluster) = Cluster::shared().await else { return };
    let webhook = cluster.serve(app(FailurePolicy::Fail, never)).await;
    let namespace = cluster.namespace(&[]).await;

    // The API server's own message has `context deadline exceeded` too, but does not name the hook.
    let message = namespace.create(&config_map("a")).await.refusal(500);
    assert!(message.contains("timeout: hook fails gave no verdict within "), "{message}");
    assert!(message.contains("context deadline exceeded"), "{message}");
    assert_eq!(webhook.decisions.take(), [Decision::Fault(FaultKind::Deadline)]);
}

fn widgets(policy: FailurePolicy) -> App {
    async fn grow(mut widget: Widget, _: Context) -> Result<Widget, Reject> {
        widget.spec.size += 1;
        Ok(widget)
    }
    App::new("failures").mutate("fails", on([Create]).failure_policy(policy), grow)
}

/// A widget whose size the API server accepts and the handler's type does not.
fn undecodable() -> Value {
    json!({
        "apiVersion": "cluster.test/v1",
        "kind": "Widget",
        "metadata": { "name": "odd" },
        "spec": { "size": "rather large" },
    })
}

#[tokio::test]
async fn an_undecodable_object_is_refused_under_fail_and_not_quoted() {
    let Some(cluster) = Cluster::shared().await else { return };
    Widget::define(&cluster).await;
    let webhook = cluster.serve(widgets(FailurePolicy::Fail)).await;
    let namespace = cluster.namespace(&[]).await;

    let message = namespace.create(&undecodable()).await.refusal(500);
    assert!(message.contains("cannot decode the object as Widget: line 1 column "), "{message}");
    assert!(!message.contains("rather large"), "{message}");
    assert_eq!(webhook.decisions.take(), [Decision::Fault(FaultKind::Undecodable)]);
}

#[tokio::test]
async fn an_undecodable_object_is_admitted_under_ignore() {
    let Some(cluster) = Cluster::shared().await else { return };
    Widget::define(&cluster).await;
    let _webhook = cluster.serve(widgets(FailurePolicy::Ignore)).await;
    let namespace = cluster.namespace(&[]).await;

    assert_eq!(namespace.create(&undecodable()).await.object()["spec"]["size"], "rather large");
}

/// Answers with a patch that does not apply to any ConfigMap.
struct Inapplicable;

impl Handler for Inapplicable {
    fn handle<'a>(&'a self, _: &'a Request<'a>, _: Instant) -> HandlerFuture<'a> {
        let path = Pointer::root().child("data").child("nobody");
        Box::pin(async { Verdict::mutated(vec![patch::Operation::Remove { path }]) })
    }
}

#[tokio::test]
async fn a_patch_that_does_not_apply_is_not_sent_and_ignore_admits() {
    let Some(cluster) = Cluster::shared().await else { return };
    let webhook = cluster.serve(raw(FailurePolicy::Ignore, Inapplicable)).await;
    let namespace = cluster.namespace(&[]).await;

    // If the patch were sent, the API server would refuse the object under Ignore too.
    namespace.create(&config_map("a")).await.object();
    assert_eq!(webhook.decisions.take(), [Decision::Fault(FaultKind::Patch)]);
}

#[tokio::test]
async fn a_patch_that_does_not_apply_is_not_sent_and_fail_refuses() {
    let Some(cluster) = Cluster::shared().await else { return };
    let _webhook = cluster.serve(raw(FailurePolicy::Fail, Inapplicable)).await;
    let namespace = cluster.namespace(&[]).await;

    let message = namespace.create(&config_map("a")).await.refusal(500);
    assert!(message.contains("invalid JSON patch, not sent"), "{message}");
}

/// Refuses the first call as not ready.
#[derive(Default)]
struct NotYet(AtomicBool);

impl Handler for NotYet {
    fn handle<'a>(&'a self, _: &'a Request<'a>, _: Instant) -> HandlerFuture<'a> {
        let asked_before = self.0.swap(true, Ordering::Relaxed);
        Box::pin(async move { if asked_before { Verdict::allowed() } else { Verdict::not_ready("caches") } })
    }
}

#[tokio::test]
async fn the_api_server_retries_while_the_webhook_is_not_ready() {
    let Some(cluster) = Cluster::shared().await else { return };
    let webhook = cluster.serve(raw(FailurePolicy::Fail, NotYet::default())).await;
    let namespace = cluster.namespace(&[]).await;

    namespace.create(&config_map("a")).await.object();
    assert_eq!(webhook.decisions.take(), [Decision::NotReady, Decision::Allowed]);
}

#[tokio::test]
async fn the_message_for_a_wrong_ca_is_in_the_troubleshooting_table() {
    let Some(cluster) = Cluster::shared().await else { return };
    let stranger = Recorder::allowing(&[]).unwrap().ca_bundle();
    let wrong_ca =
        |hook: &mut Value| hook["clientConfig"]["caBundle"] = json!(ByteString(stranger.0.clone()));
    let webhook = cluster.serve_as(app(FailurePolicy::Fail, out_of_order), wrong_ca).await;
    let namespace = cluster.namespace(&[]).await;

    let message = namespace.create(&config_map("a")).await.refusal(500);
    assert!(message.starts_with("Internal error occurred: failed calling webhook"), "{message}");
    assert!(has_row_for(&message), "docs/troubleshooting.md lacks: {message}");
    assert!(webhook.decisions.take().is_empty());
}

#[tokio::test]
async fn the_message_for_no_replica_is_in_the_troubleshooting_table() {
    let Some(cluster) = Cluster::shared().await else { return };
    let mut webhook = cluster.webhook().await;
    let app = app(FailurePolicy::Fail, out_of_order);
    webhook.register(&cluster, &webhook.registration(&app), |_| {}).await;
    let namespace = cluster.namespace(&[]).await;

    let message = namespace.create(&config_map("a")).await.refusal(500);
    assert!(has_row_for(&message), "docs/troubleshooting.md lacks: {message}");
}

/// Whether a row of the table begins with a part of `message`.
fn has_row_for(message: &str) -> bool {
    let rows = TROUBLESHOOTING.lines().filter_map(|line| line.strip_prefix("| `"));
    let words = rows.filter_map(|row| row.split(" | ").next()).flat_map(|cell| cell.split("`, `"));
    words.map(|words| words.trim_end_matches('`')).any(|words| message.contains(words))
}
