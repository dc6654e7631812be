//! `securityProfile: restricted`.

use serde_json::{Value, json};

use crate::kit::{codes, pod, result, rule, rules};

fn context(said: &str) -> Value {
    let text = rule("r", &format!("securityProfile: restricted\nsidecars: [{{name: s, image: i{said}}}]"));
    result(&rules(&text), &pod("{}"))["spec"]["initContainers"][0]["securityContext"].clone()
}

#[test]
fn fills_what_the_rule_leaves_open() {
    let whole = json!({
        "allowPrivilegeEscalation": false,
        "runAsNonRoot": true,
        "capabilities": {"drop": ["ALL"]},
        "seccompProfile": {"type": "RuntimeDefault"},
    });
    assert_eq!(context(""), whole);
    let said = context(
        ", securityContext: {runAsNonRoot: false, runAsUser: 5, capabilities: {add: [NET_BIND_SERVICE]}, seccompProfile: {type: Unconfined}}",
    );
    let wanted = json!({
        "allowPrivilegeEscalation": false,
        "runAsNonRoot": false,
        "runAsUser": 5,
        "capabilities": {"add": ["NET_BIND_SERVICE"], "drop": ["ALL"]},
        "seccompProfile": {"type": "Unconfined"},
    });
    assert_eq!(said, wanted);
}

#[test]
fn fills_nothing_that_contradicts_the_rule() {
    for said in
        ["privileged: true", "capabilities: {add: [SYS_ADMIN]}", "capabilities: {add: [CAP_SYS_ADMIN]}"]
    {
        assert!(context(&format!(", securityContext: {{{said}}}")).get("allowPrivilegeEscalation").is_none());
    }
    assert!(context(", securityContext: {runAsUser: 0}").get("runAsNonRoot").is_none());
}

#[test]
fn is_for_injected_containers_on_linux() {
    let text = "securityProfile: restricted\ninitContainers: [{name: s, image: i}]\ncontainerPatches:\n- select: {all: true}\n  env: [{name: A, value: b}]";
    let made = result(&rules(&rule("r", text)), &pod(r#"{"containers":[{"name":"app"}]}"#));
    assert!(made["spec"]["initContainers"][0].get("securityContext").is_some());
    assert!(made["spec"]["containers"][0].get("securityContext").is_none());
    for os in ["any", "windows"] {
        let text = rule("r", text).replace("match: {", &format!("match: {{os: {os}, "));
        assert_eq!(codes(&text)[0], "VST0155");
    }
    let text = text.replace("restricted", "baseline");
    assert_eq!(codes(&rule("r", &text))[0], "VST0113");
}
