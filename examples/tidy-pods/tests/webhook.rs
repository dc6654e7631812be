//! What happens to pods.

use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};
use vestibule::test::call;

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
