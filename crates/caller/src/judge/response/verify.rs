//! The rules an answer must keep to be believed.

use serde_json::Value;

use super::Response;
use crate::judge::body::text;
use crate::{HookKind, Review, ReviewVersion};

/// The one `patchType` there is.
const JSON_PATCH: &str = "JSONPatch";

/// Checks a response against the review it answers; the error is what kube-apiserver says.
pub(in crate::judge) fn verify(
    body: &Value,
    response: Option<Response>,
    review: &Review,
    kind: HookKind,
) -> Result<Response, String> {
    let response = response.ok_or("webhook response was absent")?;
    match review.version() {
        ReviewVersion::V1 => verify_v1(body, response, review, kind),
        ReviewVersion::V1Beta1 => Ok(forgive_v1beta1(response, kind)),
    }
}

fn verify_v1(body: &Value, response: Response, review: &Review, kind: HookKind) -> Result<Response, String> {
    if response.uid != review.uid() {
        return Err(format!("expected response.uid={:?}, got {:?}", review.uid(), response.uid));
    }
    let got_version = text(body, "apiVersion")?.unwrap_or_default();
    let got_kind = text(body, "kind")?.unwrap_or_default();
    let expected_version = review.version().api_version();
    if got_version != expected_version || got_kind != "AdmissionReview" {
        let got_version = if got_version.is_empty() { "/" } else { got_version };
        return Err(format!(
            "expected webhook response of {expected_version}, Kind=AdmissionReview, got {got_version}, Kind={got_kind}"
        ));
    }
    match kind {
        HookKind::Mutating => verify_patch(&response)?,
        HookKind::Validating if !response.patch.is_empty() => {
            return Err("validating webhook may not return response.patch".to_owned());
        }
        HookKind::Validating if response.patch_type.is_some() => {
            return Err("validating webhook may not return response.patchType".to_owned());
        }
        HookKind::Validating => {}
    }
    Ok(response)
}

/// Patch and patch type come together or not at all. Which type it is matters only once the patch is used.
fn verify_patch(response: &Response) -> Result<(), String> {
    match (response.patch.is_empty(), response.patch_type.as_deref()) {
        (true, None) => Ok(()),
        (false, None) => Err("webhook returned response.patch but not response.patchType".to_owned()),
        (true, Some(_)) => Err("webhook returned response.patchType but not response.patch".to_owned()),
        (false, Some("")) => Err("webhook returned invalid response.patchType of \"\"".to_owned()),
        (false, Some(_)) => Ok(()),
    }
}

/// v1beta1 never checked uid or type; a patch is taken for a JSON Patch, and a validating hook's is not looked at.
fn forgive_v1beta1(response: Response, kind: HookKind) -> Response {
    let patch = if kind == HookKind::Mutating { response.patch } else { Vec::new() };
    Response { patch, patch_type: Some(JSON_PATCH.to_owned()), ..response }
}
