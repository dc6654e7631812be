//! An installed injector, and requests to the API server about its rules and pods.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, ensure};
use http::{Method, StatusCode};
use kube::Client;
use serde_json::{Value, json};

use super::pod::{Outcome, pod};
use crate::rig::send;

const APPLY: &str = "application/apply-patch+yaml";
const JSON: &str = "application/json";
/// The limit of every wait.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);
pub(super) const PAUSE: Duration = Duration::from_millis(20);

/// An injector that is installed by its printed manifests.
pub struct InjectorFixture {
    /// A client with all rights.
    pub admin: Client,
    /// The injector's namespace.
    pub home: String,
    /// The namespace of the pods.
    pub pod_namespace: String,
    /// The name of the ConfigMap with the rules.
    pub config_map: String,
    /// The probe addresses of the replicas.
    pub replicas: Vec<SocketAddr>,
    /// The applied manifests of `vestibule manifests`.
    pub manifests: Vec<Value>,
}

impl InjectorFixture {
    /// Creates a pod by dry run and returns its outcome, or the API server's error message.
    pub(super) async fn create(client: &Client, pod_namespace: &str) -> Result<Outcome, String> {
        let uri = format!("/api/v1/namespaces/{pod_namespace}/pods?dryRun=All");
        let (status, made) =
            send(client, Method::POST, &uri, JSON, &pod()).await.map_err(|error| format!("{error:#}"))?;
        if status.is_success() { Ok(Outcome::of(&made)) } else { Err(message(&made)) }
    }

    /// Applies the ConfigMap `name` with rule documents; returns the status and message of the answer.
    pub(super) async fn write(
        &self,
        name: &str,
        text: &str,
        options: &str,
    ) -> anyhow::Result<(StatusCode, String)> {
        let config_map = json!({
            "apiVersion": "v1", "kind": "ConfigMap",
            "metadata": {"name": name, "namespace": self.home, "labels": {"vestibule.dev/config": "true"}},
            "data": {"rules.yaml": text},
        });
        let (status, answer) = apply(&self.admin, &config_map, options).await?;
        Ok((status, message(&answer)))
    }

    pub(super) async fn delete(&self, uri: &str) -> anyhow::Result<()> {
        let (status, answer) = send(&self.admin, Method::DELETE, uri, JSON, &json!({})).await?;
        ensure!(status.is_success(), "{uri}: {}", message(&answer));
        Ok(())
    }

    /// Applies the printed webhook configurations.
    pub(super) async fn apply_configurations(&self) -> anyhow::Result<()> {
        let is_configuration = |manifest: &&Value| {
            manifest["kind"].as_str().is_some_and(|kind| kind.ends_with("WebhookConfiguration"))
        };
        for manifest in self.manifests.iter().filter(is_configuration) {
            let (status, answer) = apply(&self.admin, manifest, "").await?;
            ensure!(status.is_success(), "{}: {}", manifest["metadata"]["name"], message(&answer));
        }
        Ok(())
    }

    /// The number of entries in the injector's configuration of `kind`, `mutating` or `validating`.
    pub(super) async fn entries(&self, kind: &str) -> anyhow::Result<usize> {
        let (_, found) = send(&self.admin, Method::GET, &configuration(kind), JSON, &Value::Null).await?;
        Ok(found["webhooks"].as_array().map_or(0, Vec::len))
    }
}

/// The URL path of the injector's webhook configuration.
pub(super) fn configuration(kind: &str) -> String {
    format!("/apis/admissionregistration.k8s.io/v1/{kind}webhookconfigurations/injector")
}

/// Waits until `condition` is true; its first error ends the wait.
pub(super) async fn until(
    what: &str,
    condition: impl AsyncFn() -> anyhow::Result<bool>,
) -> anyhow::Result<()> {
    let mut outcome = Ok(());
    let waited = vestibule_testenv::until(what, PATIENCE, async || match condition().await {
        Ok(is_true) => is_true,
        Err(error) => {
            outcome = Err(error);
            true
        }
    });
    waited.await?;
    outcome
}

/// The same request as `kubectl apply --server-side --force-conflicts`.
async fn apply(client: &Client, manifest: &Value, options: &str) -> anyhow::Result<(StatusCode, Value)> {
    let text = |pointer: &str| manifest.pointer(pointer).and_then(Value::as_str);
    let namespace = text("/metadata/namespace").map(|name| format!("/namespaces/{name}")).unwrap_or_default();
    let version = text("/apiVersion").context("an apiVersion")?;
    let kind = text("/kind").context("a kind")?.to_lowercase();
    // The plurals of the applied kinds end in `s` or `ies`.
    let kind = kind.strip_suffix('y').map(|stem| format!("{stem}ie")).unwrap_or(kind);
    let (root, name) =
        (if version == "v1" { "api" } else { "apis" }, text("/metadata/name").context("a name")?);
    let uri = format!("/{root}/{version}{namespace}/{kind}s/{name}?fieldManager=fire&force=true{options}");
    send(client, Method::PATCH, &uri, APPLY, manifest).await
}

fn message(answer: &Value) -> String {
    answer["message"].as_str().unwrap_or_default().to_owned()
}
