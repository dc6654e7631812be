//! Requests to the API server.

use http::{Method, Request, StatusCode};
use kube::Client;
use kube::client::Body;
use serde_json::Value;

/// Sends `body`, unless it is null, with the media type `kind`. Returns the status and the object of the answer.
///
/// # Errors
/// The API server cannot be reached, or its answer is not JSON.
pub async fn send(
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
