//! Defaulting and validation of clusters, with simulated StorageClasses; the page about the article, on a real API server.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

#[path = "../../../topolvm/tests/it/replay.rs"]
mod replay;

use etcd_operator::EtcdCluster;
use serde_json::{Value, json};
use vestibule::{App, Objects};
use vestibule_test::call;

#[tokio::test]
async fn the_article_about_cert_controller_is_replayed() {
    let page = include_str!("../../../../docs/how-to/articles/cert-controller.md");
    replay::replay(page, env!("CARGO_BIN_EXE_etcd-operator"), "etcd-system").await;
}

fn class(name: &str, day: u32, is_default: bool) -> Value {
    json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "provisioner": "example.dev/disk",
        "metadata": {
            "name": name,
            "creationTimestamp": format!("2026-01-{day:02}T00:00:00Z"),
            "annotations": { "storageclass.kubernetes.io/is-default-class": is_default.to_string() },
        },
    })
}

fn app() -> App {
    let classes = [("old", 1, true), ("fast", 3, false), ("new", 2, true), ("new-too", 2, true)];
    let classes = classes.map(|(name, day, is_default)| class(name, day, is_default));
    etcd_operator::app().lookups_from(classes.into_iter().fold(Objects::new(), Objects::with))
}

fn cluster(members: i32, size: &str, class: Option<&str>) -> Value {
    let mut storage = json!({ "size": size });
    if let Some(class) = class {
        storage["className"] = class.into();
    }
    json!({
        "apiVersion": "etcd.example.dev/v1", "kind": "EtcdCluster",
        "metadata": { "name": "store", "namespace": "shop" },
        "spec": { "members": members, "version": "3.6.4", "storage": storage },
    })
}

#[tokio::test]
async fn a_cluster_without_a_class_gets_the_newest_default_one_for_ever() {
    let outcome = call(&app(), "default").create(cluster(3, "1Gi", None)).await;
    outcome.assert_object(|cluster: &EtcdCluster| {
        assert_eq!(cluster.spec.storage.class_name.as_deref(), Some("new"));
    });
    outcome.assert_idempotent().assert_keeps_unknown_fields();
    call(&app(), "default").create(cluster(3, "1Gi", Some("fast"))).await.assert_unchanged();
    let without = etcd_operator::app().lookups_from(Objects::new());
    call(&without, "default").create(cluster(3, "1Gi", None)).await.assert_unchanged();
}

#[tokio::test]
async fn all_errors_are_reported_at_once() {
    let outcome = call(&app(), "valid").create(cluster(4, "0", Some("none"))).await;
    outcome.assert_denied("the EtcdCluster is invalid").assert_code(422);
    outcome.assert_cause("spec.members", "an even number");
    outcome.assert_cause("spec.storage.size", "not an amount above zero");
    outcome.assert_cause("spec.storage.className", "no such StorageClass");
    call(&app(), "valid").create(cluster(5, "100M", Some("fast"))).await.assert_allowed();
}

#[tokio::test]
async fn storage_grows_by_value_and_its_class_stays() {
    let update = |size: &'static str, class| {
        let app = app();
        async move {
            call(&app, "valid").update(cluster(3, "1Gi", Some("fast")), cluster(3, size, Some(class))).await
        }
    };
    // The same quantity, a larger one, and a smaller one with a larger number.
    update("1024Mi", "fast").await.assert_allowed();
    update("1.5Gi", "fast").await.assert_allowed();
    update("1000M", "fast").await.assert_cause("spec.storage.size", "storage never shrinks");
    update("1Gi", "new").await.assert_cause("spec.storage.className", "it never changes");
}

#[tokio::test]
async fn a_request_before_the_classes_are_known_is_to_be_retried() {
    let early = etcd_operator::app()
        .lookups_from(Objects::new().unsynced::<k8s_openapi::api::storage::v1::StorageClass>());
    call(&early, "default").create(cluster(3, "1Gi", None)).await.assert_not_ready();
    // This request needs no lookup.
    call(&early, "default").create(cluster(3, "1Gi", Some("fast"))).await.assert_unchanged();
}
