//! Describes operations by the names of the parts of a pod: `+ spec.containers[app].env[TARGET]`.

use std::sync::Arc;

use serde_json::value::RawValue;
use vestibule::patch::{Document, Kind, Operation, View};
use vestibule_rules::diagnostic::{self, printable};
use vestibule_rules::{Change, Origin};

/// One change and the part of a rule that made it.
#[derive(Clone)]
pub(crate) struct ExplainedChange {
    /// `+ spec.containers[app].env[TARGET]`
    pub(crate) text: String,
    /// `rule env-target, containerPatches[0].env[0]`
    pub(crate) origin: String,
    /// `env-target.yaml:14`
    pub(crate) place: String,
}

/// Explains `changes`, which apply to `json` one after the other; `prefix` is the pointer to it in the user's object.
pub(crate) fn explain(changes: &[Change], json: &str, prefix: &str) -> anyhow::Result<Vec<ExplainedChange>> {
    let mut document = Document::parse(json)?;
    let mut reasons = Vec::with_capacity(changes.len());
    let dotted = dotted(prefix);
    for Change { operation, origin } in changes {
        if !prefix.is_empty() && is_status(origin) {
            continue;
        }
        let place = place(operation, document.view());
        let sign = match operation {
            Operation::Add { .. } | Operation::Copy { .. } => "+",
            Operation::Remove { .. } => "-",
            Operation::Replace { .. } | Operation::Move { .. } | Operation::Test { .. } => "~",
        };
        reasons.push(ExplainedChange {
            text: printable(&format!("{sign} {dotted}{place}")),
            origin: match is_status(origin) {
                true => "the injector, so that people see it".to_owned(),
                false => format!("rule {}, {}", origin.rule, origin.clause),
            },
            place: if is_status(origin) {
                String::new()
            } else {
                diagnostic::place(&origin.source, origin.line)
            },
        });
        document.apply(operation)?;
    }
    Ok(reasons)
}

/// The operations of the changes, without the status annotation where `prefix` is a template: the annotation would start a
/// rollout of the workload with every new rule.
pub(crate) fn lasting(changes: &[Change], prefix: &str) -> Vec<Operation> {
    let lasting = changes.iter().filter(|change| prefix.is_empty() || !is_status(&change.origin));
    lasting.map(|change| escaped(change.operation.clone())).collect()
}

/// The operation with JSON escapes for characters that move the cursor of a terminal or change the direction of text. The
/// value stays the same.
fn escaped(operation: Operation) -> Operation {
    let written = |value: Arc<RawValue>| {
        if printable(value.get()) == value.get() {
            return value;
        }
        let is_control = |character: char| printable(&character.to_string()) != character.to_string();
        let mut json = String::with_capacity(value.get().len());
        for character in value.get().chars() {
            match character {
                '\n' | '\r' | '\t' => json.push(character),
                _ if is_control(character) => json.push_str(&format!("\\u{:04x}", u32::from(character))),
                _ => json.push(character),
            }
        }
        RawValue::from_string(json).map_or(value, Arc::from)
    };
    match operation {
        Operation::Add { path, value } => Operation::Add { path, value: written(value) },
        Operation::Replace { path, value } => Operation::Replace { path, value: written(value) },
        other => other,
    }
}

/// The injector itself sets the status annotation, without a line of a document.
fn is_status(origin: &Origin) -> bool {
    origin.line == 0
}

/// `/spec/template` as the prefix of a place: `spec.template.`
fn dotted(prefix: &str) -> String {
    let words = prefix.trim_start_matches('/').replace('/', ".");
    if words.is_empty() { words } else { format!("{words}.") }
}

/// `spec.containers[app].env[TARGET]`: an item is shown by its name, if it has one.
fn place(operation: &Operation, root: View<'_>) -> String {
    let mut place = String::new();
    let mut view = Some(root);
    let value = operation.value().map(View::of);
    let tokens: Vec<_> = operation.path().tokens().collect();
    for (index, token) in tokens.iter().enumerate() {
        let last = index + 1 == tokens.len();
        let parent = view.take();
        if parent.is_some_and(|parent| parent.kind() == Kind::Array) {
            let item = token.parse().ok().and_then(|position| parent?.item(position));
            let named = if last && value.is_some() { value } else { item };
            place.push_str(&format!("[{}]", named.and_then(label).unwrap_or_else(|| token.to_string())));
            view = item;
            continue;
        }
        view = parent.and_then(|parent| parent.get(token));
        if token.contains(['.', '/']) {
            place.push_str(&format!("[{token}]"));
        } else {
            place.push_str(if place.is_empty() { "" } else { "." });
            place.push_str(token);
        }
        if last && let Some(value) = value {
            place.push_str(&parts(value));
        }
    }
    place
}

/// The names in a list or map that is added as a whole: `[nginx-conf]`.
fn parts(value: View<'_>) -> String {
    let names: Vec<String> = match value.kind() {
        Kind::Array => value.items().into_iter().filter_map(label).collect(),
        Kind::Object => value.entries().into_iter().map(|(key, _)| key.into_owned()).collect(),
        _ => Vec::new(),
    };
    if names.is_empty() { String::new() } else { format!("[{}]", names.join(", ")) }
}

fn label(item: View<'_>) -> Option<String> {
    let named =
        |key| item.get(key).map(|value| value.as_str().unwrap_or_else(|| value.to_json()).into_owned());
    named("name")
        .filter(|_| item.get("mountPath").is_none())
        .or_else(|| named("mountPath"))
        .or_else(|| named("containerPort"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_of_a_pod_are_shown_by_their_names() {
        let pod = r#"{"metadata":{"labels":{}},"spec":{"containers":[{"name":"app","env":[{"name":"A"}]}]}}"#;
        for (operation, expected) in [
            (
                r#"{"op":"add","path":"/spec/containers/0/env/0","value":{"name":"T"}}"#,
                "spec.containers[app].env[T]",
            ),
            (r#"{"op":"add","path":"/spec/containers/-","value":{"name":"x"}}"#, "spec.containers[x]"),
            (
                r#"{"op":"replace","path":"/spec/containers/0/env/0/value","value":"1"}"#,
                "spec.containers[app].env[A].value",
            ),
            (
                r#"{"op":"add","path":"/spec/volumes","value":[{"name":"a"},{"name":"b"}]}"#,
                "spec.volumes[a, b]",
            ),
            (
                r#"{"op":"add","path":"/spec/containers/0/volumeMounts","value":[{"name":"a","mountPath":"/a"}]}"#,
                "spec.containers[app].volumeMounts[/a]",
            ),
            (
                r#"{"op":"add","path":"/metadata/labels/example.com~1a","value":"b"}"#,
                "metadata.labels[example.com/a]",
            ),
            (r#"{"op":"add","path":"/metadata/annotations","value":{"a":"b"}}"#, "metadata.annotations[a]"),
            (r#"{"op":"remove","path":"/spec/containers/0/env/0"}"#, "spec.containers[app].env[A]"),
        ] {
            let operation: Operation = serde_json::from_str(operation).unwrap();
            assert_eq!(place(&operation, Document::parse(pod).unwrap().view()), expected);
        }
    }
}
