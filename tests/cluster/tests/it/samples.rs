//! Sample objects of users.

use serde_json::{Value, json};

/// A pod with containers of these names and images.
pub(crate) fn pod(name: &str, containers: &[(&str, &str)]) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": { "name": name },
        "spec": { "containers": self::containers(containers) },
    })
}

/// knative's sample: a deployment of one container.
pub(crate) fn helloworld() -> Value {
    deployment("helloworld-go", &[("user-container", "gcr.io/knative-samples/helloworld-go")])
}

/// A deployment of containers of these names and images, labelled `app: NAME` from top to bottom.
pub(crate) fn deployment(name: &str, containers: &[(&str, &str)]) -> Value {
    json!({
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": { "name": name, "labels": { "app": name } },
        "spec": {
            "selector": { "matchLabels": { "app": name } },
            "template": {
                "metadata": { "labels": { "app": name } },
                "spec": { "containers": self::containers(containers) },
            },
        },
    })
}

pub(crate) fn config_map(name: &str) -> Value {
    json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": { "user": "kept" } })
}

/// The names in a list, in order.
#[track_caller]
pub(crate) fn names(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap()).collect()
}

fn containers(containers: &[(&str, &str)]) -> Vec<Value> {
    containers.iter().map(|(name, image)| json!({ "name": name, "image": image })).collect()
}
