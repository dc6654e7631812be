//! Objects as text, with members in their order and numbers as they were written.

use std::fmt::Write as _;

use serde_json::json;
use vestibule::patch::{self, Operation};
use vestibule_rules::yaml::pretty_json;

use crate::objects::Object;

/// An object and its changes.
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

/// The object, or a `v1` List if there are or were `several`.
pub(crate) fn json_of(objects: &[Changed<'_>], several: bool) -> String {
    match objects {
        [] => String::new(),
        [one] if !several => pretty_json(one.after) + "\n",
        _ => {
            let items: Vec<&str> = objects.iter().map(|changed| changed.after).collect();
            let list = format!(r#"{{"apiVersion":"v1","kind":"List","items":[{}]}}"#, items.join(","));
            pretty_json(&list) + "\n"
        }
    }
}

/// The JSON Patch, or a line `{object, patch}` for each of several objects. Values keep their bytes: `1.0` is not `1`.
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
