//! Applies an answer's patch, with the words of kube-apiserver's JSON Patch library where it fails.

use json_patch::jsonptr::{Pointer, Token};
use json_patch::{PatchOperation, patch_unsafe};
use serde::Deserialize as _;
use serde_json::Value;

use super::response::Response;
use crate::Hook;
use crate::outcome::Failed;

/// The most that `copy` operations may add to a document, in bytes of JSON.
const COPY_LIMIT: usize = 3 << 20;

/// The object after a patch, and the patch. No `Debug`: both are somebody's object.
pub(super) struct Patched {
    pub(super) object: Value,
    pub(super) patch: Value,
}

/// Applies the patch; `None` where there is nothing to apply.
pub(super) fn apply(
    response: &Response,
    object: Option<&Value>,
    hook: &Hook,
) -> Result<Option<Patched>, Failed> {
    if response.patch.is_empty() {
        return Ok(None);
    }
    let patch: Value = serde_json::from_slice(&response.patch)
        .map_err(|error| Failed::internal(&format!("the patch is not JSON: {error}")))?;
    let steps = match &patch {
        Value::Null => return Ok(None),
        Value::Array(steps) if steps.is_empty() => return Ok(None),
        Value::Array(steps) => steps,
        _ => return Err(Failed::internal("json: cannot unmarshal the patch into an array of operations")),
    };
    let Some(object) = object else {
        return Err(Failed::internal(&format!(
            "admission webhook {:?} attempted to modify the object, which is not supported for this operation",
            hook.name()
        )));
    };
    let patch_type = response.patch_type.as_deref().unwrap_or_default();
    if patch_type != "JSONPatch" {
        return Err(Failed::calling(hook, &format!("unsupported patch type {patch_type:?}")));
    }
    let patched = run(steps, object).map_err(|why| Failed::internal(&why))?;
    check_type(object, &patched).map_err(Failed::internal)?;
    Ok(Some(Patched { object: patched, patch }))
}

fn run(steps: &[Value], object: &Value) -> Result<Value, String> {
    let mut document = object.clone();
    let mut copied = 0;
    for step in steps {
        let operation = decode(step)?;
        copied += copied_size(&operation, &document);
        if copied > COPY_LIMIT {
            return Err(format!(
                "Unable to copy, the accumulated size increase of copy is {copied}, exceeding the limit {COPY_LIMIT}"
            ));
        }
        patch_unsafe(&mut document, std::slice::from_ref(&operation))
            .map_err(|error| explain(&operation, &document, &error.kind))?;
    }
    Ok(document)
}

fn decode(step: &Value) -> Result<PatchOperation, String> {
    let name = step.get("op").and_then(Value::as_str).unwrap_or("unknown");
    if !["add", "remove", "replace", "move", "copy", "test"].contains(&name) {
        return Err(format!("Unexpected kind: {name}"));
    }
    PatchOperation::deserialize(step).map_err(|_| {
        format!(
            "{name} operation is malformed: it needs `path`, a JSON Pointer, and `value` or `from` (RFC 6902)"
        )
    })
}

fn copied_size(operation: &PatchOperation, document: &Value) -> usize {
    match operation {
        PatchOperation::Copy(copy) => {
            document.pointer(copy.from.as_str()).map_or(0, |value| value.to_string().len())
        }
        _ => 0,
    }
}

/// Says why an operation did not apply: paths and keys, never a value.
fn explain(operation: &PatchOperation, document: &Value, kind: &json_patch::PatchErrorKind) -> String {
    let path = operation.path();
    let parent = path.parent().unwrap_or(Pointer::root());
    let last = path.last().map(|token| Token::decoded(&token).into_owned()).unwrap_or_default();
    let name = match operation {
        PatchOperation::Add(_) => "add",
        PatchOperation::Remove(_) => "remove",
        PatchOperation::Replace(_) => "replace",
        PatchOperation::Move(_) => "move",
        PatchOperation::Copy(_) => "copy",
        PatchOperation::Test(_) => return format!("testing value {path} failed: test failed"),
    };
    match (name, document.pointer(parent.as_str())) {
        ("add" | "remove", None) => {
            let path = path.as_str();
            format!("{name} operation does not apply: doc is missing path: {path:?}: missing value")
        }
        ("add" | "remove", Some(Value::Array(_))) => {
            format!("error in {name} for path: '{path}': Unable to access invalid index: {last}")
        }
        ("remove", Some(_)) => {
            format!(
                "error in remove for path: '{path}': Unable to remove nonexistent key: {last}: missing value"
            )
        }
        _ => format!("{name} operation does not apply at {path}: {kind}"),
    }
}

/// kube-apiserver decodes the result into the type it sent.
fn check_type(object: &Value, patched: &Value) -> Result<(), &'static str> {
    if !patched.is_object() {
        return Err("the patched object does not decode: it is no JSON object");
    }
    if ["apiVersion", "kind"].iter().any(|field| object.get(field) != patched.get(field)) {
        return Err("the patched object does not decode: the patch changes apiVersion or kind");
    }
    Ok(())
}
