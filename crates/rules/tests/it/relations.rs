//! Rules of which the API server would refuse each pod get a warning.

mod rows;

use vestibule_rules::diagnostic::Diagnostic;

use crate::kit::{load, rule};
use rows::{refused, taken};

fn findings(lines: &str) -> Vec<String> {
    let findings = match load(&rule("r", lines)) {
        Ok(rules) => rules.warnings().to_vec(),
        Err(errors) => errors,
    };
    findings.iter().map(Diagnostic::headline).collect()
}

#[test]
fn fields_that_the_api_server_refuses_get_a_warning() {
    for (lines, why) in refused() {
        let found = findings(&lines);
        assert!(
            matches!(&found[..], [one] if one.contains(why) && one.contains("VST0213")),
            "{lines}: {found:?}"
        );
    }
    for lines in taken() {
        assert!(findings(&lines).is_empty(), "{lines}");
    }
}

/// kube-apiserver 1.36 drops these sources unless feature gates are set, so that `tests/cluster` cannot compare them.
#[test]
fn sources_behind_feature_gates_get_the_same_warning() {
    for (source, why) in [
        ("clusterTrustBundle: {name: a}", "`clusterTrustBundle` needs `path`"),
        ("clusterTrustBundle: {path: p}", "`clusterTrustBundle` needs `name` or `signerName`"),
        ("clusterTrustBundle: {path: p, name: a, signerName: a.b/c}", "`name` and `signerName` exclude"),
        ("clusterTrustBundle: {path: p, name: a, labelSelector: {}}", "`name` and `labelSelector` exclude"),
        ("podCertificate: {keyType: ED25519, keyPath: p}", "`podCertificate` needs `signerName`"),
        ("podCertificate: {signerName: a.b/c, keyPath: p}", "`podCertificate` needs `keyType`"),
        ("podCertificate: {signerName: a.b/c, keyType: ED25519}", "needs `certificateChainPath` or"),
        ("clusterTrustBundle: {path: p, signerName: a.b/c, labelSelector: {}}", ""),
        ("podCertificate: {signerName: a.b/c, keyType: ED25519, keyPath: p}", ""),
    ] {
        let found = findings(&format!("volumes: [{{name: v, projected: {{sources: [{{{source}}}]}}}}]"));
        assert!(
            found.len() == usize::from(!why.is_empty()) && found.concat().contains(why),
            "{source}: {found:?}"
        );
    }
}

/// The pod, or an expression, may have the other member.
#[test]
fn parts_that_are_completed_get_no_warning() {
    for lines in [
        "onConflict: override\ncontainerPatches: [{select: {all: true}, livenessProbe: {httpGet: {path: /}}}]",
        "onConflict: override\ncontainerPatches: [{select: {all: true}, volumeMounts: [{name: v, mountPath: /m, recursiveReadOnly: Enabled}]}]",
        "onConflict: override\nvolumes: [{name: v, secret: {optional: true}}]\nsidecars: [{name: s, image: i, mode: regular, readinessProbe: {httpGet: {path: /}}, volumeMounts: [{name: v, mountPath: /m, recursiveReadOnly: Enabled}]}]",
        "onConflict: override\npod: {spec: {topologySpreadConstraints: [{maxSkew: 1, topologyKey: z, whenUnsatisfiable: DoNotSchedule, matchLabelKeys: [role]}]}}",
        "pod: {spec: {tolerations: [{key: a, operator: Exists, value: {$cel: \"object.metadata.?labels.x.orValue('')\"}}]}}",
        "sidecars: [{name: s, image: i, imagePullPolicy: {$cel: object.spec.nodeName}}]",
        "sidecars: [{name: s, image: i, readinessProbe: {$cel: object.spec.containers[0].readinessProbe}}]",
        "pod: {spec: {tolerations: [{key: a, operator: {$cel: object.spec.nodeName}, value: b}]}}",
    ] {
        let found = findings(lines);
        assert!(!found.iter().any(|one| one.contains("VST0213")), "{lines}: {found:?}");
    }
}

/// The API server refuses `configMapRef: {}`.
#[test]
fn an_expression_that_may_leave_out_a_needed_field_gets_a_warning() {
    let none = "name: {$cel: \"object.metadata.?labels[?'a']\"}";
    for (lines, warned) in [
        (format!("volumes: [{{name: v, configMap: {{{none}}}}}]"), true),
        (
            format!("containerPatches: [{{select: {{all: true}}, envFrom: [{{configMapRef: {{{none}}}}}]}}]"),
            true,
        ),
        (
            format!(
                "sidecars: [{{name: s, image: i, env: [{{name: A, valueFrom: {{configMapKeyRef: {{key: k, {none}}}}}}}]}}]"
            ),
            true,
        ),
        (format!("volumes: [{{name: v, projected: {{sources: [{{secret: {{{none}}}}}]}}}}]"), true),
        (format!("onConflict: override\nvolumes: [{{name: v, configMap: {{{none}}}}}]"), false),
        (
            "volumes: [{name: v, configMap: {name: a, optional: {$cel: \"optional.of(true)\"}}}]".to_owned(),
            false,
        ),
    ] {
        let found = findings(&lines);
        let is_warned =
            found.iter().any(|one| one.contains("needs `name`, which this expression may leave out"));
        assert_eq!(is_warned, warned, "{lines}: {found:?}");
    }
}

#[test]
fn a_value_that_may_be_a_secret_is_not_shown() {
    let lines = "sidecars: [{name: s, image: i, imagePullPolicy: hunter2}]\npod: {spec: {tolerations: [{value: hunter2}]}}";
    let found = findings(lines);
    assert!(found.len() == 2 && !found.concat().contains("hunter2"), "{found:?}");
}
