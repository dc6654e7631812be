//! Requests about objects of the kinds that manifests have.

use http::Request;
use kube::Client;
use kube::client::Body;
use serde_json::Value;

use crate::CommandError;

/// The name under which the API server keeps the fields of these objects.
const MANAGER: &str = "vestibule-install";

/// An answer of the API server.
pub(super) struct Answer {
    pub(super) status: u16,
    pub(super) body: Value,
}

impl Answer {
    /// The object, or the API server's own words.
    pub(super) fn object(self) -> Result<Value, String> {
        match self.status {
            200..300 => Ok(self.body),
            _ => Err(self.message()),
        }
    }

    pub(super) fn message(&self) -> String {
        self.body["message"].as_str().map_or_else(|| format!("status {}", self.status), str::to_owned)
    }
}

/// Server-side apply. The fields of the manifests are taken over from other managers.
pub(super) async fn apply(client: &Client, object: &Value, dry_run: bool) -> Result<Answer, CommandError> {
    let dry_run = if dry_run { "&dryRun=All" } else { "" };
    send(
        client,
        "PATCH",
        &format!("{}?fieldManager={MANAGER}&force=true{dry_run}", path(object)),
        Some(object),
    )
    .await
}

/// Sends one request.
pub(super) async fn send(
    client: &Client,
    method: &str,
    uri: &str,
    body: Option<&Value>,
) -> Result<Answer, CommandError> {
    let kind = if method == "PATCH" { "application/apply-patch+yaml" } else { "application/json" };
    let text = body.map(Value::to_string).unwrap_or_default();
    let request = Request::builder().method(method).uri(uri).header("content-type", kind);
    let request = request.body(Body::from(text.into_bytes())).map_err(CommandError::running)?;
    let unreachable = |error: kube::Error| {
        CommandError::unreachable(format_args!("the API server does not answer: {error}"))
    };
    let response = client.send(request).await.map_err(unreachable)?;
    let status = response.status().as_u16();
    let bytes = response.into_body().collect_bytes().await.map_err(unreachable)?;
    Ok(Answer { status, body: serde_json::from_slice(&bytes).unwrap_or_default() })
}

/// The path of an object.
pub(super) fn path(object: &Value) -> String {
    format!("{}/{}", collection(object), object["metadata"]["name"].as_str().unwrap_or_default())
}

/// The path of the objects of its kind.
pub(super) fn collection(object: &Value) -> String {
    let version = object["apiVersion"].as_str().unwrap_or_default();
    let root = if version.contains('/') { "apis" } else { "api" };
    let (_, resource) = resource(object);
    match object["metadata"]["namespace"].as_str() {
        Some(namespace) => format!("/{root}/{version}/namespaces/{namespace}/{resource}"),
        None => format!("/{root}/{version}/{resource}"),
    }
}

/// The API group and the resource of an object's kind.
pub(super) fn resource(object: &Value) -> (String, String) {
    let version = object["apiVersion"].as_str().unwrap_or_default();
    let group = version.split_once('/').map_or("", |(group, _)| group);
    let kind = object["kind"].as_str().unwrap_or_default().to_lowercase();
    // Of the kinds in manifests only NetworkPolicy has another plural.
    let plural = kind.strip_suffix('y').map_or_else(|| format!("{kind}s"), |stem| format!("{stem}ies"));
    (group.to_owned(), plural)
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::path;

    #[test]
    fn paths_are_those_of_the_api_server() {
        for (object, wanted) in [
            (
                json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "a"}}),
                "/api/v1/namespaces/a",
            ),
            (
                json!({"apiVersion": "networking.k8s.io/v1", "kind": "NetworkPolicy", "metadata": {"name": "a", "namespace": "b"}}),
                "/apis/networking.k8s.io/v1/namespaces/b/networkpolicies/a",
            ),
            (
                json!({"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "metadata": {"name": "a"}}),
                "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/a",
            ),
        ] {
            assert_eq!(path(&object), wanted);
        }
    }
}
