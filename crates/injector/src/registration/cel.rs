//! Parts of CEL expressions.

/// The label `key` of the object, an optional value. `key` is an expression.
pub(super) fn label(key: &str) -> String {
    format!("object.metadata.?labels[?{key}]")
}

/// The annotation `key` of the object, an optional value. `key` is an expression.
pub(super) fn annotation(key: &str) -> String {
    format!("object.metadata.?annotations[?{key}]")
}

/// A CEL string of a text without quotes, such as a key or a name.
pub(super) fn quoted(text: &str) -> String {
    format!("'{text}'")
}

/// A CEL string of any text. CEL has the escapes of JSON.
pub(super) fn literal(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
