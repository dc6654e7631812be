//! Texts as JSON strings.

/// `text` as a JSON string.
pub(crate) fn quote(text: &str) -> String {
    let mut json = String::with_capacity(text.len() + 2);
    write_quoted(&mut json, text);
    json
}

/// Appends `text` as a JSON string.
pub(crate) fn write_quoted(json: &mut String, text: &str) {
    if text.bytes().any(|byte| matches!(byte, 0..0x20 | b'"' | b'\\')) {
        json.push_str(&serde_json::to_string(text).unwrap_or_default());
    } else {
        json.extend(["\"", text, "\""]);
    }
}
