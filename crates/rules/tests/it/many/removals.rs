//! Many rules with removals.

use super::{apply, behind_fillers, written};
use crate::growth::takes_less_than;
use crate::kit::{names, pod, result};

/// Every second item is absent, and each rule adds one.
#[test]
fn removals() {
    let spec = |n| {
        let block = format!("{{select: {{all: true}}, env: [{{name: E{n}, value: x}}]}}");
        format!("remove: [{{env: {{containers: all, name: R{n}}}}}]\ncontainerPatches: [{block}]")
    };
    takes_less_than(9, apply(250, variables(250), spec), apply(1_000, variables(1_000), spec));
}

#[test]
fn removals_of_items_without_keys() {
    let evaluate = |count: usize| {
        let all = (0..count).map(|n| format!(r#"{{"key":"k{n}","operator":"Exists"}},"#)).collect::<String>();
        let spec =
            format!(r#"{{"containers":[{{"name":"app","image":"i"}}],"tolerations":[{all}{{"key":"z"}}]}}"#);
        apply(count, pod(&spec), |n| format!("remove: [{{tolerations: {{key: k{n}}}}}]"))
    };
    takes_less_than(9, evaluate(250), evaluate(1_000));
}

/// Mounts of other volumes are searched as text only. A thousand of them cost about twelve times as much as one where this crate is
/// optimized, because the rest of the work is cheaper there.
#[test]
fn removals_of_volumes() {
    let volumes = (0..1_000).map(|n| format!(r#"{{"name":"v{n}","emptyDir":{{}}}},"#)).collect::<String>();
    let evaluate = |mounts: usize| {
        let mounts: Vec<_> = (0..mounts).map(|n| format!(r#"{{"name":"z","mountPath":"/m{n}"}}"#)).collect();
        let app = format!(r#"{{"name":"app","image":"i","volumeMounts":[{}]}}"#, mounts.join(","));
        let spec = format!(r#"{{"containers":[{app}],"volumes":[{volumes}{{"name":"z","emptyDir":{{}}}}]}}"#);
        apply(1_000, pod(&spec), |n| format!("remove: [{{volumes: {{name: v{n}}}}}]"))
    };
    takes_less_than(20, evaluate(1), evaluate(1_000));
}

/// A pod with every second of `count` variables.
fn variables(count: usize) -> String {
    let all: Vec<_> = (0..count).step_by(2).map(|n| format!(r#"{{"name":"R{n}","value":"x"}}"#)).collect();
    pod(&format!(r#"{{"containers":[{{"name":"app","image":"i","env":[{}]}}]}}"#, all.join(",")))
}

#[test]
fn removals_with_many_rules() {
    let remove = |name: &str| format!("remove: [{{env: {{containers: all, name: {name}}}}}]");
    let adds = "containerPatches: [{select: {all: true}, env: [{name: Z, value: x}]}]".to_owned();
    let specs = [remove("B"), adds, remove("D"), remove("none"), remove("A")];
    for (before, left) in [
        ("ABCDE", vec!["Z", "C", "E"]),
        ("DABCDEA", vec!["Z", "C", "E"]),
        ("AACD", vec!["Z", "C"]),
        ("BD", vec!["Z"]),
        ("D", vec!["Z"]),
    ] {
        let all: Vec<_> = before.chars().map(|name| format!(r#"{{"name":"{name}","value":"x"}}"#)).collect();
        let object =
            pod(&format!(r#"{{"containers":[{{"name":"app","image":"i","env":[{}]}}]}}"#, all.join(",")));
        let few = result(&written(specs.len(), |n| specs[n].clone()), &object);
        let many = result(&behind_fillers(&specs.each_ref().map(String::as_str)), &object);
        for made in [few, many] {
            assert_eq!(names(&made["spec"]["containers"][0]["env"]), left, "{before}");
        }
    }
}

#[test]
fn removals_of_items_without_keys_with_many_rules() {
    let all = r#"{"key":"a","effect":"NoSchedule"},{"operator":"Exists"},{"key":"b","effect":"NoExecute"},
        {"key":"a","effect":"NoExecute"},{"key":"c","effect":"NoSchedule"}"#;
    let object = pod(&format!(r#"{{"containers":[{{"name":"app","image":"i"}}],"tolerations":[{all}]}}"#));
    for (remove, left) in [
        (["{key: a}", "{key: b}"], vec![None, Some("c")]),
        (["{key: b}", "{key: a, effect: NoExecute}"], vec![Some("a"), None, Some("c")]),
        (
            ["{key: c, effect: NoExecute}", "{key: a, effect: NoSchedule}"],
            vec![None, Some("b"), Some("a"), Some("c")],
        ),
    ] {
        let specs = remove.map(|wanted| format!("remove: [{{tolerations: {wanted}}}]"));
        let few = result(&written(2, |n| specs[n].clone()), &object);
        let many = result(&behind_fillers(&specs.each_ref().map(String::as_str)), &object);
        for made in [few, many] {
            let all = made["spec"]["tolerations"].as_array().unwrap().iter();
            let keys: Vec<_> = all.map(|one| one.get("key").and_then(|key| key.as_str())).collect();
            assert_eq!(keys, left, "{remove:?}");
        }
    }
}
