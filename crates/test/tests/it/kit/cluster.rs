//! The kit on a real API server.

use std::panic::AssertUnwindSafe;
use std::time::Duration;

use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};
use kube::api::{ApiResource, DynamicObject, ListParams, PostParams};
use kube::core::GroupVersionKind;
use kube::{Api, Client};
use serde_json::json;
use vestibule::Operation::{Connect, Create};
use vestibule::admission::Decision;
use vestibule::{App, Change, Context, FailurePolicy, Reject, Rule, Watch, deny, on, on_rules};
use vestibule_manifests::RegistrationMode;
use vestibule_test::{Breakage, Cluster};

/// The colour of the namespace, from a ConfigMap in it.
async fn paint(mut pod: Pod, context: Context) -> Result<Pod, Reject> {
    let Some(palette) = context.lookup::<ConfigMap>().get("palette").await? else {
        return Err(deny("there is no palette"));
    };
    let colour = palette.data.as_ref().and_then(|data| data.get("colour")).cloned().unwrap_or_default();
    context.audit("colour", colour.clone());
    pod.metadata.labels.get_or_insert_default().insert("colour".to_owned(), colour);
    Ok(pod)
}

async fn pass(_: Change<ConfigMap>, _: Context) -> Result<(), Reject> {
    Ok(())
}

fn app() -> App {
    let maps = || on::<ConfigMap>([Create]).timeout_seconds(5);
    App::new("painter")
        .watch(Watch::<ConfigMap>::new())
        .mutate("paint", on::<Pod>([Create]).failure_policy(FailurePolicy::Fail), paint)
        .validate("strict", maps().objects("strict").failure_policy(FailurePolicy::Fail), pass)
        .validate("loose", maps().objects("!strict").failure_policy(FailurePolicy::Ignore), pass)
}

fn pod(name: &str) -> Pod {
    let spec = json!({ "containers": [{ "name": "web", "image": "web:1" }] });
    serde_json::from_value(json!({ "metadata": { "name": name }, "spec": spec })).unwrap()
}

async fn create(client: Client, namespace: &str, name: &str, labels: &[&str]) -> kube::Result<ConfigMap> {
    let labels: serde_json::Map<_, _> = labels.iter().map(|label| ((*label).to_owned(), json!(""))).collect();
    let map = json!({ "metadata": { "name": name, "labels": labels }, "data": { "colour": "red" } });
    let map = serde_json::from_value(map).unwrap();
    Api::namespaced(client, namespace).create(&PostParams::default(), &map).await
}

#[tokio::test]
async fn an_app_runs_under_its_own_manifests() {
    let Some(cluster) = Cluster::shared_or_skip().await else { return };
    let mut installed = cluster.install(app()).await;
    let namespace = cluster.namespace(&[]).await;
    let pods: Api<Pod> = Api::namespaced(cluster.client(), &namespace);

    create(cluster.client(), &namespace, "palette", &[]).await.unwrap();
    let created = pods.create(&PostParams::default(), &pod("one")).await.unwrap();
    assert_eq!(created.metadata.labels.unwrap()["colour"], "red");
    let reviews = installed.reviews("paint");
    assert_eq!(reviews.len(), 1);
    assert_eq!((reviews[0].user.as_str(), reviews[0].decision), ("admin", Decision::Mutated(1)));
    assert_eq!(reviews[0].object["metadata"]["name"], "one");
    assert_eq!(installed.audit_annotations("paint"), [("colour".to_owned(), "red".to_owned())]);
    assert!(installed.audit_annotations("loose").is_empty());
    assert!(!installed.events().await.is_empty());

    // Hooks are not called in the namespace of another test.
    let other = cluster.environment().namespace(&[]).await.unwrap();
    let elsewhere: Api<Pod> = Api::namespaced(cluster.client(), other.name());
    elsewhere.create(&PostParams::default(), &pod("one")).await.unwrap();
    assert_eq!(installed.reviews("paint").len(), 1);

    installed.scale(3).await;
    installed.scale(1).await;
    pods.create(&PostParams::default(), &pod("two")).await.unwrap();
    assert_eq!(installed.reviews("paint").len(), 2);
    assert_eq!(installed.forbidden(), [""; 0]);
}

