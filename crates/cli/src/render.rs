//! Objects as text, with members in their order and numbers as they were written.

use std::fmt::Write as _;

use clap::ValueEnum;
use serde_json::{Value, json};
use vestibule::patch;
use vestibule_rules::yaml::pretty_json;

use crate::evaluation::Evaluation;

/// The format of a command's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum Format {
    /// For people.
    Text,
    /// For scripts.
    Json,
    /// The same as YAML.
    Yaml,
}

impl Format {
    /// The `text` or the indented `json` of an output, in this format.
    pub(crate) fn render(
        self,
        text: impl FnOnce() -> anyhow::Result<String>,
        json: impl FnOnce() -> anyhow::Result<Value>,
    ) -> anyhow::Result<String> {
        match self {
            Self::Text => text(),
            Self::Json => Ok(format!("{:#}\n", json()?)),
            Self::Yaml => yaml(&json()?.to_string()),
        }
    }
}

/// Every object as a document of YAML, laid out as kubectl does.
pub(crate) fn yaml_of<T>(objects: &[&Evaluation<'_, T>]) -> anyhow::Result<String> {
    let documents = objects.iter().map(|changed| yaml(&changed.after));
    Ok(documents.collect::<anyhow::Result<Vec<_>>>()?.join("---\n"))
}

/// The object, or a `v1` List if there are or were `several`.
pub(crate) fn json_of<T>(objects: &[&Evaluation<'_, T>], several: bool) -> String {
    match objects {
        [] => String::new(),
        [one] if !several => pretty_json(&one.after) + "\n",
        _ => {
            let items: Vec<&str> = objects.iter().map(|changed| &*changed.after).collect();
            let list = format!(r#"{{"apiVersion":"v1","kind":"List","items":[{}]}}"#, items.join(","));
            pretty_json(&list) + "\n"
        }
    }
}

/// The JSON Patch, or a line `{object, patch}` for each of several objects. Values keep their bytes: `1.0` is not `1`.
pub(crate) fn patch_of<T>(objects: &[&Evaluation<'_, T>], several: bool) -> anyhow::Result<String> {
    let mut text = String::new();
    for Evaluation { object, namespace, operations, .. } in objects {
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

/// `1 pod`, `2 pods`
pub(crate) fn counted(count: usize, noun: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{count} {noun}{ending}")
}

/// The object as YAML.
pub(crate) fn yaml(json: &str) -> anyhow::Result<String> {
    Ok(vestibule_rules::yaml::from_json(json)?)
}
