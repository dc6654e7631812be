//! Reference implementations from other crates.

use serde_json::Value;
use vestibule_patch::{Operation, to_json};

/// The value by `serde_json`; `None` beyond 127 levels and for numbers beyond a double, which our parser accepts.
pub(crate) fn value(text: &str) -> Option<Value> {
    serde_json::from_str(text).ok()
}

/// The result of the operations by `json-patch`; `None` if it refuses them.
pub(crate) fn patched(mut value: Value, operations: &[Operation]) -> Option<Value> {
    let patch: json_patch::Patch = serde_json::from_str(&to_json(operations)).ok()?;
    json_patch::patch(&mut value, &patch).ok()?;
    Some(value)
}
