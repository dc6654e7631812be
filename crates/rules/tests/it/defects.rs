//! Defects of shipped injectors. Each test has the number of its defect; `docs/reference/injection-cases.md` names the
//! injector.

mod concurrency;
mod patches;
mod requests;

use crate::kit::{applied, creation, decide, pod, result, rule, rules, steps};

/// Typed objects lost unknown fields.
#[test]
fn unknown_fields_survive() {
    let rules = rules(&rule(
        "r",
        "sidecars: [{name: s, image: s}]\ncontainerPatches:\n- select: {all: true, init: true}\n  env: [{name: A, value: b}]",
    ));
    let invented = r#""invented":{"n":123456789012345678901234567890,"f":1.0,"e":1E40}"#;
    let pod = pod(&format!(
        r#"{{"containers":[{{"name":"app",{invented}}}],"initContainers":[{{"name":"native","restartPolicy":"Always",{invented}}}],{invented}}}"#
    ));
    let result = applied(&rules, &creation(&pod));
    assert_eq!(result.matches(invented).count(), 3);
    assert_eq!(result.matches(r#""restartPolicy":"Always""#).count(), 2);
}

/// An empty pod, or one with values of other types, must not cause a panic.
#[test]
fn odd_shapes() {
    let text = rule("r", "sidecars: [{name: s, image: s}]\npod: {labels: {l: m}, annotations: {a: b}}")
        .replace(
            "objectSelector: {matchLabels: {app: web}}",
            "namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: team-a}}",
        );
    let rules = rules(&text);
    for pod in [
        "{}",
        r#"{"spec":{}}"#,
        r#"{"metadata":{},"spec":{"containers":null}}"#,
        r#"{"metadata":null,"spec":null}"#,
    ] {
        result(&rules, pod);
    }
    for pod in [
        r#"{"spec":[]}"#,
        r#"{"spec":{"initContainers":{"a":1}}}"#,
        r#"{"spec":{"initContainers":"x"}}"#,
        r#"{"metadata":"x","spec":{}}"#,
        "[]",
        "1",
    ] {
        let decision = decide(&rules, pod);
        assert!(!steps(&decision).iter().any(String::is_empty));
    }
}
