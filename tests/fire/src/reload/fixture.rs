//! Where rules change and pods are created.

use std::net::SocketAddr;
use std::time::Duration;

use anyhow::{Context, ensure};
use http::{Method, Request, StatusCode};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};

use super::pod::{Outcome, pod};

const APPLY: &str = "application/apply-patch+yaml";
const JSON: &str = "application/json";
/// Longer than anything that is waited for.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);
pub(super) const PAUSE: Duration = Duration::from_millis(20);

/// An injector that is installed by its printed manifests, and who asks the API server.
pub struct InjectorFixture {
    /// An administrator.
    pub admin: Client,
    /// The injector's own namespace.
    pub home: String,
    /// The namespace of pods.
    pub pod_namespace: String,
    /// The ConfigMap of rules.
    pub config_map: String,
    /// Where each replica says what is in force.
    pub replicas: Vec<SocketAddr>,
    /// What `vestibule manifests` printed, as far as it was applied.
    pub manifests: Vec<Value>,
}

impl InjectorFixture {
    /// A pod that is created by dry run: what is in it; why not.
    pub(super) async fn create(client: &Client, pod_namespace: &str) -> Result<Outcome, String> {
        let uri = format!("/api/v1/namespaces/{pod_namespace}/pods?dryRun=All");
        let (status, made) =
            send(client, Method::POST, &uri, JSON, &pod()).await.map_err(|error| format!("{error:#}"))?;
        if status.is_success() { Ok(Outcome::of(&made)) } else { Err(message(&made)) }
    }

    /// Writes the text of the ConfigMap `name`, labelled as one of rules; the status, and what was said.
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

    /// Applies the webhook configurations as they were printed.
    pub(super) async fn apply_configurations(&self) -> anyhow::Result<()> {
        let kind = |manifest: &&Value| {
            manifest["kind"].as_str().is_some_and(|kind| kind.ends_with("WebhookConfiguration"))
        };
        apply_all(&self.admin, self.manifests.iter().filter(kind)).await
    }

    /// How many webhooks are registered under `kind`: `mutating` or `validating`.
    pub(super) async fn entries(&self, kind: &str) -> anyhow::Result<usize> {
        let (_, found) = send(&self.admin, Method::GET, &configuration(kind), JSON, &Value::Null).await?;
        Ok(found["webhooks"].as_array().map_or(0, Vec::len))
    }
}

/// Where the injector's configuration is.
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

pub(super) async fn apply_all<'m>(
    client: &Client,
    manifests: impl IntoIterator<Item = &'m Value>,
) -> anyhow::Result<()> {
    for manifest in manifests {
        let (status, answer) = apply(client, manifest, "").await?;
        ensure!(status.is_success(), "{}: {}", manifest["metadata"]["name"], message(&answer));
    }
    Ok(())
}

/// As `kubectl apply --server-side --force-conflicts` does it.
async fn apply(client: &Client, manifest: &Value, options: &str) -> anyhow::Result<(StatusCode, Value)> {
    let text = |pointer: &str| manifest.pointer(pointer).and_then(Value::as_str);
    let namespace = text("/metadata/namespace").map(|name| format!("/namespaces/{name}")).unwrap_or_default();
    let version = text("/apiVersion").context("an apiVersion")?;
    let kind = text("/kind").context("a kind")?.to_lowercase();
    // Plurals as these kinds have them.
    let kind = kind.strip_suffix('y').map(|stem| format!("{stem}ie")).unwrap_or(kind);
    let (root, name) =
        (if version == "v1" { "api" } else { "apis" }, text("/metadata/name").context("a name")?);
    let uri = format!("/{root}/{version}{namespace}/{kind}s/{name}?fieldManager=fire&force=true{options}");
    send(client, Method::PATCH, &uri, APPLY, manifest).await
}

async fn send(
    client: &Client,
    method: Method,
    uri: &str,
    kind: &str,
    body: &Value,
) -> anyhow::Result<(StatusCode, Value)> {
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    let request = Request::builder().method(method).uri(uri).header("content-type", kind);
    let answer = client.send(request.body(Body::from(body))?).await?;
    let status = answer.status();
    let body = answer.into_body().collect_bytes().await?;
    Ok((status, serde_json::from_slice(&body)?))
}

fn message(answer: &Value) -> String {
    answer["message"].as_str().unwrap_or_default().to_owned()
}
