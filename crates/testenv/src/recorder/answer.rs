//! What a recorder says.

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
    /// Whatever a broken server might say: an HTTP status and a body.
    Raw(u16, Vec<u8>),
}

impl Answer {
    pub(super) fn into_response(self, request: &Recorded) -> (StatusCode, Vec<u8>) {
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
            Self::Raw(status, body) => {
                return (StatusCode::from_u16(status).unwrap_or(StatusCode::INTERNAL_SERVER_ERROR), body);
            }
        };
        (StatusCode::OK, review(&request.review(), outcome).to_string().into_bytes())
    }
}

fn review(request: &Value, mut response: Value) -> Value {
    response["uid"] = request["request"]["uid"].clone();
    json!({ "apiVersion": request["apiVersion"], "kind": "AdmissionReview", "response": response })
}
