//! Cases about the patch of a rule.

use serde_json::json;
use vestibule_rules::STATUS_ANNOTATION;

use super::{AS_IT_IS, example, labelled};
use crate::kit::{applied, creation, decide, evaluate, names, pod, result, rule, rules, steps, word};

const ENV_TARGET: &str = include_str!("../../rules/env-target.yaml");
const NGINX: &str = include_str!("../../rules/nginx.yaml");

const HELLO: &str = r#"{"metadata":{"name":"hello","labels":{"app":"helloworld-go"}},"spec":{"containers":[{"name":"user-container","image":"helloworld-go"}]}}"#;

/// The pod with these variables.
fn hello_with(env: &str) -> String {
    HELLO.replace(r#""image":"helloworld-go""#, &format!(r#""image":"helloworld-go","env":{env}"#))
}

#[test]
fn row_01_a_variable_makes_its_list() {
    let rules = example(ENV_TARGET, AS_IT_IS);
    let decision = decide(&rules, HELLO);
    assert_eq!(
        steps(&decision)[0],
        r#"add /spec/containers/0/env [{"name":"TARGET","value":"Sample Injector v1"}]"#
    );
    assert_eq!(&*decision.changes()[0].origin.clause, "containerPatches[0].env[0]");
    // The patch has the status as well.
    let [_, status] = decision.changes() else { panic!("{:?}", steps(&decision)) };
    assert_eq!(status.operation.path().as_str(), "/metadata/annotations");
    let status = status.operation.value().unwrap().get();
    assert!(status.contains(STATUS_ANNOTATION) && status.contains("env:user-container/TARGET"), "{status}");
    applied(&rules, &creation(HELLO));
}

#[test]
fn row_02_override_replaces_in_place() {
    let env =
        r#"[{"name":"A","value":"1"},{"name":"TARGET","value":"x","later":1.0},{"name":"B","value":"2"}]"#;
    let rules = example(ENV_TARGET, AS_IT_IS);
    let hello = hello_with(env);
    assert_eq!(
        steps(&decide(&rules, &hello))[0],
        r#"replace /spec/containers/0/env/1/value "Sample Injector v1""#
    );
    let env = &result(&rules, &hello)["spec"]["containers"][0]["env"];
    assert_eq!(
        *env,
        json!([{"name": "A", "value": "1"}, {"name": "TARGET", "value": "Sample Injector v1", "later": 1.0}, {"name": "B", "value": "2"}])
    );
}

#[test]
fn row_03_keep_says_nothing_and_sends_nothing() {
    let rules = example(ENV_TARGET, ("onConflict: override", "onConflict: keep"));
    let decision = decide(&rules, &hello_with(r#"[{"name":"TARGET","value":"x"}]"#));
    assert_eq!((word(&decision), steps(&decision).len(), decision.warnings.len()), ("unchanged", 0, 0));
}

#[test]
fn row_05_parents_are_made_once() {
    let rules = example(NGINX, AS_IT_IS);
    let enabled = labelled("sidecar-injector", "enabled");
    let bare = r#"{"metadata":{"name":"sleep","labels":{"inject.vestibule.dev/nginx":"true"}},"spec":{"automountServiceAccountToken":false,"containers":[{"name":"sleep","image":"tutum/curl"}]}}"#;
    let subject = creation(bare).facts(&enabled);
    let made: Vec<String> = steps(&evaluate(&rules, &subject));
    let count = |path: &str| made.iter().filter(|step| step.starts_with(&format!("add {path}"))).count();
    assert_eq!((count("/spec/volumes "), count("/spec/volumes/"), count("/spec/containers/")), (1, 0, 1));
    let pod: serde_json::Value = serde_json::from_str(&applied(&rules, &subject)).unwrap();
    assert_eq!(names(&pod["spec"]["volumes"]), ["nginx-conf"]);
    assert_eq!(names(&pod["spec"]["containers"]), ["sleep", "sidecar-nginx"]);
}

#[test]
fn row_06_annotations_stay_and_pointers_are_escaped() {
    let rules = rules(&rule("r", "pod: {annotations: {example.com/ours: \"1\"}}"));
    let pod =
        r#"{"metadata":{"labels":{"app":"web"},"annotations":{"a/b":"x~1/y","c~d":"2","e":"3"}},"spec":{}}"#;
    assert_eq!(steps(&decide(&rules, pod))[0], r#"add /metadata/annotations/example.com~1ours "1""#);
    let result = result(&rules, pod);
    for (key, value) in [("a/b", "x~1/y"), ("c~d", "2"), ("e", "3"), ("example.com/ours", "1")] {
        assert_eq!(result["metadata"]["annotations"][key], value, "{key}");
    }
}

#[test]
fn row_09_a_port_of_the_other_protocol_is_another_port() {
    let spec =
        "containerPatches:\n- select: {all: true}\n  ports: [{name: g, containerPort: 8301, protocol: UDP}]";
    let rules = rules(&rule("ports", spec));
    let both = pod(
        r#"{"containers":[{"name":"app","ports":[{"containerPort":8301},{"containerPort":8301,"protocol":"UDP"}]}]}"#,
    );
    let decision = decide(&rules, &both);
    assert_eq!((word(&decision), steps(&decision).len()), ("unchanged", 0));
    let tcp = pod(r#"{"containers":[{"name":"app","ports":[{"containerPort":8301,"name":"tcp"}]}]}"#);
    let ports = &result(&rules, &tcp)["spec"]["containers"][0]["ports"];
    assert_eq!(ports[0], json!({"containerPort": 8301, "name": "tcp"}));
    assert_eq!(ports[1], json!({"containerPort": 8301, "name": "g", "protocol": "UDP"}));
}
