//! Defects that other injectors had.

use serde_json::json;

use crate::kit::{applied, creation, decide, pod, result, rule, rules, steps};

/// Annotations of the user were replaced by the injector's own.
#[test]
fn annotations_of_the_user_stay() {
    let rules = rules(&rule("r", "pod: {annotations: {example.com/ours: \"1\"}}"));
    let pod =
        r#"{"metadata":{"labels":{"app":"web"},"annotations":{"a/b":"x~1/y","c~d":"2","e":"3"}},"spec":{}}"#;
    assert_eq!(steps(&decide(&rules, pod)), [r#"add /metadata/annotations/example.com~1ours "1""#]);
    let annotations = &result(&rules, pod)["metadata"]["annotations"];
    assert_eq!(*annotations, json!({"a/b": "x~1/y", "c~d": "2", "e": "3", "example.com/ours": "1"}));
}

/// Each of several sidecars found the list empty, and the second `add` replaced the first.
#[test]
fn several_sidecars_make_one_list() {
    let text = rule(
        "r",
        "sidecars: [{name: a, image: a}, {name: b, image: b}]\nvolumes: [{name: v, emptyDir: {}}, {name: w, emptyDir: {}}]",
    ) + &rule(
        "s",
        "sidecars: [{name: c, image: c}]\nvolumes: [{name: x, emptyDir: {}}]\npod: {labels: {l: m}}",
    );
    let rules = rules(&text);
    let pod = r#"{"metadata":{"labels":{"app":"web"}},"spec":{"containers":[]}}"#;
    let decision = decide(&rules, pod);
    let origins: Vec<&str> = decision.changes.iter().map(|change| change.origin.clause.as_str()).collect();
    assert_eq!(origins, ["volumes", "sidecars", "pod.labels[l]", "volumes[0]", "sidecars[0]"]);
    let result = result(&rules, pod);
    assert_eq!(crate::kit::names(&result["spec"]["initContainers"]), ["a", "b", "c"]);
    assert_eq!(crate::kit::names(&result["spec"]["volumes"]), ["v", "w", "x"]);
}

/// `/spec/volumes/-` without a list to append to, and mounts told apart by volume instead of path.
#[test]
fn lists_are_made_where_they_are_missing() {
    let text = rule(
        "r",
        "volumes: [{name: v, emptyDir: {}}]\ncontainers:\n- select: {all: true}\n  volumeMounts: [{name: v, mountPath: /a}, {name: v, mountPath: /b}]",
    );
    let rules = rules(&text);
    for volumes in ["", r#","volumes":null"#, r#","volumes":[]"#] {
        let pod = pod(&format!(r#"{{"containers":[{{"name":"app","volumeMounts":null}}]{volumes}}}"#));
        let result = result(&rules, &pod);
        assert_eq!(result["spec"]["volumes"].as_array().unwrap().len(), 1);
        assert_eq!(result["spec"]["containers"][0]["volumeMounts"].as_array().unwrap().len(), 2);
    }
}

/// Typed objects lost what they did not know.
#[test]
fn unknown_fields_survive() {
    let rules = rules(&rule(
        "r",
        "sidecars: [{name: s, image: s}]\ncontainers:\n- select: {all: true, init: true}\n  env: [{name: A, value: b}]",
    ));
    let invented = r#""invented":{"n":123456789012345678901234567890,"f":1.0,"e":1E40}"#;
    let pod = pod(&format!(
        r#"{{"containers":[{{"name":"app",{invented}}}],"initContainers":[{{"name":"native","restartPolicy":"Always",{invented}}}],{invented}}}"#
    ));
    let result = applied(&rules, &creation(&pod));
    assert_eq!(result.matches(invented).count(), 3);
    assert_eq!(result.matches(r#""restartPolicy":"Always""#).count(), 2);
}

/// A pod with nothing in it, or of another shape, must not bring anybody down.
#[test]
fn odd_shapes() {
    let text = rule("r", "sidecars: [{name: s, image: s}]\npod: {labels: {l: m}, annotations: {a: b}}")
        .replace("objects: {labels: {app: web}}", "namespaces: {names: [team-a]}");
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
