//! Lookups of handlers, with objects of the test.

use std::time::Duration;

use k8s_openapi::api::core::v1::{Namespace, PersistentVolumeClaim, Pod};
use kube::api::PartialObjectMeta;
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use vestibule::Operation::Create;
use vestibule::{App, Context, FailurePolicy, LookupError, Objects, Reject, Watch, on};
use vestibule_caller::{CallError, Hook, Outcome};

use crate::served::{Served, changed, review};

fn object<T: DeserializeOwned>(json: Value) -> T {
    serde_json::from_value(json).unwrap()
}

fn claim(namespace: &str, name: &str, node: &str) -> PersistentVolumeClaim {
    let annotations = json!({ "node": node });
    object(json!({"metadata": {"namespace": namespace, "name": name, "annotations": annotations,
                               "managedFields": [{"manager": "kubectl"}]}}))
}

fn namespace(name: &str) -> Namespace {
    object(json!({"metadata": {"name": name, "labels": {"team": "blue"}}}))
}

fn watch() -> Watch<PersistentVolumeClaim> {
    Watch::<PersistentVolumeClaim>::new().slim(|claim| claim.spec = None).index("by-node", |claim| {
        claim.metadata.annotations.iter().flatten().map(|(_, node)| node.clone()).collect()
    })
}

fn app<F: Future<Output = Result<Pod, Reject>> + Send + 'static>(
    handler: impl Fn(Pod, Context) -> F + Send + Sync + 'static,
) -> App {
    App::new("demo").mutate("look", on::<Pod>([Create]).failure_policy(FailurePolicy::Fail), handler)
}

/// The words that `look` leaves as an annotation.
async fn found(app: App) -> String {
    let served = Served::start(app).await;
    let object = changed(served.outcome(&review(), &Hook::mutating("look", "/mutate/look")).await);
    served.stop().await;
    object["metadata"]["annotations"]["found"].as_str().unwrap().to_owned()
}

fn leave(mut pod: Pod, words: impl Into<String>) -> Result<Pod, Reject> {
    pod.metadata.annotations.get_or_insert_default().insert("found".to_owned(), words.into());
    Ok(pod)
}

#[tokio::test]
async fn lookups_in_tests_need_no_cluster() {
    let look = async |pod: Pod, context: Context| {
        let claims = || context.lookup::<PersistentVolumeClaim>();
        let name = |found: Option<std::sync::Arc<PersistentVolumeClaim>>| {
            found.map(|claim| format!("{:?}/{:?}", claim.metadata.namespace, claim.metadata.managed_fields))
        };
        let names = |found: Vec<std::sync::Arc<PersistentVolumeClaim>>| {
            found.iter().map(|claim| claim.metadata.name.clone().unwrap()).collect::<Vec<_>>()
        };
        assert_eq!(name(claims().get("a").await?), Some("Some(\"shop\")/None".to_owned()));
        assert_eq!(name(claims().cached("late")?), None);
        assert!(claims().get("late").await?.is_some() && claims().fresh("late").await?.is_some());
        assert!(claims().get("none").await?.is_none());
        assert!(claims().get("z").await?.is_none() && claims().within("else").get("z").await?.is_some());
        assert_eq!(names(claims().list()?), ["a", "b"]);
        assert_eq!(names(claims().everywhere().list()?), ["z", "a", "b"]);
        assert_eq!(names(claims().by_index("by-node", "one")?), ["a"]);
        assert_eq!(names(claims().everywhere().by_index("by-node", "one")?), ["z", "a"]);
        let labels = context.lookup::<PartialObjectMeta<Namespace>>().get("shop").await?.unwrap();
        leave(pod, labels.metadata.labels.as_ref().unwrap()["team"].clone())
    };
    let objects = Objects::new()
        .with(claim("shop", "b", "two"))
        .with(claim("shop", "a", "one"))
        .with(claim("else", "z", "one"))
        .with_unseen(claim("shop", "late", "one"))
        .with(namespace("shop"));
    let app = app(look).watch(watch()).read::<PartialObjectMeta<Namespace>>().lookups_from(objects);
    assert_eq!(found(app).await, "blue");
}

#[tokio::test]
async fn a_lookup_that_cannot_be_answered_says_what_to_do() {
    let look = async |pod: Pod, context: Context| {
        let claims = || context.lookup::<PersistentVolumeClaim>();
        let said = [
            context.lookup::<Pod>().get("a").await.map(drop).unwrap_err(),
            context.lookup::<Namespace>().list().map(drop).unwrap_err(),
            claims().by_index("by-colour", "red").map(drop).unwrap_err(),
            claims().everywhere().get("a").await.map(drop).unwrap_err(),
            claims().within("else").get("a").await.map(drop).unwrap_err(),
        ];
        leave(pod, said.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))
    };
    let app = app(look).watch(watch().namespace("shop")).read::<Namespace>().lookups_from(Objects::new());
    let said = found(app).await;
    for words in [
        "Pod is not looked up by this app: add `.watch(Watch::<Pod>::new())`",
        "this app keeps no Namespace in memory",
        "has no index `by-colour`",
        "which PersistentVolumeClaim is meant?",
        "is watched in namespace shop only, not in else",
    ] {
        assert!(said.contains(words), "{words} in {said}");
    }
}

#[tokio::test]
async fn an_unsynced_lookup_is_not_ready_and_every_other_error_is_a_fault() {
    #[derive(Debug, thiserror::Error)]
    #[error("no class")]
    struct Wrapped(#[source] LookupError);

    let look = async |pod: Pod, context: Context| {
        context.lookup::<Namespace>().get("shop").await.map_err(Wrapped)?;
        Ok(pod)
    };
    let fail = async |pod: Pod, context: Context| {
        context.lookup::<PersistentVolumeClaim>().get("a").await?;
        Ok(pod)
    };
    let app = app(look).watch(Watch::<Namespace>::new()).lookups_from(Objects::new().unsynced::<Namespace>());
    let app = app.mutate("fail", on::<Pod>([Create]).failure_policy(FailurePolicy::Fail), fail);
    let app = app.mutate(
        "free",
        on::<Pod>([Create]).failure_policy(FailurePolicy::Fail),
        async |pod: Pod, _: Context| leave(pod, ""),
    );
    let served = Served::start(app).await;
    let outcome = |name: &'static str| {
        let hook = Hook::mutating(name, &format!("/mutate/{name}"));
        let served = &served;
        async move { served.outcome(&review(), &hook).await }
    };
    let hook = Hook::mutating("look", "/mutate/look").timeout(Duration::from_secs(1));
    let unanswered = served.caller.call(&review(), &hook).await.err().unwrap();
    assert!(matches!(unanswered, CallError::Deadline { .. }), "asked again until the end: {unanswered}");
    let Outcome::Failed(failed) = outcome("fail").await else { panic!("there was an answer") };
    assert!(failed.message.contains("is not looked up by this app"), "{}", failed.message);
    let _ = changed(outcome("free").await);
    let (_, body) = served.probe("/readyz").await;
    assert_eq!(body, "not ready: the first list of Namespace");
    let (_, metrics) = served.probe("/metrics").await;
    assert!(metrics.contains(r#"vestibule_store_ready{kind="Namespace"} 0"#), "{metrics}");
    served.stop().await;
}
