//! Requests to the API server that have to succeed, and the objects of the run.

use anyhow::{Context, ensure};
use fire::rig::send;
use http::Method;
use kube::Client;
use serde_json::{Value, json};

pub(crate) const JSON: &str = "application/json";
pub(crate) const MERGE: &str = "application/merge-patch+json";

/// The object of an answer that must be a success.
pub(crate) async fn done(
    client: &Client,
    method: Method,
    uri: &str,
    kind: &str,
    body: &Value,
) -> anyhow::Result<Value> {
    let (status, object) = send(client, method, uri, kind, body).await.with_context(|| uri.to_owned())?;
    ensure!(status.is_success(), "{uri}: {status}: {}", object["message"]);
    Ok(object)
}

/// A pod that the rules of the run match, with these volumes.
pub(crate) fn pod(name: &str, volumes: &[&str]) -> Value {
    let volumes: Vec<_> =
        volumes.iter().map(|name| json!({"name": name, "hostPath": {"path": "/srv"}})).collect();
    json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": {"name": name, "labels": {"app": "web"}},
        "spec": {"containers": [{"name": "app", "image": "app"}], "volumes": volumes},
    })
}

/// A ConfigMap that a hook of the webhook judges.
pub(crate) fn config_map(name: &str, hook: &str, outcome: &str) -> Value {
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, "labels": {"watching": hook}},
        "data": {"outcome": outcome},
    })
}
