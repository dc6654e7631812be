//! Values of the wrong type are found when rules are loaded, not by the API server.

use vestibule_rules::{Diagnostic, Severity};

use crate::kit::{load, rule};

const BLOCK: &str = "containerPatches:\n- select: {all: true}\n";

fn findings(spec: &str) -> Vec<String> {
    let findings = load(&rule("r", spec)).err().unwrap_or_default();
    let errors = findings.iter().filter(|finding| finding.severity() == Severity::Error);
    errors.map(Diagnostic::headline).collect()
}

fn sidecar(field: &str) -> String {
    format!("sidecars:\n- {{name: s, image: s}}\n- name: t\n  image: t\n  {field}\n")
}

fn block(field: &str) -> String {
    format!("{BLOCK}  {field}\n")
}

fn volume(source: &str) -> String {
    format!("volumes:\n- name: v\n  {source}\n")
}

#[test]
fn a_wrong_type_is_reported_at_its_location() {
    for (spec, expected) in [
        (
            sidecar("ports: [{containerPort: 1}, {containerPort: \"80\"}]"),
            "11:49: error[VST0111]: `containerPort` wants a whole number of 32 bits, and this is text",
        ),
        (
            sidecar("readinessProbe: {httpGet: {port: http}, periodSeconds: \"5\"}"),
            "11:60: error[VST0111]: `periodSeconds` wants a whole number of 32 bits, and this is text",
        ),
        (
            sidecar("securityContext: {runAsNonRoot: \"true\"}"),
            "11:37: error[VST0111]: `runAsNonRoot` wants `true` or `false`, and this is text",
        ),
        (
            sidecar("livenessProbe: {exec: {command: [a]}, periodSeconds: 99999999999}"),
            "11:58: error[VST0111]: `periodSeconds` wants a whole number of 32 bits, and this is another number",
        ),
        (
            block("ports: [{containerPort: \"80\"}]"),
            "9:29: error[VST0111]: `containerPort` wants a whole number of 32 bits, and this is text",
        ),
        (
            block("volumeMounts: [{name: v, mountPath: /v, readOnly: 1}]"),
            "9:55: error[VST0111]: `readOnly` wants `true` or `false`, and this is another number",
        ),
        (
            block("env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: k, optional: maybe}}}]"),
            "9:75: error[VST0111]: `optional` wants `true` or `false`, and this is text",
        ),
        (
            block("envFrom: [{prefix: 5, configMapRef: {name: c}}]"),
            "9:24: error[VST0111]: `prefix` wants text, and this is another number",
        ),
        (
            volume("configMap: {name: c, defaultMode: \"0644\"}"),
            "9:39: error[VST0111]: `defaultMode` wants a whole number of 32 bits, and this is text",
        ),
    ] {
        assert_eq!(findings(&spec), [format!("rules.yaml:{expected}")], "{spec}");
    }
}

#[test]
fn a_finding_has_help_and_does_not_show_the_value() {
    let spec = block("env: [{name: A, valueFrom: {secretKeyRef: {name: s, key: k, optional: hunter2}}}]");
    assert!(findings(&spec).iter().all(|headline| !headline.contains("hunter2")));
    for (spec, help) in [
        (sidecar("ports: [{containerPort: \"80\"}]"), "write it without quotes"),
        (sidecar("stdin: \"true\""), "write it without quotes"),
        (block("envFrom: [{prefix: 5, configMapRef: {name: c}}]"), "put it into quotes"),
    ] {
        let findings = load(&rule("r", &spec)).err().unwrap();
        assert!(findings[0].to_string().contains(help), "{}", findings[0]);
    }
}

#[test]
fn an_item_has_at_most_one_type_error() {
    let found = findings(&sidecar("ports: [{containerPort: \"80\"}, {containerPort: \"81\"}]"));
    assert_eq!(found.len(), 1, "{found:?}");
    let found = findings(&block("ports: [{containerPort: \"80\"}, {containerPort: \"81\"}]"));
    assert_eq!(found.len(), 2, "{found:?}");
}

