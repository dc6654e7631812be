//! The `match` field of a rule.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use vestibule_admission::keys;
use vestibule_rules::{NamespaceFacts, Outcome, Reason, Resource, RuleSet, Subject, Verb};

use crate::{lines, reference};

/// Three lines: a pod; a namespace as an object; and a `match` with `namespaces` and `objects`.
///
/// The rule's decision equals that of a simple reference implementation in this file.
pub fn selector(input: &[u8]) {
    let Some([pod, namespace, matching]) = lines(input) else { return };
    let (Some(namespace), Some(matching)) = (reference::value(namespace), reference::value(matching)) else {
        return;
    };
    let Some(name) = namespace["metadata"]["name"].as_str() else { return };
    // A number in a rule is converted to text, so its spelling may differ.
    let is_text = |map: &Value| map.as_object().is_none_or(|map| map.values().all(Value::is_string));
    if ![&matching["namespaces"]["matchLabels"], &matching["objects"]["labels"]].into_iter().all(is_text) {
        return;
    }
    let facts =
        NamespaceFacts { labels: texts(&namespace["metadata"]["labels"]), annotations: BTreeMap::new() };
    let rule = json!({
        "apiVersion": "vestibule.dev/v1alpha1", "kind": "Injection", "metadata": {"name": "r"},
        "spec": {"match": matching, "pod": {"labels": {"x": "y"}}},
    });
    let text = rule.to_string();
    let Ok(rules) = RuleSet::load([("rule.yaml", text.as_str())], keys::schema("", "v1", "Pod")) else {
        return;
    };
    let subject = Subject::new(pod, Resource::Pods, Verb::Create, name).facts(&facts);
    let Ok(decision) = rules.evaluate(&subject) else { return };
    let verdict = decision.verdicts.first().expect("one rule, one verdict");
    let reason = match &verdict.outcome {
        Outcome::Skipped { reason, .. } | Outcome::Denied { reason, .. } => Some(*reason),
        _ => None,
    };
    let by_namespace = is_for_namespace(&matching["namespaces"], name, &facts.labels);
    // Parsers take the first or the last of duplicate members, so such a pod is skipped.
    let Some(by_labels) = is_for_labels(&matching["objects"]["labels"], pod) else { return };
    match reason {
        Some(Reason::NamespaceNotMatched) => assert!(!by_namespace, "{text} is for {namespace}"),
        Some(Reason::LabelsNotMatched) => assert!(by_namespace && !by_labels, "{text} is for {pod}"),
        None => assert!(by_namespace && by_labels, "{text} is not for {pod} in {namespace}"),
        Some(_) => {}
    }
}

fn is_for_namespace(wanted: &Value, name: &str, labels: &BTreeMap<String, String>) -> bool {
    let names = |member: &str| wanted[member].as_array().map_or(&[][..], Vec::as_slice);
    let is_among = |names: &[Value]| names.iter().any(|one| one == name);
    (names("names").is_empty() || is_among(names("names")))
        && !is_among(names("exclude"))
        && texts(&wanted["matchLabels"]).iter().all(|(key, value)| labels.get(key) == Some(value))
}

fn is_for_labels(wanted: &Value, pod: &str) -> Option<bool> {
    let value = reference::value(pod)?;
    // A rewritten object is as long as the original unless a member was duplicate.
    let bare = |text: &str| text.chars().filter(|character| *character == ':').count();
    if bare(&value.to_string()) != bare(pod) {
        return None;
    }
    let labels = texts(&value["metadata"]["labels"]);
    Some(texts(wanted).iter().all(|(key, value)| labels.get(key) == Some(value)))
}

fn texts(map: &Value) -> BTreeMap<String, String> {
    let entries = map.as_object().into_iter().flatten();
    entries.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}
