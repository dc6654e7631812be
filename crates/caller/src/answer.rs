//! The answer of a webhook over HTTP.

use serde_json::Value;

/// An HTTP answer, read to its end. It has no `Debug`, since its body may hold a patch.
#[derive(Clone)]
pub struct Answer {
    /// The HTTP status.
    pub status: u16,
    /// The `Content-Type` header, if there was one.
    pub content_type: Option<String>,
    /// The body.
    pub body: Vec<u8>,
}

impl Answer {
    /// An answer of type `application/json`.
    pub fn json(status: u16, body: impl Into<Value>) -> Self {
        Self {
            status,
            content_type: Some("application/json".to_owned()),
            body: body.into().to_string().into_bytes(),
        }
    }
}
