//! Arbitrary rules, evaluated for arbitrary pods.

use vestibule_admission::keys;
use vestibule_patch::Document;
use vestibule_rules::{Resource, RuleSet, Subject, Verb};

/// A pod in the first line, rules in the others.
///
/// Every finding about the rules can be printed. The patch for the pod applies, a second evaluation changes nothing, and the
/// explanation agrees with the evaluation.
pub fn rules(input: &[u8]) {
    let Some((pod, text)) = std::str::from_utf8(input).ok().and_then(|text| text.split_once('\n')) else {
        return;
    };
    let rules = match RuleSet::load([("rules.yaml", text)], keys::schema("", "v1", "Pod")) {
        Ok(rules) => rules,
        Err(findings) => return assert!(findings.iter().all(|finding| !finding.to_string().is_empty())),
    };
    let subject = Subject::new(pod, Resource::Pods, Verb::Create, "team-a");
    let (Ok(decision), Ok(mut document)) = (rules.evaluate(&subject), Document::parse(pod)) else { return };
    let operations = decision.patch();
    document.apply_all(operations).expect("operations that apply");
    let result = document.to_json();
    let again = rules.evaluate(&subject.object(&result)).expect("an object");
    assert!(again.denial().is_some() || again.changes().is_empty(), "a second evaluation changes the object");
    let explained = rules.explain(&subject).expect("an explanation").decision;
    assert_eq!(explained.patch().to_json(), operations.to_json());
}
