//! Cases about existing values: conflicts, and results of an earlier evaluation.

use serde_json::{Value, json};

use super::{AS_IT_IS, example, labelled};
use crate::kit::{applied, creation, decide, evaluate, pod, result, rule, rules, steps, word};

const VOLUME: &str = "sidecars: [{name: agent, image: agent, volumeMounts: [{name: cfg, mountPath: /cfg}]}]\nvolumes: [{name: cfg, configMap: {name: ours}}]";

fn theirs() -> String {
    pod(r#"{"containers":[{"name":"app"}],"volumes":[{"name":"cfg","emptyDir":{}}]}"#)
}

#[test]
fn row_11_a_volume_of_the_same_name_skips_the_rule_wholly() {
    let decision = decide(&rules(&rule("agent", VOLUME)), &theirs());
    assert_eq!((word(&decision), steps(&decision).len()), ("conflict", 0));
    assert_eq!(decision.warnings.len(), 1);
    assert!(decision.warnings[0].contains("`cfg`"), "{:?}", decision.warnings);
}

#[test]
fn row_12_and_a_required_rule_denies_and_names_both_sources() {
    let decision = decide(&rules(&rule("agent", &format!("required: true\n{VOLUME}"))), &theirs());
    assert!(decision.patch().is_empty());
    let denial = decision.denial().unwrap();
    for part in ["rule agent", "`cfg`", "`emptyDir`", "`configMap`", "rules.yaml:9"] {
        assert!(denial.contains(part), "{denial}");
    }
}

#[test]
fn row_14_a_container_of_the_same_name_is_a_clash() {
    let envoy = include_str!("../../rules/envoy.yaml");
    let rules = example(envoy, AS_IT_IS);
    let enabled = labelled("injection", "enabled");
    for list in ["containers", "initContainers", "ephemeralContainers"] {
        let pod = format!(
            r#"{{"metadata":{{"name":"web"}},"spec":{{"{list}":[{{"name":"envoy","image":"theirs"}}]}}}}"#
        );
        let decision = evaluate(&rules, &creation(&pod).facts(&enabled));
        assert_eq!((word(&decision), steps(&decision).len(), decision.warnings.len()), ("conflict", 0, 1));
    }
}

#[test]
fn row_16_mount_paths_are_one_with_or_without_a_slash() {
    let spec = "containerPatches:\n- select: {all: true}\n  volumeMounts: [{name: ours, mountPath: /etc/nginx}]\nvolumes: [{name: ours, emptyDir: {}}]\npod: {labels: {l: m}}";
    let taken = pod(
        r#"{"containers":[{"name":"app","volumeMounts":[{"name":"theirs","mountPath":"/etc/nginx/"}]}],"volumes":[{"name":"theirs","emptyDir":{}}]}"#,
    );
    let both = rules(&(rule("mount", spec) + &rule("other", "pod: {labels: {n: o}}")));
    let decision = decide(&both, &taken);
    assert_eq!(crate::kit::words(&decision), ["conflict", "applied"]);
    let result = result(&both, &taken);
    assert_eq!(result["metadata"]["labels"], json!({"app": "web", "n": "o"}), "nothing of the first");
    assert_eq!(result["spec"]["volumes"].as_array().unwrap().len(), 1);
    // A mount of the same volume stays.
    let same = taken.replace("theirs", "ours");
    assert_eq!(crate::kit::words(&decide(&both, &same)), ["applied", "applied"]);
    assert_eq!(
        crate::kit::result(&both, &same)["spec"],
        serde_json::from_str::<Value>(&same).unwrap()["spec"]
    );
}

/// The defaults of the API server, and the mounts of ServiceAccount admission in new containers.
#[test]
fn row_17_our_own_output_with_defaults_is_left_alone() {
    let rules = rules(&rule(
        "agent",
        &format!(
            "{VOLUME}\ncontainerPatches:\n- select: {{all: true}}\n  env: [{{name: A, value: b}}]\n  resources: {{requests: {{cpu: \"0.1\"}}}}"
        ),
    ));
    let first = applied(&rules, &creation(&pod(r#"{"containers":[{"name":"app"}]}"#)));
    let defaulted = first
        .replace(r#""image":"agent""#, r#""image":"agent","terminationMessagePath":"/dev/termination-log","terminationMessagePolicy":"File","imagePullPolicy":"Always","resources":{}"#)
        .replace(r#"{"name":"ours"}"#, r#"{"name":"ours","defaultMode":420}"#)
        .replace(r#"{"name":"cfg","mountPath":"/cfg"}"#, r#"{"name":"cfg","mountPath":"/cfg"},{"name":"kube-api-access","mountPath":"/var/run/secrets/kubernetes.io/serviceaccount","readOnly":true}"#)
        .replace(r#""cpu":"0.1""#, r#""cpu":"100m""#);
    for part in ["File", "420", "kube-api-access", "100m"] {
        assert!(defaulted.contains(part), "{part} is not in {defaulted}");
    }
    let decision = decide(&rules, &defaulted);
    // No operation, so no second status either.
    assert_eq!((word(&decision), steps(&decision).len(), decision.warnings.len()), ("unchanged", 0, 0));
}
