//! Objects as text, members in the order they came in and numbers as they were written.

use std::fmt::Write as _;

use serde_json::json;
use vestibule::patch::{self, Document, Kind, Operation, View};

use crate::objects::Object;

/// An object that rules have been asked about.
#[derive(Clone, Copy)]
pub(crate) struct Changed<'o> {
    pub(crate) object: &'o Object,
    pub(crate) namespace: &'o str,
    /// JSON.
    pub(crate) after: &'o str,
    pub(crate) operations: &'o [Operation],
}

/// Every object as a document of YAML, laid out as kubectl does.
pub(crate) fn yaml_of(objects: &[Changed<'_>]) -> anyhow::Result<String> {
    let documents = objects.iter().map(|changed| yaml(changed.after));
    Ok(documents.collect::<anyhow::Result<Vec<_>>>()?.join("---\n"))
}

/// The object; of several, a `v1` List, also where `objects` are what is left of them.
pub(crate) fn json_of(objects: &[Changed<'_>], several: bool) -> anyhow::Result<String> {
    Ok(match objects {
        [] => String::new(),
        [one] if !several => pretty_json(one.after)? + "\n",
        _ => {
            let items: Vec<&str> = objects.iter().map(|changed| changed.after).collect();
            let list = format!(r#"{{"apiVersion":"v1","kind":"List","items":[{}]}}"#, items.join(","));
            pretty_json(&list)? + "\n"
        }
    })
}

/// The JSON Patch; of several, a line `{object, patch}` each. Values stay the bytes they are: `1.0` is not `1`.
pub(crate) fn patch_of(objects: &[Changed<'_>], several: bool) -> anyhow::Result<String> {
    let mut text = String::new();
    for Changed { object, namespace, operations, .. } in objects {
        let operations = patch::to_json(operations);
        if !several {
            writeln!(text, "{operations}")?;
            continue;
        }
        let object = json!({
            "apiVersion": object.api_version, "kind": object.kind, "namespace": namespace, "name": object.name,
        });
        writeln!(text, r#"{{"object":{object},"patch":{operations}}}"#)?;
    }
    Ok(text)
}

/// The object as YAML.
pub(crate) fn yaml(json: &str) -> anyhow::Result<String> {
    Ok(vestibule_rules::yaml::from_json(json)?)
}

/// The object as JSON, one member a line.
pub(crate) fn pretty_json(json: &str) -> anyhow::Result<String> {
    let document = Document::parse(json)?;
    let mut text = String::new();
    pretty(document.view(), 0, &mut text);
    Ok(text)
}

/// What stands further in is written on one line: some 128 levels, of 10,000 that a document may have.
const FARTHEST: usize = 256;

/// `serde_json` would sort the members, and read the numbers.
fn pretty(value: View<'_>, column: usize, text: &mut String) {
    let inner = column + 2;
    let mut separator = "";
    match value.kind() {
        _ if column >= FARTHEST => text.push_str(&value.to_json()),
        Kind::Object if !value.entries().is_empty() => {
            text.push('{');
            for (key, value) in value.entries() {
                text.push_str(&format!("{separator}\n{:inner$}{}: ", "", json!(key)));
                pretty(value, inner, text);
                separator = ",";
            }
            text.push_str(&format!("\n{:column$}}}", ""));
        }
        Kind::Array if !value.items().is_empty() => {
            text.push('[');
            for item in value.items() {
                text.push_str(&format!("{separator}\n{:inner$}", ""));
                pretty(item, inner, text);
                separator = ",";
            }
            text.push_str(&format!("\n{:column$}]", ""));
        }
        Kind::Object => text.push_str("{}"),
        Kind::Array => text.push_str("[]"),
        _ => text.push_str(&value.to_json()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_keeps_order_and_digits() {
        let json = r#"{"b":[1.0,1e400,{"x":{}, "y":[]}],"a":"\u00e9\n"}"#;
        let expected = "{\n  \"b\": [\n    1.0,\n    1e400,\n    {\n      \"x\": {},\n      \"y\": []\n    }\n  ],\n  \"a\": \"\\u00e9\\n\"\n}";
        assert_eq!(pretty_json(json).unwrap(), expected);
    }
}
