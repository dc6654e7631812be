//! Hints about rules that work.

use vestibule_rules::{Diagnostic, RuleSet, Severity};

use crate::kit::{rule, rules, schema};

/// Code and position of every finding about rules with these lines in their spec.
fn found(specs: &[&str]) -> Vec<String> {
    let text: String =
        specs.iter().enumerate().map(|(index, spec)| rule(&format!("r{index}"), spec)).collect();
    let findings = rules(&text).lint();
    assert!(findings.iter().all(|one| one.severity() != Severity::Error && one.help().is_some()));
    findings.iter().map(|one| format!("{} {}", one.code().id, one.position())).collect()
}

const FINE: &str = "image: 'i:1', resources: {requests: {cpu: 1m}}";
const PROBE: &str = "startupProbe: {exec: {command: [a]}}";

#[test]
fn containers() {
    for (container, expected) in [
        ("image: 'i:1'", &["VST0200"][..]),
        ("image: i, resources: {limits: {cpu: 1}}", &["VST0203"]),
        ("image: 'localhost:5000/i', resources: {limits: {cpu: 1}}", &["VST0203"]),
        ("image: 'localhost:5000/i@sha256:0', resources: {limits: {cpu: 1}}", &[]),
        (&format!("{FINE}, mode: regular, ports: [{{containerPort: 1}}]"), &[]),
        (&format!("{FINE}, env: [{{name: A, value: $(B)}}, {{name: B, value: $(A)$$(C)}}]"), &["VST0202"]),
        (&format!("{FINE}, envFrom: [{{configMapRef: {{name: c}}}}], args: [$(B)]"), &[]),
        (&format!("{FINE}, securityContext: {{privileged: true}}"), &["VST0209"]),
    ] {
        let found = found(&[&format!("sidecars: [{{name: s, {PROBE}, {container}}}]")]);
        let codes: Vec<_> = found.iter().filter_map(|one| one.split(' ').next()).collect();
        assert_eq!(codes, expected, "{container}");
    }
}

/// A container that listens nowhere may be waited for, too.
#[test]
fn native_sidecars_that_nobody_waits_for() {
    let hook = "lifecycle: {postStart: {exec: {command: [a]}}}";
    let ports = "ports: [{containerPort: 1}]";
    for (list, container, waited) in [
        ("sidecars", FINE.to_owned(), false),
        ("sidecars", format!("{FINE}, {ports}"), false),
        ("sidecars", format!("{FINE}, mode: native"), false),
        ("sidecars", format!("{FINE}, mode: native, {PROBE}"), true),
        ("sidecars", format!("{FINE}, {ports}, {PROBE}"), true),
        ("sidecars", format!("{FINE}, {hook}"), true),
        ("sidecars", format!("{FINE}, mode: regular, {ports}"), true),
        ("initContainers", FINE.to_owned(), true),
    ] {
        let found = found(&[&format!("{list}: [{{name: s, {container}}}]")]);
        assert_eq!(found.iter().any(|one| one.starts_with("VST0201")), !waited, "{list}: {container}");
    }
}

#[test]
fn what_pods_may_reach() {
    let mount = |more: &str| {
        format!(
            "volumes: [{{name: v, secret: {{secretName: s}}}}]\ncontainers: [{{select: {{all: true}}, volumeMounts: [{{name: v, mountPath: /v{more}}}]}}]"
        )
    };
    assert_eq!(found(&[&mount("")]), ["VST0208 8:53"]);
    assert!(found(&[&mount(", readOnly: true")]).is_empty());
    assert_eq!(found(&["volumes: [{name: v, hostPath: {path: /}}]"]), ["VST0209 7:33"]);
    assert_eq!(found(&["pod: {spec: {hostPID: true}}"]), ["VST0209 7:16"]);
}

#[test]
fn rules_beside_each_other() {
    let env = |value: &str, more: &str| {
        format!(
            "onConflict: override\nsidecars: []\ncontainers: [{{select: {{all: true}}, env: [{{name: A, value: {value}}}]}}]\n{more}"
        )
    };
    let (one, same, other, elsewhere) =
        (env("a", ""), env("a", ""), env("b", ""), env("b", "targets: [deployments]"));
    assert!(found(&[&one, &same]).is_empty());
    assert_eq!(found(&[&one, &other]), ["VST0204 18:44"]);
    assert!(found(&[&one, &elsewhere]).is_empty());
}

#[test]
fn whom_rules_are_for() {
    let text = |head: &str| {
        format!(
            "apiVersion: vestibule.dev/v1alpha1\nkind: Injection\nmetadata: {{name: r}}\nspec:\n  {head}\n  pod: {{labels: {{c: d}}}}\n"
        )
    };
    let found = |head: &str| {
        let set = RuleSet::load([("rules.yaml", &*text(head))], schema()).unwrap();
        set.lint().iter().map(Diagnostic::headline).collect::<Vec<_>>()
    };
    assert!(found("match: {namespaces: {names: [kube-system, a], exclude: [a]}}")[0].contains("VST0210"));
    assert!(found("match: {namespaces: {names: [kube-system, a]}}").is_empty());
    assert!(found("required: true\n  match: {objects: {labels: {a: b}}}")[0].contains("VST0206"));
    assert!(found("required: true\n  match: {namespaces: {matchLabels: {a: b}}}").is_empty());
}

#[test]
fn what_a_policy_could_do() {
    let fits = |spec: &str| found(&[spec]).iter().any(|one| one.starts_with("VST0211"));
    assert!(fits("onConflict: override\npod: {labels: {a: b}}"));
    assert!(fits("containers: [{select: {all: true}, onConflict: override, env: [{name: A, value: b}]}]"));
    for spec in [
        "pod: {labels: {a: b}}",
        "onConflict: override\nrequired: true\npod: {labels: {a: b}}",
        "onConflict: override\noptIn: pod\npod: {labels: {a: b}}",
        "onConflict: override\ncontainers: [{select: {index: 0}, env: [{name: A, value: b}]}]",
        "onConflict: override\ncontainers: [{select: {all: true}, env: [{name: A, valueFrom: {fieldRef: {fieldPath: metadata.name}}}]}]",
        "onConflict: override\ncontainers: [{select: {all: true}, envFrom: [{configMapRef: {name: a}}]}]",
        "onConflict: override\npod: {labels: {a: b}}\nsidecars: [{name: s, image: 'i:1', resources: {limits: {cpu: 1}}}]",
    ] {
        assert!(!fits(spec), "{spec}");
    }
}

#[test]
fn the_examples_raise_no_false_alarm() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../examples/rules");
    let mut count = 0;
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "yaml") {
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let rules = RuleSet::load([(&*name, &*text)], schema()).unwrap();
        assert!(rules.prove().is_ok(), "{name}");
        let findings: Vec<_> = rules.lint().iter().map(Diagnostic::headline).collect();
        // These are right: the tutorial's own container, a forwarder that finds what was written before it looked, and a rule
        // that only sets a variable.
        let right = |one: &String| {
            name == "nginx.yaml" && one.contains("VST0200")
                || name == "log-forwarder.yaml" && one.contains("VST0201")
                || name == "env-target.yaml" && one.contains("VST0211")
        };
        assert!(findings.iter().all(right), "{findings:#?}");
        count += 1;
    }
    assert!(count >= 8);
}
