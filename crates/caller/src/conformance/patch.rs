//! Applies the patch of an answer.

mod go_json_patch;

use serde_json::Value;

use super::body::type_name;
use super::json;
use super::response::Response;
use crate::hook::Hook;
use crate::outcome::Failed;

/// The object after a patch, and the patch. It has no `Debug`, since both hold values of objects.
pub(super) struct Patched {
    pub(super) object: Value,
    pub(super) patch: Value,
    pub(super) leniency: Option<String>,
}

/// Applies the patch; [`None`] if there is none or it is empty.
pub(super) fn apply(
    response: &Response,
    object: Option<&Value>,
    hook: &Hook,
) -> Result<Option<Patched>, Box<Failed>> {
    if response.patch.is_empty() {
        return Ok(None);
    }
    let calling = |why: &str| Box::new(Failed::calling(hook, why));
    let internal = |why: &str| Box::new(Failed::internal(why));
    let undecodable = |why: &str| calling(&format!("received undecodable patch in webhook response: {why}"));
    let patch = json::parse(&response.patch).map_err(|why| undecodable(&why))?;
    let steps = match &patch {
        Value::Null => return Ok(None),
        Value::Array(steps) if steps.is_empty() => return Ok(None),
        Value::Array(steps) => steps,
        other => return Err(undecodable(&mismatch(other, "jsonpatch.Patch"))),
    };
    if let Some(step) = steps.iter().find(|step| !step.is_object() && !step.is_null()) {
        return Err(undecodable(&mismatch(step, "jsonpatch.Operation")));
    }
    let Some(object) = object else {
        return Err(internal(&format!(
            "admission webhook {:?} attempted to modify the object, which is not supported for this operation",
            hook.name()
        )));
    };
    let patch_type = response.patch_type.as_deref().unwrap_or_default();
    if patch_type != "JSONPatch" {
        return Err(calling(&format!("unsupported patch type {patch_type:?}")));
    }
    let patched = go_json_patch::apply(steps, object).map_err(|why| internal(&why))?;
    check_type(object, &patched).map_err(internal)?;
    let leniency = beyond_rfc_6902(&patch, object, &patched);
    Ok(Some(Patched { object: patched, patch, leniency }))
}

fn mismatch(value: &Value, wanted: &str) -> String {
    format!("json: cannot unmarshal {} into Go value of type {wanted}", type_name(value))
}

/// Why a strict implementation of RFC 6902 refuses the patch, or a note that its result differs.
fn beyond_rfc_6902(patch: &Value, object: &Value, patched: &Value) -> Option<String> {
    let strict: json_patch::Patch = match serde_json::from_value(patch.clone()) {
        Ok(strict) => strict,
        Err(error) => return Some(error.to_string()),
    };
    let mut document = object.clone();
    match json_patch::patch(&mut document, &strict) {
        Ok(()) if document == *patched => None,
        Ok(()) => Some("by RFC 6902 it leads to another object".to_owned()),
        Err(error) => Some(error.to_string()),
    }
}

/// kube-apiserver decodes the result into the type that it sent.
fn check_type(object: &Value, patched: &Value) -> Result<(), &'static str> {
    if !patched.is_object() {
        return Err("the patched object does not decode: it is no JSON object");
    }
    if ["apiVersion", "kind"].iter().any(|field| object.get(field) != patched.get(field)) {
        return Err("the patched object does not decode: the patch changes apiVersion or kind");
    }
    Ok(())
}
