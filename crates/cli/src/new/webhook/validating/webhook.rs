//! The decisions about pods, without a cluster and on a real API server.

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
async fn an_image_without_a_tag_is_refused() {
    let app = my_validator::app();
    let outcome = call(&app, "images").create(pod("localhost:5000/nginx")).await;
    outcome
        .assert_denied("images need a tag or a digest")
        .assert_cause("spec.containers[0].image", "neither a tag nor a digest");
    call(&app, "images").create(pod("localhost:5000/nginx:1.29")).await.assert_allowed();
}

#[tokio::test]
async fn a_real_api_server_calls_the_hook() {
    let Some(cluster) = Cluster::shared_or_skip().await else { return };
    let installed = cluster.install(my_validator::app()).await;
    let namespace = cluster.namespace(&[("my-validator", "enabled")]).await;
    let pods: Api<Pod> = Api::namespaced(cluster.client(), &namespace);
    let create = async |image| {
        let pod: Pod = serde_json::from_value(pod(image)).unwrap();
        pods.create(&Default::default(), &pod).await
    };

    let refused = create("nginx").await.unwrap_err();
    assert!(refused.to_string().contains("images need a tag or a digest"), "{refused}");
    create("nginx:1.29").await.unwrap();
    assert_eq!(installed.reviews("images").len(), 2);
}
