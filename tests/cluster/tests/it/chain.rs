//! Several hooks of one app, and requests for which no hook is registered.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Instant;

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::ConfigMap;
use serde_json::json;
use vestibule::Operation::{Connect, Create, Delete, Update};
use vestibule::admission::{Handler, HandlerFuture, Request, Verdict};
use vestibule::{App, Change, Context, FailurePolicy, Reject, Rule, deny, on, on_raw};
use vestibule_admission::Decision;

use crate::cluster::Cluster;
use crate::samples::{config_map, deployment, pod};

pub(crate) async fn stamp(mut object: ConfigMap, _: Context) -> Result<ConfigMap, Reject> {
    object.data.get_or_insert_default().insert("stamp".to_owned(), "ours".to_owned());
    Ok(object)
}

async fn stamped(change: Change<ConfigMap>, _: Context) -> Result<(), Reject> {
    let data = change.object().and_then(|object| object.data.as_ref());
    match data.and_then(|data| data.get("stamp")) {
        Some(stamp) if stamp == "ours" => Ok(()),
        _ => Err(deny("not stamped").field("data.stamp", "missing")),
    }
}

#[tokio::test]
async fn a_validator_sees_what_the_mutator_of_the_same_app_made() {
    let Some(cluster) = Cluster::shared().await else { return };
    let app = App::new("stamps")
        .mutate("stamp", on([Create]).failure_policy(FailurePolicy::Fail), stamp)
        .validate("stamped", on([Create, Update]).failure_policy(FailurePolicy::Fail), stamped);
    let webhook = cluster.serve(app).await;
    let namespace = cluster.namespace(&[]).await;

    let created = namespace.create(&config_map("plain")).await.object();
    assert_eq!(created["data"], json!({ "user": "kept", "stamp": "ours" }));
    let hooks: Vec<_> = webhook.decisions.made().into_iter().map(|made| (made.hook, made.decision)).collect();
    let expected = [("stamp", Decision::Mutated(1)), ("stamped", Decision::Allowed)];
    assert_eq!(hooks, expected.map(|(hook, decision)| (hook.to_owned(), decision)));
    // The mutator is not called for updates, so the validator has something to refuse.
    let unstamped = namespace.merge(&config_map("plain"), &json!({ "data": { "stamp": null } })).await;
    assert!(unstamped.refusal(403).ends_with("denied the request: not stamped"));
}

#[tokio::test]
async fn a_validator_of_updates_knows_the_old_object_from_the_new() {
    async fn no_less(change: Change<ConfigMap>, _: Context) -> Result<(), Reject> {
        let lines = |object: ConfigMap| object.data.unwrap_or_default().len();
        match change {
            Change::Update { old, new } if lines(new.clone()) < lines(old.clone()) => {
                Err(deny("data only grows"))
            }
            _ => Ok(()),
        }
    }
    let Some(cluster) = Cluster::shared().await else { return };
    let app = App::new("growth").validate(
        "no-less",
        on([Create, Update]).failure_policy(FailurePolicy::Fail),
        no_less,
    );
    let _webhook = cluster.serve(app).await;
    let namespace = cluster.namespace(&[]).await;

    let object = config_map("settings");
    namespace.create(&object).await.object();
    namespace.merge(&object, &json!({ "data": { "more": "allowed" } })).await.object();
    let less = namespace.merge(&object, &json!({ "data": { "user": null } })).await;
    assert!(less.refusal(403).ends_with("data only grows"));
    assert_eq!(namespace.read(&object).await.object()["data"], json!({ "user": "kept", "more": "allowed" }));
}

