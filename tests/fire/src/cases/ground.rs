//! What cases stand on.

use serde_json::{Value, json};

/// A pod as Deployments make them, of about 2 KiB.
pub(super) fn pod() -> Value {
    let environment: Vec<_> =
        (0..16).map(|n| json!({ "name": format!("SETTING_{n}"), "value": "of some length" })).collect();
    let container = |name: &str| {
        json!({
            "name": name, "image": format!("registry.example.com/{name}:1.2.3"), "env": environment,
            "resources": { "requests": { "cpu": "100m", "memory": "64Mi" } },
        })
    };
    json!({
        "apiVersion": "v1", "kind": "Pod",
        "metadata": { "name": "web", "namespace": "fire", "labels": { "app": "web" } },
        "spec": { "containers": [container("app"), container("beside")] },
    })
}
