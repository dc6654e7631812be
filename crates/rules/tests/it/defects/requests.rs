//! Requests that were misread.

use serde_json::Value;
use vestibule_rules::{NamespaceFacts, Resource, Verb};

use crate::kit::{applied, codes, creation, decide, evaluate, load, pod, rule, rules, steps, word};

/// An update of a pod's metadata became an attempt to add containers, which the API server refuses.
#[test]
fn d03_pods_are_changed_when_they_are_created_and_never_after() {
    let rules = rules(&rule("r", "required: true\nsidecars: [{name: s, image: s}]"));
    let bare = pod(r#"{"containers":[{"name":"app"}]}"#);
    for verb in [Verb::Update, Verb::Delete, Verb::Connect] {
        let decision = evaluate(&rules, &creation(&bare).verb(verb));
        assert_eq!((word(&decision), steps(&decision).len()), ("excluded_operation", 0));
    }
    // The registration does not include this operation either.
    assert_eq!(Resource::Pods.verbs(), [Verb::Create]);
}

/// An annotation of the namespace was pasted into the patch: quotes in it made the patch invalid, or added operations.
#[test]
fn d11_what_a_namespace_says_is_a_value_and_nothing_else() {
    let spec = "parameters: [{name: more, type: string, annotation: example.com/more, from: namespace}]\ncontainerPatches:\n- select: {all: true}\n  env: [{name: MORE, value: {$cel: params.more}}]";
    let rules = rules(&rule("r", spec));
    let web = pod(r#"{"containers":[{"name":"app"}]}"#);
    for said in [r#"{"a":"b"}"#, r#"x"}],"securityContext":{"privileged":true}"#, "{{$value}}", r"\u0022\"] {
        let mut facts = NamespaceFacts::default();
        facts.annotations.insert("example.com/more".to_owned(), said.to_owned());
        let made: Value = serde_json::from_str(&applied(&rules, &creation(&web).facts(&facts))).unwrap();
        let app = &made["spec"]["containers"][0];
        assert_eq!(app["env"], serde_json::json!([{"name": "MORE", "value": said}]));
        assert!(app["securityContext"].is_null());
    }
    // A line break is not a valid value.
    let mut facts = NamespaceFacts::default();
    facts.annotations.insert("example.com/more".to_owned(), "a\nprivileged: true".to_owned());
    assert_eq!(word(&evaluate(&rules, &creation(&web).facts(&facts))), "invalid_parameter");
}

/// Facts that could not be read were silently taken as consent.
#[test]
fn d13_what_is_not_known_is_not_assumed() {
    let text = rule("r", "optIn: namespace\npod: {labels: {l: m}}");
    let web = pod("{}");
    let decision = decide(&rules(&text), &web);
    assert_eq!((word(&decision), steps(&decision).len()), ("namespace_unknown", 0));
    let required = text.replace("optIn:", "required: true\n  optIn:");
    let denial = decide(&rules(&required), &web).denial().unwrap();
    assert!(denial.contains("team-a"), "{denial}");
    // Values that are not numbers were logged and ignored.
    let bounded = "parameters: [{name: port, type: int, default: 80, max: 90, annotation: example.com/port}]\npod: {labels: {port: {$cel: string(params.port)}}}";
    for value in ["eighty", "99", ""] {
        let web = format!(
            r#"{{"metadata":{{"labels":{{"app":"web"}},"annotations":{{"example.com/port":"{value}"}}}},"spec":{{}}}}"#
        );
        let decision = decide(&rules(&rule("r", bounded)), &web);
        assert_eq!(
            (word(&decision), steps(&decision).len(), decision.warnings.len()),
            ("invalid_parameter", 0, 1)
        );
    }
}

/// Labels came out longer than 63 characters, or ended in a dot.
#[test]
fn d16_a_label_that_is_none_is_refused() {
    for value in ["a".repeat(64), "cut-here.".to_owned(), "cut_".to_owned(), "a b".to_owned()] {
        let text = rule("r", &format!("pod: {{labels: {{l: \"{value}\"}}}}"));
        assert_eq!(codes(&text)[0], "VST0113", "{value}");
    }
    let spec = "containerPatches:\n- select: {all: true}\n  env: [{name: \"a=b\", value: c}]";
    assert_eq!(codes(&rule("r", spec))[0], "VST0113");
    // A computed label that is too long is an error of the rule, and the rule is not applied.
    let rules = rules(&rule("r", "pod: {labels: {first: '1', owner: {$cel: owner.name}}}"));
    let name = "a".repeat(64);
    let owned = format!(
        r#"{{"metadata":{{"labels":{{"app":"web"}},"ownerReferences":[{{"apiVersion":"v1","kind":"Widget","name":"{name}","uid":"u","controller":true}}]}},"spec":{{}}}}"#
    );
    let decision = decide(&rules, &owned);
    assert_eq!((word(&decision), steps(&decision).len()), ("error", 0));
}

/// A resource of null became a limit of 0.
#[test]
fn d17_null_is_refused() {
    for spec in [
        "containerPatches:\n- select: {all: true}\n  resources: {limits: {cpu: null}}",
        "sidecars: [{name: s, image: s, resources: {limits: {cpu: null}}}]",
        "volumes: [{name: v, emptyDir: null}]",
    ] {
        let findings = load(&rule("r", spec)).err().unwrap();
        assert!(findings.iter().any(|finding| finding.code().id == "VST0117"), "{spec}: {findings:?}");
    }
}
