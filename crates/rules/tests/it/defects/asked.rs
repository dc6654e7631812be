//! What was asked for, and what was assumed.

use vestibule_rules::{Resource, Verb};

use crate::kit::{creation, decide, evaluate, load, pod, rule, rules, steps, word};

/// A change of an old pod's metadata became an attempt to add containers to it, which the API server refuses.
#[test]
fn d03_pods_are_changed_when_they_are_created_and_never_after() {
    let rules = rules(&rule("r", "required: true\nsidecars: [{name: s, image: s}]"));
    let bare = pod(r#"{"containers":[{"name":"app"}]}"#);
    for verb in [Verb::Update, Verb::Delete, Verb::Connect] {
        let decision = evaluate(&rules, &creation(&bare).verb(verb));
        assert_eq!((word(&decision), steps(&decision).len()), ("excluded_operation", 0));
    }
    // Nor does anybody ask to be called for it.
    assert_eq!(Resource::Pods.verbs(), [Verb::Create]);
}

/// What could not be found out was silently taken for yes.
#[test]
fn d13_what_is_not_known_is_not_assumed() {
    let text = rule("r", "optIn: namespace\npod: {labels: {l: m}}");
    let web = pod("{}");
    let decision = decide(&rules(&text), &web);
    assert_eq!((word(&decision), steps(&decision).len()), ("namespace_unknown", 0));
    let required = text.replace("optIn:", "required: true\n  optIn:");
    let denial = decide(&rules(&required), &web).denial().unwrap();
    assert!(denial.contains("team-a"), "{denial}");
}

/// Labels came out longer than 63 characters, or ended in a dot.
#[test]
fn d16_a_label_that_is_none_is_refused() {
    for value in ["a".repeat(64), "cut-here.".to_owned(), "cut_".to_owned(), "a b".to_owned()] {
        let findings = load(&rule("r", &format!("pod: {{labels: {{l: \"{value}\"}}}}"))).err().unwrap();
        assert_eq!(findings[0].code().id, "VST0113", "{value}");
    }
    let spec = "containers:\n- select: {all: true}\n  env: [{name: \"a=b\", value: c}]";
    assert_eq!(load(&rule("r", spec)).err().unwrap()[0].code().id, "VST0113");
}

/// A resource of null became a limit of 0.
#[test]
fn d17_null_is_refused() {
    for spec in [
        "containers:\n- select: {all: true}\n  resources: {limits: {cpu: null}}",
        "sidecars: [{name: s, image: s, resources: {limits: {cpu: null}}}]",
        "volumes: [{name: v, emptyDir: null}]",
    ] {
        let findings = load(&rule("r", spec)).err().unwrap();
        assert!(findings.iter().any(|finding| finding.code().id == "VST0117"), "{spec}: {findings:?}");
    }
}
