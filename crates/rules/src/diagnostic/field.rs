//! The field at a location in the text of an object, which is JSON on one line.

use std::collections::BTreeMap;

use serde_json::value::RawValue;

/// The path and the text of the innermost value that contains `column`. A list or map has no text. A position in a member's name
/// belongs to the member's value. Both results are empty if `json` is not JSON.
pub(super) fn field_at(json: &str, column: usize) -> (String, Option<String>) {
    let at = json.char_indices().nth(column.saturating_sub(1)).map_or(json.len(), |(offset, _)| offset);
    let offset = |value: &RawValue| value.get().as_ptr().addr().wrapping_sub(json.as_ptr().addr());
    let mut path = String::new();
    let Ok(mut value) = serde_json::from_str::<&RawValue>(json) else { return Default::default() };
    while offset(value) < at {
        let below = parts(value).into_iter().filter(|(_, part)| at < offset(part) + part.get().len());
        let Some((step, part)) = below.min_by_key(|(_, part)| offset(part)) else { break };
        path.push_str(&step);
        value = part;
    }
    (path.trim_start_matches('.').to_owned(), text(value))
}

/// The values in a container, each with its step of a path as `kubectl` writes it: `.name`, `[example.com/team]`, `[0]`.
fn parts(value: &RawValue) -> Vec<(String, &RawValue)> {
    let step = |name: String| match name.contains(['.', '/', '[']) {
        true => format!("[{name}]"),
        false => format!(".{name}"),
    };
    if let Ok(members) = serde_json::from_str::<BTreeMap<String, &RawValue>>(value.get()) {
        return members.into_iter().map(|(name, part)| (step(name), part)).collect();
    }
    let items = serde_json::from_str::<Vec<&RawValue>>(value.get()).unwrap_or_default();
    items.into_iter().enumerate().map(|(index, part)| (format!("[{index}]"), part)).collect()
}

fn text(value: &RawValue) -> Option<String> {
    match value.get().as_bytes().first()? {
        b'{' | b'[' => None,
        b'"' => serde_json::from_str(value.get()).ok(),
        _ => Some(value.get().to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_location_is_in_the_innermost_value() {
        let json = r#"{"a":{"b.c/d":["ä\n",1.0]},"e":true}"#;
        let at = |part: &str| field_at(json, json.split_once(part).unwrap().0.chars().count() + 1);
        let some = |text: &str| Some(text.to_owned());
        assert_eq!(at(r#""a""#), ("a".to_owned(), None));
        assert_eq!(at(r#""b.c"#), ("a[b.c/d]".to_owned(), None));
        assert_eq!(at(r#""ä"#), ("a[b.c/d][0]".to_owned(), some("ä\n")));
        assert_eq!(at("1.0"), ("a[b.c/d][1]".to_owned(), some("1.0")));
        assert_eq!(at(r#""e""#), ("e".to_owned(), some("true")));
        assert_eq!(field_at(json, 1), (String::new(), None));
        assert_eq!(field_at("a: b", 1), (String::new(), None));
    }
}
