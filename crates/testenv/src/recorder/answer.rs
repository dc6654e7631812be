//! The answers of a recorder.

use hyper::StatusCode;
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

/// The answer in terms of HTTP.
pub(super) enum Sent {
    Response { status: StatusCode, headers: Vec<(String, String)>, body: Vec<u8> },
    Silence,
    HangUp,
}

impl Answer {
    pub(super) fn sent(self, request: &Recorded) -> Sent {
        let json = || vec![("content-type".to_owned(), "application/json".to_owned())];
        let code = |status| StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR);
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
            Self::Raw(status, body) => return Sent::Response { status: code(status), headers: json(), body },
            Self::Http { status, headers, body } => {
                return Sent::Response { status: code(status), headers, body };
            }
            Self::Silence => return Sent::Silence,
            Self::HangUp => return Sent::HangUp,
        };
        let body = review(&request.review(), outcome).to_string().into_bytes();
        Sent::Response { status: StatusCode::OK, headers: json(), body }
    }
}

fn review(request: &Value, mut response: Value) -> Value {
    response["uid"] = request["request"]["uid"].clone();
    json!({ "apiVersion": request["apiVersion"], "kind": "AdmissionReview", "response": response })
}
