//! Replies of the API server.

use http::{Method, Request, Response};
use kube::Client;
use kube::client::Body;
use serde_json::Value;

/// A reply, with the warnings that kubectl would print.
pub(crate) struct Reply {
    pub(crate) status: u16,
    pub(crate) warnings: Vec<String>,
    pub(crate) text: String,
}

impl Reply {
    /// The reply to a request with `body`, unless that is null.
    pub(crate) async fn to(
        client: &Client,
        method: Method,
        uri: &str,
        media_type: &str,
        body: &Value,
    ) -> Self {
        let body = if body.is_null() { Vec::new() } else { body.to_string().into_bytes() };
        let request = Request::builder().method(method).uri(uri).header("content-type", media_type);
        Self::read(client.send(request.body(Body::from(body)).unwrap()).await.unwrap()).await
    }

    pub(crate) async fn read(response: Response<Body>) -> Self {
        let warnings = response.headers().get_all("warning").iter();
        let warnings =
            warnings.map(|warning| unquoted(std::str::from_utf8(warning.as_bytes()).unwrap())).collect();
        let status = response.status().as_u16();
        let body = response.into_body().collect_bytes().await.unwrap();
        Self { status, warnings, text: String::from_utf8(body.to_vec()).unwrap() }
    }

    /// The object in a successful reply.
    #[track_caller]
    pub(crate) fn object(&self) -> Value {
        assert!((200..300).contains(&self.status), "{}: {}", self.status, self.text);
        self.json()
    }

    /// The message of a request that was refused with `status`.
    #[track_caller]
    pub(crate) fn refusal(&self, status: u16) -> String {
        assert_eq!(self.status, status, "{}", self.text);
        self.json()["message"].as_str().unwrap().to_owned()
    }

    pub(crate) fn json(&self) -> Value {
        serde_json::from_str(&self.text).unwrap()
    }
}

/// RFC 7234 section 5.5, as kube-apiserver writes it: `299 - "TEXT"`.
fn unquoted(warning: &str) -> String {
    let text = warning.strip_prefix("299 - \"").and_then(|text| text.strip_suffix('"')).unwrap_or(warning);
    text.replace("\\\"", "\"").replace("\\\\", "\\")
}
