//! Concurrent requests.

use std::thread;

use crate::kit::{decide, pod, rule, rules, steps};

/// A default was filled into the shared configuration while requests read it.
#[test]
fn d10_threads_share_immutable_rules() {
    let text = rule(
        "a",
        "sidecars: [{name: s, image: s}]\ncontainerPatches:\n- select: {all: true}\n  env: [{name: A, value: $(B)}, {name: B, value: b}]",
    ) + &rule("b", "onConflict: override\nsidecars: [{name: s, image: t}]\npod: {labels: {l: m}}");
    let rules = rules(&text);
    let pods: Vec<String> = (0..8)
        .map(|number| {
            pod(&format!(
                r#"{{"containers":[{{"name":"app-{number}","env":[{{"name":"B","value":"{number}"}}]}}]}}"#
            ))
        })
        .collect();
    let alone: Vec<Vec<String>> = pods.iter().map(|pod| steps(&decide(&rules, pod))).collect();
    thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                for _ in 0..50 {
                    for (pod, expected) in pods.iter().zip(&alone) {
                        assert_eq!(steps(&decide(&rules, pod)), *expected);
                    }
                }
            });
        }
    });
}
