//! Rules of which the API server would refuse each pod are refused themselves.

mod rows;

use crate::kit::{headlines, rule, rules};
use rows::{refused, taken};

#[test]
fn members_that_no_pod_may_have_together_are_refused() {
    for (lines, why) in refused() {
        let found = headlines(&rule("r", &lines));
        assert!(matches!(&found[..], [one] if one.contains(why)), "{lines}: {found:?}");
    }
    for lines in taken() {
        rules(&rule("r", &lines));
    }
}

/// The pod, or an expression, may have the other member.
#[test]
fn parts_that_are_completed_are_not_refused() {
    for lines in [
        "onConflict: override\ncontainerPatches: [{select: {all: true}, livenessProbe: {httpGet: {path: /}}}]",
        "onConflict: override\ncontainerPatches: [{select: {all: true}, volumeMounts: [{name: v, mountPath: /m, recursiveReadOnly: Enabled}]}]",
        "onConflict: override\nvolumes: [{name: v, secret: {optional: true}}]\nsidecars: [{name: s, image: i, mode: regular, readinessProbe: {httpGet: {path: /}}, volumeMounts: [{name: v, mountPath: /m, recursiveReadOnly: Enabled}]}]",
        "pod: {spec: {tolerations: [{key: a, operator: Exists, value: {$cel: \"object.metadata.?labels.x.orValue('')\"}}]}}",
        "sidecars: [{name: s, image: i, imagePullPolicy: {$cel: object.spec.nodeName}}]",
        "sidecars: [{name: s, image: i, readinessProbe: {$cel: object.spec.containers[0].readinessProbe}}]",
        "pod: {spec: {tolerations: [{key: a, operator: {$cel: object.spec.nodeName}, value: b}]}}",
    ] {
        let found = headlines(&rule("r", lines));
        assert!(
            !found.iter().any(|one| one.contains("VST0113") || one.contains("VST0112")),
            "{lines}: {found:?}"
        );
    }
}

#[test]
fn a_value_that_may_be_a_secret_is_not_shown() {
    let lines = "sidecars: [{name: s, image: i, imagePullPolicy: hunter2}]\npod: {spec: {tolerations: [{value: hunter2}]}}";
    let found = headlines(&rule("r", lines));
    assert!(found.len() == 2 && !found.concat().contains("hunter2"), "{found:?}");
}
