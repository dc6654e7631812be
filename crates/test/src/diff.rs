//! How two JSON documents differ, line by line, for people.

use std::fmt::Write as _;

use serde_json::Value;

/// One line for each place where `found` is not as `expected`: `-` for what was expected, `+` for what was found.
pub(super) fn lines(expected: &Value, found: &Value) -> String {
    let mut lines = String::new();
    compare("", Some(expected), Some(found), &mut lines);
    lines
}

fn compare(path: &str, expected: Option<&Value>, found: Option<&Value>, lines: &mut String) {
    match (expected, found) {
        (Some(Value::Object(expected)), Some(Value::Object(found))) => {
            let added = found.keys().filter(|name| !expected.contains_key(*name));
            for name in expected.keys().chain(added) {
                let path = if path.is_empty() { name.clone() } else { format!("{path}.{name}") };
                compare(&path, expected.get(name), found.get(name), lines);
            }
        }
        (Some(Value::Array(expected)), Some(Value::Array(found))) => {
            for index in 0..expected.len().max(found.len()) {
                compare(&format!("{path}[{index}]"), expected.get(index), found.get(index), lines);
            }
        }
        (expected, found) if expected == found => {}
        (expected, found) => {
            let path = if path.is_empty() { "(the whole)" } else { path };
            for (sign, value) in [('-', expected), ('+', found)] {
                if let Some(value) = value {
                    // Into a string: it cannot fail.
                    let _ = writeln!(lines, "  {sign} {path}: {value}");
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_difference_has_its_place() {
        let expected = json!({ "a": { "b": 1, "gone": {} }, "same": [1], "list": [{ "name": "x" }, 2] });
        let found = json!({ "a": { "b": 2, "new": null }, "same": [1], "list": [{ "name": "y" }] });
        let differences = lines(&expected, &found);
        let differences: Vec<_> = differences.lines().map(str::trim).collect();
        let expected = [
            "- a.b: 1",
            "+ a.b: 2",
            "- a.gone: {}",
            "+ a.new: null",
            "- list[0].name: \"x\"",
            "+ list[0].name: \"y\"",
            "- list[1]: 2",
        ];
        assert_eq!(differences, expected);
        assert_eq!(lines(&json!([1]), &json!([1])), "");
        assert_eq!(lines(&json!(1), &json!(2)), "  - (the whole): 1\n  + (the whole): 2\n");
    }
}
