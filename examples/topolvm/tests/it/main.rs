//! The requests of claims. `tests/examples` checks the same on a real API server.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]

mod replay;

use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};
use topolvm::{CAPACITY, app};
use vestibule::Objects;
use vestibule_test::{Outcome, call};

const GIBIBYTE: u64 = 1 << 30;

#[tokio::test]
async fn the_article_about_kubebuilder_is_replayed() {
    let page = include_str!("../../../../docs/how-to/articles/kubebuilder.md");
    replay::replay(page, env!("CARGO_BIN_EXE_topolvm"), "topolvm-system").await;
}

fn class(name: &str, provisioner: &str) -> Value {
    json!({
        "apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "metadata": { "name": name },
        "provisioner": provisioner,
    })
}

fn claim(name: &str, class: &str, phase: &str, storage: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": { "name": name, "namespace": "shop" },
        "spec": { "storageClassName": class, "resources": { "requests": { "storage": storage } } },
        "status": { "phase": phase },
    })
}

fn pod(claims: &[&str]) -> Value {
    let volumes =
        claims.iter().map(|claim| json!({ "name": claim, "persistentVolumeClaim": { "claimName": claim } }));
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "web" },
        "spec": {
            "containers": [{ "name": "first", "resources": { "limits": { "cpu": "1" } } }, { "name": "second" }],
            "volumes": volumes.chain([json!({ "name": "scratch", "emptyDir": {} })]).collect::<Vec<_>>(),
        },
    })
}

fn cluster() -> Objects {
    let objects = [
        class("topolvm", "topolvm.cybozu.com"),
        class("nfs", "example.com/nfs"),
        claim("pvc1", "topolvm", "Pending", "1Gi"),
        claim("odd", "topolvm", "Pending", "1500M"),
        claim("bound", "topolvm", "Bound", "1Gi"),
        claim("nfs", "nfs", "Pending", "1Gi"),
        claim("lost", "no-such-class", "Pending", "1Gi"),
        claim("classless", "", "Pending", "1Gi"),
    ];
    objects.into_iter().fold(Objects::new(), Objects::with)
}

async fn made(objects: Objects, claims: &[&str]) -> Outcome {
    call(&app(), "capacity").create(pod(claims)).namespace("shop").with(objects).await
}

#[tokio::test]
async fn the_first_container_gets_the_requests_of_pending_claims() {
    for (claims, expected) in [
        (&["pvc1"][..], GIBIBYTE),
        (&["pvc1", "odd"], 3 * GIBIBYTE),
        (&["pvc1", "nfs", "lost", "classless", "not-there"], GIBIBYTE),
    ] {
        let outcome = made(cluster(), claims).await;
        outcome.assert_allowed().assert_idempotent().assert_keeps_unknown_fields().assert_object(
            |pod: &Pod| {
                let containers = &pod.spec.as_ref().unwrap().containers;
                let resources = containers[0].resources.as_ref().unwrap();
                for asked in [&resources.requests, &resources.limits] {
                    assert_eq!(asked.as_ref().unwrap()[CAPACITY].0, expected.to_string(), "{claims:?}");
                }
                assert_eq!(resources.limits.as_ref().unwrap()["cpu"].0, "1");
                assert!(containers[1].resources.is_none());
            },
        );
    }
}

#[tokio::test]
async fn other_pods_are_unchanged() {
    for claims in [&[][..], &["nfs"], &["pvc1", "bound"], &["not-there"]] {
        made(cluster(), claims).await.assert_unchanged();
    }
}

#[tokio::test]
async fn a_new_claim_and_a_new_class_are_found() {
    let cluster = Objects::new()
        .with_unseen(class("topolvm", "topolvm.cybozu.com"))
        .with_unseen(claim("pvc1", "topolvm", "Pending", "1Gi"));
    made(cluster, &["pvc1"]).await.assert_object(|pod: &Pod| {
        let resources = pod.spec.as_ref().unwrap().containers[0].resources.as_ref().unwrap();
        assert_eq!(resources.requests.as_ref().unwrap()[CAPACITY].0, GIBIBYTE.to_string());
    });
}

#[tokio::test]
async fn claims_with_invalid_sizes_are_faults() {
    let cluster = cluster().with(claim("nonsense", "topolvm", "Pending", "a lot"));
    made(cluster, &["nonsense"]).await.assert_fault_says("not a quantity");
    let unsynced = self::cluster().unsynced::<k8s_openapi::api::storage::v1::StorageClass>();
    made(unsynced, &["pvc1"]).await.assert_not_ready();
}