#[tokio::test]
async fn a_validator_of_deletions_sees_the_old_object() {
    async fn protected(change: Change<ConfigMap>, _: Context) -> Result<(), Reject> {
        let Change::Delete { old } = change else { return Err(Reject::fault("only DELETE is registered")) };
        let labels = old.metadata.labels.unwrap_or_default();
        if labels.contains_key("keep") { Err(deny("it is to be kept")) } else { Ok(()) }
    }
    let Some(cluster) = Cluster::shared().await else { return };
    let app = App::new("protected").validate(
        "protected",
        on([Delete]).failure_policy(FailurePolicy::Fail),
        protected,
    );
    let _webhook = cluster.serve(app).await;
    let namespace = cluster.namespace(&[]).await;

    let mut kept = config_map("kept");
    kept["metadata"]["labels"] = json!({ "keep": "" });
    namespace.create(&kept).await.object();
    namespace.create(&config_map("free")).await.object();
    assert!(namespace.delete(&kept).await.refusal(403).ends_with("it is to be kept"));
    namespace.read(&kept).await.object();
    namespace.delete(&config_map("free")).await.object();
    namespace.read(&config_map("free")).await.refusal(404);
}

#[tokio::test]
async fn a_mutator_that_is_called_for_deletions_changes_nothing() {
    let Some(cluster) = Cluster::shared().await else { return };
    let namespace = cluster.namespace(&[]).await;
    let object = config_map("unstamped");
    namespace.create(&object).await.object();
    let webhook = cluster
        .serve(App::new("deletions").mutate("stamp", on([Delete]).failure_policy(FailurePolicy::Fail), stamp))
        .await;

    namespace.delete(&object).await.object();
    assert_eq!(webhook.decisions.take_distinct(), [Decision::Allowed]);
}

#[tokio::test]
async fn subresources_are_untouched_even_where_the_registration_was_widened() {
    let Some(cluster) = Cluster::shared().await else { return };
    let calls = Arc::new(AtomicUsize::new(0));
    let counted = calls.clone();
    let label = move |mut object: Deployment, _: Context| {
        counted.fetch_add(1, Ordering::Relaxed);
        object.metadata.labels.get_or_insert_default().insert("stamp".to_owned(), "ours".to_owned());
        async { Ok::<_, Reject>(object) }
    };
    let app =
        App::new("labels").mutate("label", on([Create, Update]).failure_policy(FailurePolicy::Fail), label);
    let widen = |hook: &mut serde_json::Value| {
        hook["rules"][0]["resources"] = json!(["deployments", "deployments/*"]);
    };
    let webhook = cluster.serve_as(app, widen).await;
    let namespace = cluster.namespace(&[]).await;

    let object = deployment("web", &[("app", "app:1")]);
    namespace.create(&object).await.object();
    let scaled =
        namespace.merge_subresource(&object, "scale", &json!({ "spec": { "replicas": 3 } })).await.object();
    assert_eq!(scaled["spec"]["replicas"], 3);
    let status = json!({ "status": { "replicas": 3 } });
    let updated = namespace.merge_subresource(&object, "status", &status).await.object();
    assert_eq!(updated["status"]["replicas"], 3);
    assert_eq!(calls.load(Ordering::Relaxed), 1, "only the creation is the handler's business");
    let decisions = webhook.decisions.take();
    assert_eq!(decisions[0], Decision::Mutated(1));
    // If its copy of the object is outdated, the API server repeats the change and the call.
    assert!(decisions.len() >= 3, "{decisions:?}");
    assert!(decisions[1..].iter().all(|decision| *decision == Decision::Allowed), "{decisions:?}");
}

/// Refuses every stream.
struct NoStreams;

impl Handler for NoStreams {
    fn handle<'a>(&'a self, request: &'a Request<'a>, _: Instant) -> HandlerFuture<'a> {
        let subresource = request.subresource.as_deref().unwrap_or_default();
        let verdict = Verdict::from(vestibule::admission::Denial::new(format!("no {subresource} here")));
        Box::pin(async { verdict })
    }
}

#[tokio::test]
async fn a_stream_into_a_pod_can_be_refused() {
    let Some(cluster) = Cluster::shared().await else { return };
    let exec = Rule::new("v1", "pods/exec", [Connect]);
    let app = App::new("streams").validate_raw(
        "no-streams",
        on_raw([exec]).failure_policy(FailurePolicy::Fail),
        NoStreams,
    );
    let _webhook = cluster.serve(app).await;
    let namespace = cluster.namespace(&[]).await;

    let object = pod("web", &[("app", "app:1")]);
    namespace.create(&object).await.object();
    assert!(namespace.connect(&object, "exec?command=id").await.refusal(403).ends_with("no exec here"));
}
