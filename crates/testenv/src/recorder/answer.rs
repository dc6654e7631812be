//! The answers of a recorder.

use k8s_openapi::ByteString;
use serde_json::{Value, json};

use super::Recorded;

/// How a [`Recorder`](super::Recorder) answers a review.
#[derive(Clone)]
#[non_exhaustive]
pub enum Answer {
    /// Allowed, unchanged.
    Allow,
    /// Denied with a message.
    Deny(String),
    /// Allowed, changed by a JSON Patch (RFC 6902).
    Patch(Value),
    /// An HTTP status and a body, as a broken server might send.
    Raw(u16, Vec<u8>),
    /// The same with headers of its own, `Content-Type` included.
    Http {
        /// The HTTP status.
        status: u16,
        /// Name and value of each header.
        headers: Vec<(String, String)>,
        /// The body.
        body: Vec<u8>,
    },
    /// No answer; the connection stays open.
    Silence,
    /// The connection is closed without an answer.
    HangUp,
}

impl Answer {
    /// The same answer as [`Answer::Http`], unless the request gets none.
    pub(super) fn http(self, request: &Recorded) -> Self {
        let headers = vec![("content-type".to_owned(), "application/json".to_owned())];
        let outcome = match self {
            Self::Allow => json!({ "allowed": true }),
            Self::Deny(message) => json!({
                "allowed": false,
                "status": { "code": 403, "reason": "Forbidden", "message": message },
            }),
            Self::Patch(patch) => json!({
                "allowed": true,
                "patchType": "JSONPatch",
                "patch": ByteString(patch.to_string().into_bytes()),
            }),
            Self::Raw(status, body) => return Self::Http { status, headers, body },
            other => return other,
        };
        let body = review(&request.review(), outcome).to_string().into_bytes();
        Self::Http { status: 200, headers, body }
    }
}

fn review(request: &Value, mut response: Value) -> Value {
    response["uid"] = request["request"]["uid"].clone();
    json!({ "apiVersion": request["apiVersion"], "kind": "AdmissionReview", "response": response })
}
