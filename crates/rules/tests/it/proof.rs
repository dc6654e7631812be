//! The proof of rules on the built-in corpus.

use std::time::{Duration, Instant};

use crate::kit::{rule, rules};

#[test]
fn the_rules_of_the_other_tests_come_to_rest() {
    let texts = [
        rule("sidecar", "sidecars: [{name: proxy, image: 'proxy:1', ports: [{containerPort: 15001}]}]"),
        rule(
            "env",
            "onConflict: override\ncontainers: [{select: {all: true}, env: [{name: PORT, value: '1'}, {name: X, value: $(PORT)}]}]",
        ),
        rule(
            "volume",
            "volumes: [{name: certs, emptyDir: {}}]\ncontainers: [{select: {all: true, init: true}, volumeMounts: [{name: certs, mountPath: /data}]}]",
        ),
        rule("required", "required: true\npod: {labels: {team: blue}}\ntargets: [pods, deployments]"),
        rule("place", "sidecars: [{name: last, image: 'l:1', mode: regular, position: {containers: first}}]"),
    ];
    assert!(rules(&texts.concat()).prove().is_ok());
}

#[test]
fn many_rules_are_proved_in_bounded_time() {
    let one = |index: usize| {
        let spec = format!(
            "sidecars: [{{name: s{index}, image: 's:1'}}]\nvolumes: [{{name: v{index}, emptyDir: {{}}}}]\ncontainers: [{{select: {{all: true}}, env: [{{name: E{index}, value: x}}]}}]"
        );
        rule(&format!("r{index}"), &spec)
    };
    let text: String = (0..150).map(one).collect();
    let rules = rules(&text);
    let since = Instant::now();
    assert!(rules.prove().is_ok());
    // A second or so; far from what a square would take.
    assert!(since.elapsed() < Duration::from_secs(60), "{:?}", since.elapsed());
}

#[test]
fn what_grows_with_every_pass_never_comes_to_rest() {
    let spec = "onConflict: override\npod:\n  annotations:\n    seen: {$cel: \"object.metadata.?annotations[?'seen'].orValue('') + 'x'\"}";
    let text = rule("fine", "pod: {labels: {a: b}}") + &rule("r", spec);
    let found = rules(&text).prove().err().unwrap();
    assert_eq!(found.len(), 1);
    let said = found[0].headline();
    assert!(said.starts_with("rules.yaml:11:") && said.contains("VST0175"), "{said}");
    assert!(said.contains("`r` never comes to rest on a bare pod"), "{said}");
}
