//! Cases about selection.

use super::{AS_IT_IS, example, labelled};
use crate::kit::{applied, creation, decide, evaluate, pod, rule, rules, steps, word};

const ENVOY: &str = include_str!("../../rules/envoy.yaml");
const CHANGE: &str = "pod: {labels: {l: m}}";

/// A pod with one container and additional members of `metadata` and `spec`.
fn web(metadata: &str, spec: &str) -> String {
    format!(
        r#"{{"metadata":{{"name":"web"{metadata}}},"spec":{{"containers":[{{"name":"app","image":"app"}}]{spec}}}}}"#
    )
}

#[test]
fn row_21_the_namespace_is_that_of_the_request() {
    let text = rule("r", CHANGE).replace(
        "match: {",
        "match: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: team-a}}, ",
    );
    let rules = rules(&text);
    for namespace in ["", r#","namespace":"""#, r#","namespace":"team-b""#] {
        let pod = format!(
            r#"{{"metadata":{{"generateName":"web-","labels":{{"app":"web"}}{namespace}}},"spec":{{"containers":[]}}}}"#
        );
        let subject = creation(&pod);
        assert_eq!(word(&evaluate(&rules, &subject)), "applied", "{pod}");
        assert_eq!(word(&evaluate(&rules, &subject.namespace("team-b"))), "namespace_not_matched", "{pod}");
    }
}

#[test]
fn row_22_a_label_beats_an_annotation_and_the_user_is_told() {
    let rules = example(ENVOY, AS_IT_IS);
    let enabled = labelled("injection", "enabled");
    let key = "inject.vestibule.dev/envoy";
    let both = |label: &str, annotation: &str| {
        web(&format!(r#","labels":{{"{key}":"{label}"}},"annotations":{{"{key}":"{annotation}"}}"#), "")
    };
    let out = both("false", "true");
    let decision = evaluate(&rules, &creation(&out).facts(&enabled));
    assert_eq!((word(&decision), steps(&decision).len(), decision.warnings.len()), ("opted_out", 0, 1));
    assert!(decision.warnings[0].contains("disagree"), "{:?}", decision.warnings);
    let wanted = both("true", "false");
    assert_eq!(word(&evaluate(&rules, &creation(&wanted).facts(&enabled))), "applied");
}

#[test]
fn row_24_a_value_that_is_neither_yes_nor_no() {
    let yes = pod("{}").replace(r#""app":"web""#, r#""app":"web","inject.vestibule.dev/r":"yes""#);
    let decision = decide(&rules(&rule("r", CHANGE)), &yes);
    assert_eq!((word(&decision), steps(&decision).len(), decision.warnings.len()), ("invalid_value", 0, 1));
    let required = rules(&rule("r", &format!("required: true\n{CHANGE}")));
    let denial = decide(&required, &yes).denial().unwrap();
    assert!(denial.contains("rule r") && denial.contains("inject.vestibule.dev/r"), "{denial}");
}

#[test]
fn row_25_system_namespaces_are_out_for_required_rules_too() {
    let rules = rules(&rule("r", &format!("required: true\n{CHANGE}")));
    let pod = pod("{}");
    for namespace in ["kube-system", "kube-public", "kube-node-lease"] {
        let decision = evaluate(&rules, &creation(&pod).namespace(namespace));
        assert_eq!(
            (word(&decision), steps(&decision).len()),
            ("excluded_system_namespace", 0),
            "{namespace}"
        );
        assert!(decision.denial().is_none());
    }
}

#[test]
fn row_26_a_pod_on_its_nodes_network_gets_no_proxy() {
    let rules = example(ENVOY, AS_IT_IS);
    let enabled = labelled("injection", "enabled");
    let host = web("", r#","hostNetwork":true"#);
    let decision = evaluate(&rules, &creation(&host).facts(&enabled));
    assert_eq!((word(&decision), steps(&decision).len()), ("host_network", 0));
    let inside = web("", r#","hostNetwork":false"#);
    applied(&rules, &creation(&inside).facts(&enabled));
}

#[test]
fn row_27_a_pod_for_windows_gets_no_container_for_linux() {
    let rules = example(ENVOY, AS_IT_IS);
    let enabled = labelled("injection", "enabled");
    for spec in [
        r#","os":{"name":"windows"}"#,
        r#","nodeSelector":{"kubernetes.io/os":"windows"}"#,
        r#","nodeSelector":{"beta.kubernetes.io/os":"windows"}"#,
    ] {
        let windows = web("", spec);
        let decision = evaluate(&rules, &creation(&windows).facts(&enabled));
        assert_eq!((word(&decision), steps(&decision).len()), ("os_mismatch", 0), "{spec}");
    }
}
