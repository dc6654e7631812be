//! Texts, lists and maps as JSON.

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

/// Appends `items` between the two `brackets`, each as `write` appends it.
pub(crate) fn write_items<T>(
    json: &mut String,
    brackets: [char; 2],
    items: impl IntoIterator<Item = T>,
    mut write: impl FnMut(&mut String, T),
) {
    json.push(brackets[0]);
    for (index, item) in items.into_iter().enumerate() {
        json.push_str(if index > 0 { "," } else { "" });
        write(json, item);
    }
    json.push(brackets[1]);
}