#[test]
fn other_spellings_of_the_right_type_are_accepted() {
    for spec in [
        sidecar("env: [{name: A, value: 8080}, {name: B, value: true}]"),
        sidecar("args: [1.10, on, 5]"),
        sidecar("resources: {requests: {cpu: 1, memory: 64Mi}, limits: {cpu: 1.5}}"),
        sidecar("readinessProbe: {httpGet: {port: http, path: /}}"),
        sidecar("readinessProbe: {tcpSocket: {port: 80}}"),
        sidecar("lifecycle: {preStop: {sleep: {seconds: 5}}}"),
        sidecar("fieldOfTomorrow: {a: [1, \"2\"]}"),
        sidecar("onConflict: keep\n  mode: native\n  position: {initContainers: last}"),
        block("env: [{name: A, value: 8080, onConflict: override}]"),
        block(
            "env: [{name: A, valueFrom: {resourceFieldRef: {containerName: c, resource: limits.cpu, divisor: 1}}}]",
        ),
        block("ports: [{containerPort: 80, name: http, protocol: TCP}]"),
        volume("configMap: {name: c, defaultMode: 0644, items: [{key: a, path: b, mode: 0o400}]}"),
        volume("emptyDir: {sizeLimit: 5}"),
        volume("emptyDir: {}"),
        volume("csi: {driver: d, volumeAttributes: {parameters: p, when: w}}"),
    ] {
        assert_eq!(findings(&spec), Vec::<String>::new(), "{spec}");
    }
}

#[test]
fn reserved_words_of_the_spec_are_refused_in_items() {
    for word in ["matchConditions", "securityProfile", "remove", "parameters", "variables"] {
        for spec in [
            sidecar(&format!("{word}: \"false\"")),
            sidecar(&format!("securityContext: {{{word}: \"false\"}}")),
            sidecar(&format!("fieldOfTomorrow: {{{word}: \"false\"}}")),
            sidecar(&format!("env: [{{name: A, value: b, {word}: \"false\"}}]")),
            block(&format!("env: [{{name: A, value: b, {word}: \"false\"}}]")),
            block(&format!("volumeMounts: [{{name: v, mountPath: /v, {word}: \"false\"}}]")),
            volume(&format!("emptyDir: {{}}\n  {word}: \"false\"")),
        ] {
            let found = findings(&spec);
            let wanted = format!("VST0110]: `{word}` belongs to the `spec` of a rule");
            assert!(found.len() == 1 && found[0].contains(&wanted), "{spec}: {found:?}");
        }
        assert_eq!(findings(&block(&format!("env: []\n  {word}: \"false\""))).len(), 1, "{word}");
    }
}

#[test]
fn expressions_that_do_not_fit_structured_values_are_refused() {
    for (spec, code) in [
        (volume("csi: {driver: d, volumeAttributes: {$cel: owner.name}}"), "VST0140"),
        (volume("emptyDir: {$cel: owner.name}"), "VST0140"),
        (sidecar("securityContext: {$cel: owner.name}"), "VST0140"),
        (sidecar("env: {$cel: owner.name}"), "VST0135"),
        (sidecar("env: [{$cel: owner.name}]"), "VST0135"),
        (sidecar("env: [{name: {$cel: object.metadata.name}, value: b}]"), "VST0135"),
        (sidecar("volumeMounts: [{name: v, mountPath: {$cel: object.metadata.name}}]"), "VST0135"),
        (sidecar("ports: [{containerPort: {$cel: 'size(object.spec)'}}]"), "VST0135"),
        (sidecar("resources: {requests: {$cel: owner.name}}"), "VST0140"),
        (block("env: [{name: A, value: b, $cel: owner.name}]"), "VST0134"),
        (block("env: [{name: A, value: {$cel: owner.name, more: x}}]"), "VST0134"),
        (block("env: [{name: A, value: {$cell: owner.name}}]"), "VST0134"),
    ] {
        let found = findings(&spec);
        assert!(found.len() == 1 && found[0].contains(code), "{spec}: {found:?}");
    }
}
