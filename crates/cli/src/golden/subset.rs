//! Whether a value is part of another.

use serde_json::Value;

/// The first difference that makes `part` no part of `whole`. Maps are compared by key; the items of a list must be present in
/// this order.
pub(super) fn missing(part: &Value, whole: &Value) -> Option<String> {
    below(part, whole, "")
}

fn below(part: &Value, whole: &Value, path: &str) -> Option<String> {
    match (part, whole) {
        (Value::Object(expected), Value::Object(found)) => expected.iter().find_map(|(key, expected)| {
            let path = if path.is_empty() { key.clone() } else { format!("{path}.{key}") };
            match found.get(key) {
                Some(found) => below(expected, found, &path),
                None => Some(format!("{path} is not there")),
            }
        }),
        (Value::Array(expected), Value::Array(found)) => items(expected, found, path),
        (Value::Object(_), _) => Some(format!("{path} is no map")),
        (Value::Array(_), _) => Some(format!("{path} is no list")),
        (expected, found) if equal(expected, found) => None,
        (expected, found) => Some(format!("{path} is {}, not {expected}", short(found))),
    }
}

fn items(expected: &[Value], found: &[Value], path: &str) -> Option<String> {
    let mut rest = found.iter();
    for (index, expected) in expected.iter().enumerate() {
        if !rest.any(|found| below(expected, found, path).is_none()) {
            // Report the difference to the item of the same name.
            let name = expected.get("name").filter(|name| name.is_string());
            let near = name.and_then(|name| found.iter().find(|item| item.get("name") == Some(name)));
            let path =
                format!("{path}[{}]", name.and_then(Value::as_str).map_or(index.to_string(), str::to_owned));
            let differs = near.and_then(|near| below(expected, near, &path));
            return Some(differs.unwrap_or_else(|| match near {
                Some(_) => format!("{path} is there, but not in this place"),
                None => format!("{path} is not there: {}", short(expected)),
            }));
        }
    }
    None
}

/// `1.0` equals `1`, as in the API server.
fn equal(one: &Value, other: &Value) -> bool {
    let are_integers = [one, other].iter().all(|value| value.is_i64() || value.is_u64());
    match (one.as_f64(), other.as_f64()) {
        (Some(one), Some(other)) if !are_integers => (one - other).abs() < f64::EPSILON,
        _ => one == other,
    }
}

fn short(value: &Value) -> String {
    match value {
        Value::Object(_) => "a map".to_owned(),
        Value::Array(_) => "a list".to_owned(),
        scalar => scalar.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn parts_are_found() {
        let whole =
            json!({"a": [{"name": "x", "n": 1}, {"name": "y", "l": [1, 2, 3]}], "b": "on", "i": 1_u64 << 53});
        for part in [
            json!({}),
            json!({"b": "on"}),
            json!({"a": [{"name": "y"}]}),
            json!({"a": [{"n": 1.0}, {"l": [1, 3]}]}),
        ] {
            assert_eq!(missing(&part, &whole), None, "{part}");
        }
        for (part, why) in [
            (json!({"c": 1}), "c is not there"),
            (json!({"b": "off"}), r#"b is "on", not "off""#),
            (json!({"a": [{"name": "x", "n": 2}]}), "a[x].n is 1, not 2"),
            (json!({"a": [{"name": "y"}, {"name": "x"}]}), "a[x] is there, but not in this place"),
            (json!({"a": [{"name": "z"}]}), "a[z] is not there: a map"),
            (json!({"a": [{"l": [3, 1]}]}), "a[0] is not there: a map"),
            (json!({"b": {"c": 1}}), "b is no map"),
            (json!({"i": (1_u64 << 53) + 1}), "i is 9007199254740992, not 9007199254740993"),
        ] {
            assert_eq!(missing(&part, &whole).as_deref(), Some(why), "{part}");
        }
    }
}
