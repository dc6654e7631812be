//! The checks of kube-apiserver that a response must pass.

use serde_json::Value;

use super::Response;
use crate::conformance::body::text;
use crate::hook::HookKind;
use crate::review::{Review, ReviewVersion};

/// The only `patchType`.
const JSON_PATCH: &str = "JSONPatch";

/// Checks a response against its review; the error is kube-apiserver's text.
pub(in crate::conformance) fn verify(
    body: &Value,
    response: Option<Response>,
    review: &Review,
    kind: HookKind,
) -> Result<Response, String> {
    let response = response.ok_or("webhook response was absent")?;
    match review.version() {
        ReviewVersion::V1 => verify_v1(body, response, review, kind),
        ReviewVersion::V1Beta1 => Ok(accept_v1beta1(response, kind)),
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

/// A patch needs a type and a type needs a patch. The type itself is checked when the patch is applied.
fn verify_patch(response: &Response) -> Result<(), String> {
    match (response.patch.is_empty(), response.patch_type.as_deref()) {
        (true, None) => Ok(()),
        (false, None) => Err("webhook returned response.patch but not response.patchType".to_owned()),
        (true, Some(_)) => Err("webhook returned response.patchType but not response.patch".to_owned()),
        (false, Some("")) => Err("webhook returned invalid response.patchType of \"\"".to_owned()),
        (false, Some(_)) => Ok(()),
    }
}

/// In v1beta1, uid and type are not checked; a patch counts as a JSON Patch, and a validating hook's is ignored.
fn accept_v1beta1(response: Response, kind: HookKind) -> Response {
    let patch = if kind == HookKind::Mutating { response.patch } else { Vec::new() };
    Response { patch, patch_type: Some(JSON_PATCH.to_owned()), ..response }
}
