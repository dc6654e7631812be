//! A namespace, and the requests of a user in it.

use http::Method;
use kube::Client;
use serde_json::{Value, json};

use super::Reply;

const MERGE: &str = "application/merge-patch+json";
const APPLY: &str = "application/apply-patch+yaml";

/// A namespace. Objects are JSON, so that a request holds what a test wrote, and a reply what the API server stored.
#[derive(Clone)]
pub(crate) struct Namespace {
    client: Client,
    name: String,
}

impl Namespace {
    pub(crate) fn new(client: Client, name: String) -> Self {
        Self { client, name }
    }

    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) async fn create(&self, object: &Value) -> Reply {
        self.send(Method::POST, self.collection(object), "application/json", object).await
    }

    pub(crate) async fn create_dry_run(&self, object: &Value) -> Reply {
        let uri = format!("{}?dryRun=All", self.collection(object));
        self.send(Method::POST, uri, "application/json", object).await
    }

    pub(crate) async fn read(&self, object: &Value) -> Reply {
        self.send(Method::GET, self.path(object), "application/json", &Value::Null).await
    }

    pub(crate) async fn replace(&self, object: &Value) -> Reply {
        self.send(Method::PUT, self.path(object), "application/json", object).await
    }

    /// A merge patch (RFC 7386).
    pub(crate) async fn merge(&self, object: &Value, patch: &Value) -> Reply {
        self.send(Method::PATCH, self.path(object), MERGE, patch).await
    }

    /// A server-side apply of `object` by the field manager `manager`.
    pub(crate) async fn apply(&self, object: &Value, manager: &str) -> Reply {
        let uri = format!("{}?fieldManager={manager}", self.path(object));
        self.send(Method::PATCH, uri, APPLY, object).await
    }

    pub(crate) async fn delete(&self, object: &Value) -> Reply {
        self.send(Method::DELETE, self.path(object), "application/json", &Value::Null).await
    }

    /// A merge patch of a subresource.
    pub(crate) async fn merge_subresource(&self, object: &Value, subresource: &str, patch: &Value) -> Reply {
        self.send(Method::PATCH, format!("{}/{subresource}", self.path(object)), MERGE, patch).await
    }

    /// A stream into `object`, such as `exec?command=id`.
    pub(crate) async fn connect(&self, object: &Value, stream: &str) -> Reply {
        self.send(Method::POST, format!("{}/{stream}", self.path(object)), "application/json", &Value::Null)
            .await
    }

    /// Sets a label of the namespace itself.
    pub(crate) async fn label(&self, key: &str, value: &str) {
        let patch = json!({ "metadata": { "labels": { key: value } } });
        self.send(Method::PATCH, format!("/api/v1/namespaces/{}", self.name), MERGE, &patch).await.object();
    }

    async fn send(&self, method: Method, uri: String, media_type: &str, body: &Value) -> Reply {
        Reply::to(&self.client, method, &uri, media_type, body).await
    }

    fn path(&self, object: &Value) -> String {
        let name = object["metadata"]["name"].as_str().unwrap();
        format!("{}/{name}", self.collection(object))
    }

    /// The path of a kind; all kinds in use here have regular plurals.
    fn collection(&self, object: &Value) -> String {
        let text = |member: &str| object[member].as_str().unwrap();
        let version = text("apiVersion");
        let root = if version.contains('/') { "apis" } else { "api" };
        format!("/{root}/{version}/namespaces/{}/{}s", self.name, text("kind").to_lowercase())
    }
}
