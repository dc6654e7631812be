//! Requests to an API server and its answers, as JSON.

use http::{Method, Request, StatusCode};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};

/// The configuration with the entries for pods.
pub(crate) const CONFIGURATION: &str =
    "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/injector";

const JSON: &str = "application/json";

/// An answer of the API server.
pub(crate) struct Reply {
    pub(crate) status: StatusCode,
    pub(crate) warnings: Vec<String>,
    pub(crate) body: Value,
}

impl Reply {
    /// The object in the answer.
    #[track_caller]
    pub(crate) fn object(self) -> Value {
        assert!(self.status.is_success(), "{}", self.body);
        self.body
    }
}

pub(crate) async fn get(client: &Client, uri: &str) -> Reply {
    send(client, Method::GET, uri, JSON, &Value::Null).await
}

pub(crate) async fn post(client: &Client, uri: &str, object: &Value) -> Reply {
    send(client, Method::POST, uri, JSON, object).await
}

pub(crate) async fn put(client: &Client, uri: &str, object: &Value) -> Reply {
    send(client, Method::PUT, uri, JSON, object).await
}

pub(crate) async fn merge_patch(client: &Client, uri: &str, patch: &Value) -> Reply {
    send(client, Method::PATCH, uri, "application/merge-patch+json", patch).await
}

pub(crate) async fn delete(client: &Client, uri: &str, options: &Value) -> Reply {
    send(client, Method::DELETE, uri, JSON, options).await
}

/// Server-side apply with these `parameters` of the query.
pub(crate) async fn apply(client: &Client, object: &Value, parameters: &str) -> Reply {
    let uri = format!("{}?{parameters}", path(object));
    send(client, Method::PATCH, &uri, "application/apply-patch+yaml", object).await
}

/// The path of `object` at the API server.
pub(crate) fn path(object: &Value) -> String {
    let version = object["apiVersion"].as_str().unwrap();
    let root = if version.contains('/') { "apis" } else { "api" };
    let kind = object["kind"].as_str().unwrap().to_lowercase();
    let plural = kind.strip_suffix('y').map_or_else(|| format!("{kind}s"), |stem| format!("{stem}ies"));
    let metadata = &object["metadata"];
    let within = metadata["namespace"].as_str().map(|namespace| format!("namespaces/{namespace}/"));
    format!("/{root}/{version}/{}{plural}/{}", within.unwrap_or_default(), metadata["name"].as_str().unwrap())
}

/// Asks the replicas of the injector in this namespace for a new CA.
pub(crate) async fn ask_for_rotation(client: &Client, namespace: &str) {
    let asked = json!({"metadata": {"annotations": {"vestibule.dev/rotate": "now"}}});
    let ring = format!("/api/v1/namespaces/{namespace}/secrets/injector-ring");
    merge_patch(client, &ring, &asked).await.object();
}

/// The `caBundle` of the entries for pods.
pub(crate) async fn ca_bundle(client: &Client) -> Value {
    get(client, CONFIGURATION).await.object()["webhooks"][0]["clientConfig"]["caBundle"].take()
}

async fn send(client: &Client, method: Method, uri: &str, kind: &str, body: &Value) -> Reply {
    let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
    let request = Request::builder().method(method).uri(uri).header("content-type", kind);
    let answer = client.send(request.body(Body::from(body)).unwrap()).await.unwrap();
    let status = answer.status();
    let warnings = answer.headers().get_all("warning").iter();
    let warnings = warnings.map(|warning| warning.to_str().unwrap().to_owned()).collect();
    let body = answer.into_body().collect_bytes().await.unwrap();
    Reply { status, warnings, body: serde_json::from_slice(&body).unwrap_or_default() }
}
