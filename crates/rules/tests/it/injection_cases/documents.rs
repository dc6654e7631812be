//! Cases about documents, and about values in pods.

use serde_json::Value;
use vestibule_rules::{Position, RuleSet};

use super::{AS_IT_IS, example, labelled};
use crate::kit::{applied, creation, rule, rules, schema};

const TYPO: &str = "\
apiVersion: vestibule.dev/v1alpha1
kind: Injection
metadata:
  name: nginx
spec:
  match:
    objectSelector:
      matchLabels: {app: web}
  sidecars:
  - name: nginx
    image: nginx
    volumeMount: [{name: conf, mountPath: /etc/nginx}]
  volumes: [{name: conf, emptyDir: {}}]
";

#[test]
fn row_35_a_typo_is_refused_at_its_place() {
    let findings = RuleSet::load([("rules.yaml", TYPO)], schema()).err().unwrap();
    let [finding] = &*findings else { panic!("{findings:?}") };
    let Position { line, column, .. } = finding.position();
    assert_eq!((finding.code().id, line, column), ("VST0110", 12, 5));
    assert_eq!(finding.help(), Some("did you mean `volumeMounts`?"));
}

#[test]
fn row_31_a_parameter_within_its_bounds() {
    let envoy = include_str!("../../rules/envoy.yaml");
    let (rules, enabled) = (example(envoy, AS_IT_IS), labelled("injection", "enabled"));
    let web = r#"{"metadata":{"name":"web","annotations":{"envoy.example.com/cpu":"100m"}},"spec":{"containers":[{"name":"app","image":"app"}]}}"#;
    let pod: Value = serde_json::from_str(&applied(&rules, &creation(web).facts(&enabled))).unwrap();
    assert_eq!(pod["spec"]["initContainers"][0]["resources"]["requests"]["cpu"], "100m");
}

#[test]
fn row_33_a_long_name_becomes_a_label() {
    let rules = rules(&rule("r", "pod: {labels: {owner: {$cel: \"labelValue(owner.name)\"}}}"));
    let made = |owner: &str| {
        let web = format!(
            r#"{{"metadata":{{"name":"web","labels":{{"app":"web"}},"ownerReferences":[{{"apiVersion":"v1","kind":"Widget","name":"{owner}","uid":"u","controller":true}}]}},"spec":{{}}}}"#
        );
        let pod: Value = serde_json::from_str(&applied(&rules, &creation(&web))).unwrap();
        pod["metadata"]["labels"]["owner"].as_str().unwrap().to_owned()
    };
    let long = format!("{}.{}", "a".repeat(62), "b".repeat(17));
    let label = made(&long);
    let inner = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    assert!(label.len() <= 63 && label.chars().all(inner), "{label}");
    assert!(
        label.starts_with("aaa") && label.ends_with(|last: char| last.is_ascii_alphanumeric()),
        "{label}"
    );
    assert_eq!(label, made(&long), "the same each time");
    // Names that differ behind the cut have different labels.
    assert_ne!(label, made(&format!("{}c", &long[..79])));
    assert_eq!(made("short"), "short");
}
