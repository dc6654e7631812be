//! Helpers of the tests.

use serde_json::Value;
use vestibule_patch::{Document, Schema};
use vestibule_rules::{Decision, Diagnostic, NamespaceFacts, Outcome, Resource, RuleSet, Subject, Verb};

/// The schema of pods.
pub(crate) fn schema() -> Schema<'static> {
    vestibule_admission::keys::schema("", "v1", "Pod")
}

/// Loads the rules of `text`; each document gets the common head.
pub(crate) fn rules(text: &str) -> RuleSet {
    load(text).unwrap_or_else(|findings| panic!("{findings:?}"))
}

pub(crate) fn load(text: &str) -> Result<RuleSet, Vec<Diagnostic>> {
    RuleSet::load([("rules.yaml", text)], schema())
}

/// The codes of the findings for which `text` is refused.
pub(crate) fn codes(text: &str) -> Vec<&'static str> {
    load(text).err().unwrap_or_default().iter().map(|finding| finding.code().id).collect()
}

/// The headlines of the findings for which `text` is refused.
pub(crate) fn headlines(text: &str) -> Vec<String> {
    load(text).err().unwrap_or_default().iter().map(Diagnostic::headline).collect()
}

/// A rule `name` for pods labelled `app: web`, with more lines of `spec`.
pub(crate) fn rule(name: &str, spec: &str) -> String {
    let head = format!(
        "apiVersion: vestibule.dev/v1alpha1\nkind: Injection\nmetadata: {{name: {name}}}\nspec:\n  match: {{objectSelector: {{matchLabels: {{app: web}}}}}}\n"
    );
    let lines: String = spec.lines().map(|line| format!("  {line}\n")).collect();
    format!("---\n{head}{lines}")
}

/// Settings with this `spec`.
pub(crate) fn settings(spec: &str) -> String {
    format!(
        "---\napiVersion: vestibule.dev/v1alpha1\nkind: InjectorSettings\nmetadata: {{name: injector}}\nspec: {spec}\n"
    )
}

/// A pod labelled `app: web` with the members of `spec` given as JSON.
pub(crate) fn pod(spec: &str) -> String {
    format!(r#"{{"metadata":{{"name":"web","labels":{{"app":"web"}}}},"spec":{spec}}}"#)
}

pub(crate) fn facts(labels: &[(&str, &str)]) -> NamespaceFacts {
    let labels = labels.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
    NamespaceFacts { labels, ..NamespaceFacts::default() }
}

pub(crate) fn creation(object: &str) -> Subject<'_> {
    Subject::new(object, Resource::Pods, Verb::Create, "team-a")
}

pub(crate) fn decide(rules: &RuleSet, object: &str) -> Decision {
    evaluate(rules, &creation(object))
}

pub(crate) fn evaluate(rules: &RuleSet, subject: &Subject<'_>) -> Decision {
    rules.evaluate(subject).unwrap()
}

/// The changes of the decision, without the status annotation.
pub(crate) fn changes(decision: &Decision) -> impl Iterator<Item = &vestibule_rules::Change> {
    decision.changes().iter().filter(|change| &*change.origin.clause != "status")
}

/// `op path` of every operation, without the status annotation.
pub(crate) fn steps(decision: &Decision) -> Vec<String> {
    let step = |change: &vestibule_rules::Change| {
        let value = change.operation.value().map(|value| format!(" {}", value.get()));
        format!("{} {}{}", change.operation.name(), change.operation.path(), value.unwrap_or_default())
    };
    changes(decision).map(step).collect()
}

/// The object after the decision, without the status annotation.
pub(crate) fn made(decision: &Decision, object: &str) -> Value {
    let operations: Vec<_> = changes(decision).map(|change| change.operation.clone()).collect();
    let mut document = Document::parse(object).unwrap();
    document.apply_all(&operations).unwrap();
    serde_json::from_str(&document.to_json()).unwrap()
}

/// Applies the operations of the decision by `vestibule-patch` and by an independent crate. Both must agree, and a
/// second evaluation must change nothing.
pub(crate) fn applied(rules: &RuleSet, subject: &Subject<'_>) -> String {
    let decision = evaluate(rules, subject);
    let operations = decision.patch().to_vec();
    let mut document = Document::parse(subject.object).unwrap();
    document.apply_all(&operations).unwrap();
    let result = document.to_json();

    let mut judged: Value = serde_json::from_str(subject.object).unwrap();
    let patch: json_patch::Patch = serde_json::from_str(&vestibule_patch::to_json(&operations)).unwrap();
    json_patch::patch(&mut judged, &patch).unwrap();
    assert_eq!(judged, serde_json::from_str::<Value>(&result).unwrap());

    let again = evaluate(rules, &subject.object(&result));
    assert!(again.changes().is_empty(), "second pass of {}: {:?}", subject.object, steps(&again));
    result
}

pub(crate) fn result(rules: &RuleSet, object: &str) -> Value {
    serde_json::from_str(&applied(rules, &creation(object))).unwrap()
}

/// The outcome of the only rule: `applied`, `unchanged`, a reason, or `denied`.
pub(crate) fn word(decision: &Decision) -> &'static str {
    words(decision).first().copied().unwrap()
}

pub(crate) fn words(decision: &Decision) -> Vec<&'static str> {
    let word = |verdict: &vestibule_rules::Verdict| match &verdict.outcome {
        Outcome::Applied => "applied",
        Outcome::Unchanged => "unchanged",
        Outcome::Skipped { reason, .. } => reason.as_str(),
        Outcome::Denied { .. } => "denied",
        _ => "?",
    };
    decision.verdicts.iter().map(word).collect()
}

/// The names in a list of the result.
pub(crate) fn names(list: &Value) -> Vec<&str> {
    list.as_array().unwrap().iter().map(|item| item["name"].as_str().unwrap()).collect()
}
