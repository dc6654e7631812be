//! The same by somebody else's code.

use serde_json::Value;
use vestibule_patch::{Operation, to_json};

/// The value, unless the other parser gives up where ours does not: beyond 127 levels, and on numbers beyond a double.
pub(crate) fn value(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok()
}

/// What the operations make of the value by `json-patch`; nothing where it refuses them.
pub(crate) fn patched(mut value: Value, operations: &[Operation]) -> Option<Value> {
    let patch: json_patch::Patch = serde_json::from_str(&to_json(operations)).ok()?;
    json_patch::patch(&mut value, &patch).ok()?;
    Some(value)
}
