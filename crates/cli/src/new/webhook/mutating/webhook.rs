//! The changes of pods, without a cluster and on a real API server.

use k8s_openapi::api::core::v1::Pod;
use kube::Api;
use serde_json::{Value, json};
use vestibule_test::{Cluster, call};

fn pod() -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": { "name": "web" },
        "spec": { "containers": [{ "name": "web", "image": "nginx:1.29" }] },
    })
}

fn memory_limit(pod: &Pod) -> Option<&str> {
    let container = pod.spec.as_ref()?.containers.first()?;
    let limits = container.resources.as_ref()?.limits.as_ref()?;
    limits.get("memory").map(|limit| limit.0.as_str())
}

#[tokio::test]
async fn a_container_without_a_limit_gets_one_and_the_user_is_told() {
    let outcome = call(&my_mutator::app(), "memory").create(pod()).await;
    outcome.assert_object(|pod: &Pod| assert_eq!(memory_limit(pod), Some("128Mi")));
    outcome.assert_warned("container web has no memory limit");
    outcome.assert_idempotent().assert_keeps_unknown_fields();
}

#[tokio::test]
async fn a_limit_stays() {
    let mut pod = pod();
    pod["spec"]["containers"][0]["resources"] = json!({ "limits": { "memory": "1Gi" } });
    call(&my_mutator::app(), "memory").create(pod).await.assert_unchanged();
}

#[tokio::test]
async fn a_limit_is_not_below_the_request() {
    let mut pod = pod();
    pod["spec"]["containers"][0]["resources"] = json!({ "requests": { "memory": "1Gi" } });
    let outcome = call(&my_mutator::app(), "memory").create(pod).await;
    outcome.assert_object(|pod: &Pod| assert_eq!(memory_limit(pod), Some("1Gi")));
}

#[tokio::test]
async fn a_real_api_server_calls_the_hook() {
    let Some(cluster) = Cluster::shared_or_skip().await else { return };
    let installed = cluster.install(my_mutator::app()).await;
    let namespace = cluster.namespace(&[("my-mutator", "enabled")]).await;
    let pods: Api<Pod> = Api::namespaced(cluster.client(), &namespace);

    let pod: Pod = serde_json::from_value(pod()).unwrap();
    let created = pods.create(&Default::default(), &pod).await.unwrap();
    assert_eq!(memory_limit(&created), Some("128Mi"));
    assert!(!installed.reviews("memory").is_empty());
}
