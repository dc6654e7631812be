//! The changes of pods.

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use serde_json::{Value, json};
use vestibule_test::{Cluster, call};

fn pod(image: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": { "name": "web" },
        "spec": { "containers": [{ "name": "web", "image": image }] },
    })
}

#[tokio::test]
async fn a_container_without_a_limit_gets_one_and_the_user_is_told() {
    let outcome = call(&tidy_pods::app(), "memory").create(pod("nginx:1.29")).await;
    outcome.assert_allowed().assert_object(|pod: &Pod| {
        let resources = pod.spec.as_ref().unwrap().containers[0].resources.as_ref().unwrap();
        assert_eq!(resources.limits.as_ref().unwrap()["memory"].0, "128Mi");
    });
    outcome.assert_warned("container web has no memory limit");
    outcome.assert_idempotent().assert_keeps_unknown_fields();
}

#[tokio::test]
async fn an_image_without_a_tag_is_refused() {
    let app = tidy_pods::app();
    let outcome = call(&app, "images").create(pod("localhost:5000/nginx")).await;
    outcome
        .assert_denied("images need a tag")
        .assert_cause("spec.containers[0].image", "neither tag nor digest");
    call(&app, "images").create(pod("localhost:5000/nginx:1.29")).await.assert_allowed();
}

#[tokio::test]
async fn a_real_api_server_agrees() {
    let Some(cluster) = Cluster::shared_or_skip().await else { return };
    let installed = cluster.install(tidy_pods::app()).await;
    let namespace = cluster.namespace(&[("tidy", "true")]).await;
    let pods: Api<Pod> = Api::namespaced(cluster.client(), &namespace);
    let create = async |image| {
        let pod = serde_json::from_value(pod(image)).unwrap();
        pods.create(&Default::default(), &pod).await
    };

    let refused = create("nginx").await.unwrap_err();
    assert!(refused.to_string().contains("images need a tag"), "{refused}");
    let created = create("nginx:1.29").await.unwrap();
    let resources = created.spec.unwrap().containers[0].resources.clone().unwrap();
    assert_eq!(resources.limits.unwrap()["memory"].0, "128Mi");
    assert_eq!(installed.reviews("images").len(), 2);
}
