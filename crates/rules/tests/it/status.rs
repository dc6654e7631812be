//! The status annotation.

use serde_json::{Value, json};
use vestibule_rules::{Resource, STATUS_ANNOTATION};

use crate::kit::{applied, codes, creation, decide, evaluate, pod, result, rule, rules, steps};

const RULE: &str = "imagePullSecrets: [{name: pull}]\npod: {labels: {l: v}, annotations: {a: hunter2}, spec: {nodeSelector: {disk: ssd}, tolerations: [{key: t, operator: Exists}], priorityClassName: p}}\nvolumes: [{name: cfg, emptyDir: {}}]\nsidecars: [{name: s, image: i}, {name: r, image: i, mode: regular, position: {containers: first}}]\ncontainerPatches:\n- select: {all: true}\n  env: [{name: A, value: hunter2}]\n  envFrom: [{secretRef: {name: keys}}]\n  volumeMounts: [{name: cfg, mountPath: /cfg/}]\n  ports: [{containerPort: 80}]\n  resources: {requests: {cpu: 1}}\n  securityContext: {capabilities: {drop: [ALL]}}\n  imagePullPolicy: Always";

fn status(object: &Value) -> Value {
    let text = object["metadata"]["annotations"][STATUS_ANNOTATION].as_str().unwrap();
    serde_json::from_str(text).unwrap()
}

