//! One rule that adds or removes many items: the time grows linearly with their number.

use std::fmt::Write as _;

use super::POD;
use crate::growth::takes_less_than;
use crate::kit::{decide, names, pod, result, rule, rules, word};

/// `made` gives a rule's spec and its pod. Four times as many items take at most ten times as long, and not sixteen times.
fn takes_linear_time_in_items(outcome: &str, made: impl Fn(usize) -> (String, String)) {
    let evaluate = |count: usize| {
        let (spec, object) = made(count);
        let rules = rules(&rule("r", &spec));
        move || {
            let decision = decide(&rules, &object);
            assert_eq!(word(&decision), outcome, "{:?}", decision.warnings);
        }
    };
    takes_less_than(10, evaluate(200), evaluate(800));
}

/// `head` with `count` indented items below it.
fn listed(head: &str, indent: usize, count: usize, item: impl Fn(usize) -> String) -> String {
    (0..count).fold(format!("{head}\n"), |mut text, n| {
        writeln!(text, "{:indent$}{}", "", item(n)).unwrap();
        text
    })
}

fn joined(count: usize, item: impl Fn(usize) -> String) -> String {
    (0..count).map(item).collect::<Vec<_>>().join(",")
}

/// A pod with one container, which has `count` ports from 1000 on.
fn listening(count: usize) -> String {
    let ports = joined(count, |n| format!(r#"{{"name":"p{n}","containerPort":{}}}"#, 1_000 + n));
    pod(&format!(
        r#"{{"containers":[{{"name":"app","image":"i","ports":[{ports}]}},{{"name":"other","image":"i"}}]}}"#
    ))
}

#[test]
fn fields_of_the_specification() {
    takes_linear_time_in_items("unchanged", |count| {
        let fields = joined(count, |n| format!(r#","x{n}":1"#)).replace(",,", ",");
        let object = pod(&format!(r#"{{"containers":[]{fields}}}"#));
        (listed("pod:\n  spec:", 4, count, |n| format!("x{n}: 1")), object)
    });
}

#[test]
fn ports_of_a_sidecar() {
    takes_linear_time_in_items("applied", |count| {
        let port = |n: usize| format!("- {{containerPort: {}}}", 10_000 + n);
        (listed("sidecars:\n- name: s\n  image: i\n  ports:", 2, count, port), listening(count))
    });
}

#[test]
fn ports_that_are_taken() {
    takes_linear_time_in_items("unchanged", |count| {
        let head = "containerPatches:\n- select: {names: [other]}\n  onConflict: keep\n  ports:";
        let port = |n: usize| format!("- {{containerPort: {}}}", 1_000 + n);
        (listed(head, 2, count, port), listening(count))
    });
    takes_linear_time_in_items("unchanged", |count| {
        let side = |n: usize| {
            format!("- {{name: s{n}, image: i, ports: [{{name: p{n}, containerPort: {}}}]}}", 9_000 + n)
        };
        (listed("onConflict: keep\nsidecars:", 0, count, side), listening(count))
    });
}

#[test]
fn containers() {
    for mode in ["native", "regular"] {
        takes_linear_time_in_items("applied", |count| {
            let side = |n: usize| format!("- {{name: s{n}, image: i, mode: {mode}}}");
            (listed("sidecars:", 0, count, side), pod(POD))
        });
    }
}

#[test]
fn labels() {
    takes_linear_time_in_items("applied", |count| {
        (listed("pod:\n  labels:", 4, count, |n| format!("l{n}: x")), pod(POD))
    });
}

#[test]
fn items_without_keys() {
    let toleration = |n: usize| format!("- {{key: k{n}, operator: Exists}}");
    for there in ["[]", r#"[{"key":"z"}]"#] {
        takes_linear_time_in_items("applied", |count| {
            let object = pod(&format!(r#"{{"containers":[],"tolerations":{there}}}"#));
            (listed("pod:\n  spec:\n    tolerations:", 4, count, toleration), object)
        });
    }
    takes_linear_time_in_items("applied", |count| {
        let source = |n: usize| format!("- {{configMapRef: {{name: c{n}}}}}");
        (listed("containerPatches:\n- select: {all: true}\n  envFrom:", 2, count, source), pod(POD))
    });
}

/// Each variable refers to the next one, and the last one to a variable of the pod.
fn referring(count: usize) -> String {
    let next = |n: usize| if n + 1 < count { format!("E{}", n + 1) } else { "X".to_owned() };
    let variable = |n: usize| format!("- {{name: E{n}, value: $({})}}", next(n));
    listed("containerPatches:\n- select: {all: true}\n  env:", 2, count, variable)
}

#[test]
fn variables_that_refer_to_each_other() {
    takes_linear_time_in_items("applied", |count| (referring(count), pod(POD)));
}

#[test]
fn variables_go_after_the_last_of_a_chain_of_references() {
    let made = result(&rules(&rule("r", &referring(40))), &pod(POD));
    let wanted: Vec<_> = ["X".to_owned()].into_iter().chain((0..40).map(|n| format!("E{n}"))).collect();
    assert_eq!(names(&made["spec"]["containers"][0]["env"]), wanted);
}

#[test]
fn removals() {
    takes_linear_time_in_items("applied", |count| {
        let variables = joined(count + 1, |n| format!(r#"{{"name":"R{n}","value":"x"}}"#));
        let object = pod(&format!(r#"{{"containers":[{{"name":"app","image":"i","env":[{variables}]}}]}}"#));
        (listed("remove:", 0, count, |n| format!("- {{env: {{containers: all, name: R{n}}}}}")), object)
    });
    takes_linear_time_in_items("applied", |count| {
        let volumes = joined(count, |n| format!(r#"{{"name":"v{n}","emptyDir":{{}}}}"#));
        let mounts = joined(count, |n| format!(r#"{{"name":"z","mountPath":"/m{n}"}}"#));
        let app = format!(r#"{{"name":"app","image":"i","volumeMounts":[{mounts}]}}"#);
        let object =
            pod(&format!(r#"{{"containers":[{app}],"volumes":[{volumes},{{"name":"z","emptyDir":{{}}}}]}}"#));
        (listed("remove:", 0, count, |n| format!("- {{volumes: {{name: v{n}}}}}")), object)
    });
}
