//! The response in a review: read as Go reads the typed struct, then checked as kube-apiserver checks it.

mod fields;
mod verify;

use std::collections::BTreeMap;

use serde_json::Value;

use crate::outcome::Cause;
use fields::Fields;
pub(super) use verify::verify;

/// `AdmissionResponse`, with Go's zero value for everything absent. No `Debug`: it holds the patch.
pub(super) struct Response {
    pub(super) uid: String,
    pub(super) allowed: bool,
    pub(super) status: Status,
    pub(super) patch: Vec<u8>,
    pub(super) patch_type: Option<String>,
    pub(super) audit_annotations: BTreeMap<String, String>,
    pub(super) warnings: Vec<String>,
}

/// The members of `metav1.Status` that a denial is made of.
pub(super) struct Status {
    pub(super) code: i32,
    pub(super) reason: String,
    pub(super) message: String,
    pub(super) causes: Vec<Cause>,
    pub(super) retry_after_seconds: i32,
}

/// Reads the response of a review, `None` where it is absent; the error is what the decoder says.
pub(super) fn decode(review: &Value) -> Result<Option<Response>, String> {
    let Some(response) = Fields::root(review).object("response")? else { return Ok(None) };
    let status = response.object("status")?.unwrap_or_default();
    let details = status.object("details")?.unwrap_or_default();
    let mut causes = Vec::new();
    for cause in details.objects("causes")? {
        causes.push(Cause {
            reason: cause.string("reason")?.unwrap_or_default(),
            message: cause.string("message")?.unwrap_or_default(),
            field: cause.string("field")?.unwrap_or_default(),
        });
    }
    Ok(Some(Response {
        uid: response.string("uid")?.unwrap_or_default(),
        allowed: response.boolean("allowed")?,
        status: Status {
            code: status.integer("code")?,
            reason: status.string("reason")?.unwrap_or_default(),
            message: status.string("message")?.unwrap_or_default(),
            causes,
            retry_after_seconds: details.integer("retryAfterSeconds")?,
        },
        patch: response.bytes("patch")?,
        patch_type: response.string("patchType")?,
        audit_annotations: response.string_map("auditAnnotations")?,
        warnings: response.strings("warnings")?,
    }))
}