#[tokio::test]
async fn the_audit_annotations_of_a_stream_are_listed_once() {
    async fn no_proxy(_: Change<serde_json::Value>, context: Context) -> Result<(), Reject> {
        context.audit("stream", context.subresource().unwrap_or_default());
        Err(deny("no proxy"))
    }
    let Some(cluster) = Cluster::shared_or_skip().await else { return };
    let proxies = on_rules([Rule::new("v1", "pods/proxy", [Connect])]).failure_policy(FailurePolicy::Fail);
    let installed = cluster.install(App::new("streams").validate("no-proxy", proxies, no_proxy)).await;
    let namespace = cluster.namespace(&[]).await;
    let pods: Api<Pod> = Api::namespaced(cluster.client(), &namespace);
    let refused = pods.get_subresource("proxy", "web").await.unwrap_err().to_string();
    assert!(refused.contains("no proxy"), "{refused}");
    assert_eq!(installed.audit_annotations("no-proxy"), [("stream".to_owned(), "proxy".to_owned())]);
}

#[tokio::test]
async fn a_request_that_the_roles_do_not_grant_fails_the_test() {
    let Some(cluster) = Cluster::shared_or_skip().await else { return };
    let installed = cluster.install_with(app(), |installation| {
        installation.replicas = 1;
        // The other tests run in the default, which is `Managed`.
        installation.registration_mode = Some(RegistrationMode::Static);
    });
    let installed = installed.await;
    let (home, name) = (installed.namespace().to_owned(), installed.name().to_owned());
    // A handler that uses a right which its app does not declare makes such a request.
    let account = cluster.environment().service_account(&home, &name).await.unwrap();
    Api::<Secret>::namespaced(account, &home).list(&ListParams::default()).await.unwrap_err();
    assert_eq!(installed.forbidden(), [format!("list secrets in {home}")]);

    let panic = std::panic::catch_unwind(AssertUnwindSafe(|| drop(installed))).unwrap_err();
    let text = panic.downcast::<String>().unwrap();
    assert!(text.contains("list secrets") && text.contains("no rule for that"), "{text}");
}

#[tokio::test]
async fn hooks_break_in_every_way() {
    let Some(cluster) = Cluster::shared_or_skip().await else { return };
    let installed = cluster.install_with(app(), |installation| installation.replicas = 1).await;
    let namespace = cluster.namespace(&[]).await;
    let broken = [
        // On a busy machine the answer may miss the deadline.
        (
            Breakage::Slow(Duration::from_secs(60)),
            ["timeout: hook strict gave no verdict", "context deadline exceeded"],
        ),
        (Breakage::Panic, ["the handler of strict panicked"; 2]),
        (Breakage::Error, ["broken by the test"; 2]),
        (Breakage::NotReady, ["failed calling webhook"; 2]),
        (Breakage::CutConnection, ["EOF"; 2]),
    ];
    for (number, (breakage, texts)) in broken.into_iter().enumerate() {
        installed.break_with("strict", breakage);
        installed.break_with("loose", breakage);
        let name = format!("map-{number}");
        let refused = create(cluster.client(), &namespace, &name, &["strict"]).await.unwrap_err().to_string();
        assert!(texts.iter().any(|text| refused.contains(text)), "{breakage:?}: {refused}");
        create(cluster.client(), &namespace, &name, &[]).await.unwrap();
    }
    installed.mend("strict");
    installed.mend("loose");
    create(cluster.client(), &namespace, "mended", &["strict"]).await.unwrap();
    // A call whose connection was cut has no decision.
    let decisions: Vec<_> =
        installed.reviews("strict").iter().map(|review| review.decision.as_str()).collect();
    assert!(decisions.starts_with(&["fault", "fault", "fault", "not_ready"]), "{decisions:?}");
    assert_eq!(decisions.last(), Some(&"allowed"));

    // Other tests have installed an app of this name on the same API server.
    let palette = json!({ "metadata": { "name": "palette" }, "data": { "colour": "blue" } });
    let palette: ConfigMap = serde_json::from_value(palette).unwrap();
    Api::namespaced(cluster.client(), &namespace).create(&PostParams::default(), &palette).await.unwrap();
    Api::namespaced(cluster.client(), &namespace).create(&PostParams::default(), &pod("one")).await.unwrap();
    assert_eq!(installed.audit_annotations("paint"), [("colour".to_owned(), "blue".to_owned())]);
}

#[tokio::test]
async fn folders_are_applied_definitions_first() {
    let Some(cluster) = Cluster::shared_or_skip().await else { return };
    let namespace = cluster.namespace(&[]).await;
    cluster.apply("tests/folder", &namespace).await;
    let resource =
        ApiResource::from_gvk_with_plural(&GroupVersionKind::gvk("kit.example.com", "v1", "Cup"), "cups");
    let cups: Api<DynamicObject> = Api::namespaced_with(cluster.client(), &namespace, &resource);
    assert_eq!(cups.get("blue").await.unwrap().data["spec"]["colour"], "blue");
    Api::<ConfigMap>::namespaced(cluster.client(), &namespace).get("saucer").await.unwrap();
}
