//! The response in a review, decoded as Go decodes the typed struct and then verified as kube-apiserver verifies it.

mod fields;
mod verify;

use std::collections::BTreeMap;

use serde_json::Value;

use self::fields::Fields;
pub(super) use self::verify::verify;
use crate::outcome::Cause;
use crate::review::ReviewVersion;

/// `AdmissionResponse`, with Go's zero value for each absent member. It has no `Debug`, since it holds the patch.
pub(super) struct Response {
    pub(super) uid: String,
    pub(super) allowed: bool,
    pub(super) status: Status,
    pub(super) patch: Vec<u8>,
    pub(super) patch_type: Option<String>,
    pub(super) audit_annotations: BTreeMap<String, String>,
    pub(super) warnings: Vec<String>,
}

/// The members of `metav1.Status` that a denial uses.
pub(super) struct Status {
    pub(super) code: i32,
    pub(super) reason: String,
    pub(super) message: String,
    pub(super) causes: Vec<Cause>,
    pub(super) retry_after_seconds: i32,
}

/// Decodes the response of a review, [`None`] if it is absent; the error is the decoder's text.
pub(super) fn decode(review: &Value, version: ReviewVersion) -> Result<Option<Response>, String> {
    let (response, patch_type) = match version {
        ReviewVersion::V1 => ("v1.AdmissionResponse", "v1.PatchType"),
        ReviewVersion::V1Beta1 => ("v1beta1.AdmissionResponse", "v1beta1.PatchType"),
    };
    let Some(response) = Fields::root(review).object("response", response)? else { return Ok(None) };
    let status = response.object("status", "v1.Status")?.unwrap_or_default();
    let details = status.object("details", "v1.StatusDetails")?.unwrap_or_default();
    let mut causes = Vec::new();
    for cause in details.objects("causes", "[]v1.StatusCause", "v1.StatusCause")? {
        causes.push(Cause {
            reason: cause.string_of("reason", "v1.CauseType")?.unwrap_or_default(),
            message: cause.string("message")?.unwrap_or_default(),
            field: cause.string("field")?.unwrap_or_default(),
        });
    }
    Ok(Some(Response {
        uid: response.string_of("uid", "types.UID")?.unwrap_or_default(),
        allowed: response.boolean("allowed")?,
        status: Status {
            code: status.integer("code")?,
            reason: status.string_of("reason", "v1.StatusReason")?.unwrap_or_default(),
            message: status.string("message")?.unwrap_or_default(),
            causes,
            retry_after_seconds: details.integer("retryAfterSeconds")?,
        },
        patch: response.bytes("patch")?,
        patch_type: response.string_of("patchType", patch_type)?,
        audit_annotations: response.string_map("auditAnnotations")?,
        warnings: response.strings("warnings")?,
    }))
}