#[test]
fn the_status_has_names_and_no_values() {
    let rules = rules(&rule("r", RULE));
    let result = result(&rules, &pod(r#"{"containers":[{"name":"app"}]}"#));
    let status = status(&result);
    assert_eq!(status["v"], 1);
    assert_eq!(status["cfg"], rules.hash());
    assert_eq!(status["rules"], json!([format!("r@{}", &rules.rules()[0].hash()[..4])]));
    let wanted = json!([
        "label:l",
        "annotation:a",
        "spec:nodeSelector/disk",
        "spec:tolerations/t",
        "spec:priorityClassName",
        "pullSecret:pull",
        "vol:cfg",
        "init:s",
        "container:r",
        "annotation:kubectl.kubernetes.io/default-container",
        "env:app/A",
        "envFrom:app/keys",
        "port:app/80/TCP",
        "mount:app//cfg",
        "set:app/imagePullPolicy",
        "set:app/resources/requests/cpu",
        "set:app/securityContext/capabilities/drop/ALL",
    ]);
    let mut found: Vec<_> = status["add"].as_array().unwrap().clone();
    found.sort_by_key(|one| wanted.as_array().unwrap().iter().position(|other| other == one));
    assert_eq!(json!(found), wanted);
    assert!(status.get("more").is_none());
    assert!(!status.to_string().contains("hunter2"));
}

#[test]
fn the_status_is_the_last_operation_and_never_the_only_one() {
    let rules = rules(&rule("r", "pod: {labels: {l: v}}"));
    let decision = decide(&rules, &pod("{}"));
    let last = decision.changes().last().unwrap();
    assert_eq!((decision.changes().len(), steps(&decision).len()), (2, 1));
    assert_eq!((&*last.origin.rule, &*last.origin.clause), ("injector", "status"));
    // Parts that the pod has already, or that others have written, cause no status.
    let labelled = r#"{"metadata":{"labels":{"app":"web","l":"v"}},"spec":{}}"#;
    assert!(decide(&rules, labelled).changes().is_empty());
    let forged = pod("{}").replace(
        "\"labels\"",
        r#""annotations":{"vestibule.dev/injected":"{\"add\":[\"label:l\"]}"},"labels""#,
    );
    assert_eq!(status(&result(&rules, &forged))["add"], json!(["label:l"]));
    assert_eq!(steps(&decide(&rules, &forged)).len(), 1);
}

#[test]
fn the_status_lists_what_the_pod_has_already() {
    let both =
        rules(&(rule("a", "pod: {labels: {l: v}}") + &rule("b", "initContainers: [{name: i, image: i}]")));
    let first = result(&both, &pod("{}"));
    let again = r#"{"metadata":{"labels":{"app":"web","l":"v"}},"spec":{}}"#;
    assert_eq!(status(&result(&both, again))["add"], status(&first)["add"]);
    // A value that the rule kept belongs to the user and is not listed.
    let theirs = r#"{"metadata":{"labels":{"app":"web","l":"theirs"}},"spec":{}}"#;
    let status = status(&result(&both, theirs));
    assert_eq!(status["add"], json!(["init:i"]));
    assert_eq!(status["rules"].as_array().unwrap().len(), 1);
}

#[test]
fn the_status_has_a_maximal_length() {
    let labels: String = (0..500).map(|number| format!("label-number-{number}: x, ")).collect();
    let result = result(&rules(&rule("r", &format!("pod: {{labels: {{{labels}}}}}"))), &pod("{}"));
    let text = result["metadata"]["annotations"][STATUS_ANNOTATION].as_str().unwrap();
    assert!(text.len() <= 2048 && text.len() > 1900, "{}", text.len());
    let status = status(&result);
    let listed = status["add"].as_array().unwrap().len();
    assert_eq!(status["more"], json!(500 - listed));
}

#[test]
fn templates_get_no_status() {
    let rules = rules(&rule("r", "targets: [deployments]\npod: {labels: {l: v}}"));
    let object = r#"{"metadata":{"labels":{"app":"web"}},"spec":{"template":{"metadata":{"labels":{"app":"web"}},"spec":{}}}}"#;
    let subject = creation(object).resource(Resource::Deployments);
    assert_eq!(evaluate(&rules, &subject).changes().len(), 1);
    assert!(!applied(&rules, &subject).contains(STATUS_ANNOTATION));
}

#[test]
fn rules_cannot_write_the_status() {
    assert_eq!(codes(&rule("r", "pod: {annotations: {vestibule.dev/injected: x}}"))[0], "VST0153");
}

#[test]
fn the_status_lists_computed_values() {
    let text = "matchConditions: [{name: c0, expression: \"!has(object.metadata.annotations) || !('a' in object.metadata.annotations)\"}]\npod: {annotations: {a: x}, labels: {l: {$cel: \"object.metadata.name\"}}}";
    let made = result(&rules(&rule("r", text)), &pod("{}"));
    // The rule makes its own condition false; its changes are listed.
    assert!(status(&made)["add"].as_array().unwrap().contains(&json!("annotation:a")));
    let text = "pod: {labels: {l: {$cel: \"object.metadata.name\"}}}";
    let made = result(&rules(&rule("r", text)), &pod("{}"));
    assert_eq!(status(&made)["add"], json!(["label:l"]));
}

/// A user may write any status. If it is up to date, there must be no operation that changes nothing.
#[test]
fn an_up_to_date_status_is_not_written_again() {
    let rules = rules(&rule("r", "pod: {labels: {l: v}}"));
    let right = result(&rules, &pod("{}"))["metadata"]["annotations"].clone();
    let forged = |annotations: Value| {
        pod("{}").replace("\"labels\"", &format!("\"annotations\":{annotations},\"labels\""))
    };
    let decision = decide(&rules, &forged(right.clone()));
    assert_eq!(decision.patch().len(), 1);
    assert_eq!(steps(&decision), [r#"add /metadata/labels/l "v""#]);
    result(&rules, &forged(right));
}

/// A ReplicaSet created pods without end, since it did not find those whose label a rule had overridden or removed.
#[test]
fn rules_cannot_write_the_labels_by_which_controllers_find_pods() {
    for key in
        ["pod-template-hash", "controller-revision-hash", "batch.kubernetes.io/controller-uid", "job-name"]
    {
        for spec in [
            format!("onConflict: override\npod: {{labels: {{{key}: x}}}}"),
            format!("remove: [{{labels: {{key: {key}}}}}]"),
        ] {
            assert_eq!(codes(&rule("r", &spec)), ["VST0158"], "{spec}");
        }
    }
    let spec = |map: &str| format!("pod: {{{map}: {{batch.kubernetes.io/job-completion-index: '1'}}}}");
    assert_eq!(codes(&rule("r", &spec("annotations"))), ["VST0158"]);
    assert_eq!(codes(&rule("r", "pod: {annotations: {job-name: x}}")), [""; 0]);
}

/// The keys of a computed map are not known before.
#[test]
fn a_computed_label_by_which_controllers_find_pods_is_refused() {
    let spec = "parameters: [{name: all, type: string, annotationPrefix: example.com/}]\nonConflict: override\npod: {labels: {$cel: params.all}}";
    let object = pod("{}")
        .replace("\"labels\"", "\"annotations\":{\"example.com/pod-template-hash\":\"x\"},\"labels\"");
    let decision = decide(&rules(&rule("r", spec)), &object);
    assert!(decision.warnings[0].contains("may find their pods by it"), "{:?}", decision.warnings);
    assert!(decision.changes().is_empty());
}

/// Another webhook adds a container between two calls. The rule that has removed something in the first call has nothing to do
/// in the second one.
#[test]
fn a_rule_that_removed_in_an_earlier_call_stays_in_the_status() {
    let text = rule("removes", "remove: [{env: {containers: all, name: X}}]")
        + &rule("adds", "containerPatches: [{select: {all: true}, env: [{name: A, value: a}]}]");
    let rules = rules(&text);
    let object = pod(r#"{"containers":[{"name":"app","env":[{"name":"X","value":"x"}]}]}"#);
    let mut made = result(&rules, &object);
    let before = status(&made)["rules"].clone();
    made["spec"]["containers"].as_array_mut().unwrap().push(json!({"name": "late"}));
    let made = result(&rules, &made.to_string());
    assert_eq!(made["spec"]["containers"][1]["env"][0]["name"], "A");
    assert_eq!(status(&made)["rules"], before);
}
