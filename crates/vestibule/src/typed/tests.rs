use std::collections::HashMap;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Container, EnvVar, Pod};
use serde_json::{Value, json};
use vestibule_admission::{Answer, Decision, Hook, Review};

use super::*;
use crate::{Reject, deny, on};

/// A pod with fields that no type knows, and a number that no `f64` holds.
fn pod() -> Value {
    serde_json::from_str(
        r#"{"apiVersion":"v1","kind":"Pod","metadata":{"generateName":"web-","creationTimestamp":null,"x-meta":[1.0]},
        "spec":{"containers":[{"name":"a","image":"i","x-item":18446744073709551616,"resources":{}},{"name":"b"}]}}"#,
    )
    .unwrap()
}

fn review(operation: &str, change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let mut review = json!({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": {
        "uid": "u", "kind": {"group": "", "version": "v1", "kind": "Pod"},
        "resource": {"group": "", "version": "v1", "resource": "pods"}, "namespace": "shop",
        "operation": operation, "userInfo": {"username": "alice", "groups": ["staff"]}, "object": pod()}});
    change(&mut review["request"]);
    serde_json::to_vec(&review).unwrap()
}

async fn call(hook: Hook, body: &[u8]) -> Answer {
    let review = Review::parse(body).unwrap_or_else(|error| panic!("{error}"));
    let verdict = hook.decide(&review.request, Duration::from_secs(5)).await;
    hook.answer(&review, verdict)
}

fn mutating<H: Mutate<Pod>>(handler: H) -> Hook {
    Hook::mutating("m", Mutating(typed(on::<Pod>([Operation::Create, Operation::Update]).rules, handler)))
}

fn validating<H: Validate<Pod>>(handler: H) -> Hook {
    let rules = on::<Pod>([Operation::Create, Operation::Update, Operation::Delete]).rules;
    Hook::validating("v", Validating(typed(rules, handler)))
}

fn typed<T, H>(rules: Vec<Rule>, handler: H) -> Typed<T, H> {
    let (rules, handler, environment) = (rules.into(), Arc::new(handler), Environment::default());
    Typed { rules, environment, handler, of: PhantomData }
}

fn response(answer: &Answer) -> Value {
    serde_json::from_slice::<Value>(&answer.body).unwrap()["response"].take()
}

async fn add_target(mut pod: Pod, _: Context) -> Result<Pod, Reject> {
    for container in &mut pod.spec.get_or_insert_default().containers {
        let target = EnvVar { name: "TARGET".to_owned(), value: Some("x".to_owned()), ..EnvVar::default() };
        container.env.get_or_insert_default().push(target);
    }
    Ok(pod)
}

#[tokio::test]
async fn the_patch_is_what_the_handler_did_and_nothing_else() {
    let answer = call(mutating(add_target), &review("CREATE", |_| {})).await;
    assert_eq!(answer.decision, Decision::Mutated(2));
    let patch = patch_of(&answer);
    assert_eq!(
        patch,
        json!([
            {"op": "add", "path": "/spec/containers/0/env", "value": [{"name": "TARGET", "value": "x"}]},
            {"op": "add", "path": "/spec/containers/1/env", "value": [{"name": "TARGET", "value": "x"}]},
        ])
    );
}

#[tokio::test]
async fn a_prepended_container_is_one_operation_and_takes_nobodys_unknown_fields() {
    let prepend = async |mut pod: Pod, _: Context| {
        let first = Container { name: "first".to_owned(), ..Container::default() };
        pod.spec.get_or_insert_default().containers.insert(0, first);
        Ok(pod)
    };
    let handler = move |pod, context| prepend(pod, context);
    let answer = call(mutating(handler), &review("CREATE", |_| {})).await;
    assert_eq!(
        patch_of(&answer),
        json!([{"op": "add", "path": "/spec/containers/0", "value": {"name": "first"}}])
    );
}

#[tokio::test]
async fn a_handler_that_changes_nothing_sends_no_patch() {
    let answer = call(mutating(async |pod: Pod, _: Context| Ok(pod)), &review("UPDATE", |_| {})).await;
    assert_eq!(response(&answer), json!({"uid": "u", "allowed": true}));
}

#[tokio::test]
async fn a_type_that_writes_its_members_in_any_order_is_no_fault() {
    let handler = async |mut object: HashMap<String, Value>, _: Context| {
        object.extend((0..20).map(|n| (format!("x{n}"), json!(n))));
        Ok(object)
    };
    let rules = on::<Pod>([Operation::Create]).rules;
    let hook = Hook::mutating("m", Mutating(typed(rules, handler)));
    assert_eq!(call(hook, &review("CREATE", |_| {})).await.decision, Decision::Mutated(20));
}

#[tokio::test]
async fn an_undecodable_object_is_a_fault_that_repeats_no_value() {
    let body = review("CREATE", |request| request["object"]["spec"]["containers"] = json!("s3cret"));
    let answer = call(mutating(add_target), &body).await;
    assert_eq!(answer.decision, Decision::Fault(FaultKind::Undecodable));
    let text = String::from_utf8(answer.body).unwrap();
    assert!(text.starts_with("the object is no Pod: line 1 column"), "{text}");
    assert!(!text.contains("s3cret"));
}

#[tokio::test]
async fn subresources_and_operations_that_were_not_named_pass_untouched() {
    let never = async |_: Pod, _: Context| -> Result<Pod, Reject> { panic!("called") };
    for body in [
        review("UPDATE", |request| request["subResource"] = json!("status")),
        review("DELETE", |request| request["object"] = Value::Null),
    ] {
        assert_eq!(call(mutating(never), &body).await.decision, Decision::Allowed);
    }
}

#[tokio::test]
async fn another_resource_is_a_fault() {
    let body = review("CREATE", |request| request["resource"]["resource"] = json!("services"));
    let answer = call(mutating(add_target), &body).await;
    assert_eq!(answer.decision, Decision::Fault(FaultKind::Undecodable));
}

#[tokio::test]
async fn a_denial_is_no_fault_and_warnings_go_with_both() {
    let refuse = async |_: Pod, context: Context| -> Result<Pod, Reject> {
        context.warn("look");
        context.audit("rule", "one");
        Err(deny("no such class").field("spec.volumes[0]", "unknown class"))
    };
    let answer = call(mutating(refuse), &review("CREATE", |_| {})).await;
    assert_eq!(answer.decision, Decision::Denied(403));
    let response = response(&answer);
    assert_eq!(response["status"]["details"]["causes"][0]["field"], "spec.volumes[0]");
    assert_eq!(
        (&response["warnings"], &response["auditAnnotations"]),
        (&json!(["look"]), &json!({"rule": "one"}))
    );

    let fail = async |_: Pod, _: Context| -> Result<Pod, Reject> { Err("x".parse::<u8>().unwrap_err())? };
    let answer = call(mutating(fail), &review("CREATE", |_| {})).await;
    assert_eq!(answer.decision, Decision::Fault(FaultKind::Error));
    assert_eq!(answer.body, b"invalid digit found in string");
}

#[tokio::test]
async fn the_context_is_the_request() {
    let check = async |pod: Pod, context: Context| -> Result<Pod, Reject> {
        assert_eq!((context.uid(), context.operation()), ("u", Operation::Create));
        assert_eq!((context.name(), context.generate_name()), (None, Some("web-")));
        assert_eq!(context.namespace(), Some("shop"));
        assert_eq!(context.user().groups, ["staff"]);
        assert_eq!(context.kind(), ("", "v1", "Pod"));
        assert!(context.remaining() <= Duration::from_secs(5));
        assert!(!context.dry_run());
        Ok(pod)
    };
    assert_eq!(call(mutating(check), &review("CREATE", |_| {})).await.decision, Decision::Allowed);
}

#[tokio::test]
async fn a_validator_sees_the_change() {
    let guard = async |change: Change<Pod>, _: Context| match change {
        Change::Create { .. } => Ok(()),
        Change::Update { old, new } if old == new => Ok(()),
        Change::Delete { old } if old.metadata.generate_name.is_some() => Err(deny("kept")),
        _ => Err(deny("other")),
    };
    let with_old = |request: &mut Value| request["oldObject"] = pod();
    assert_eq!(call(validating(guard), &review("CREATE", |_| {})).await.decision, Decision::Allowed);
    assert_eq!(call(validating(guard), &review("UPDATE", with_old)).await.decision, Decision::Allowed);
    let deleted = review("DELETE", |request| {
        with_old(request);
        request["object"] = Value::Null;
    });
    assert_eq!(response(&call(validating(guard), &deleted).await)["status"]["message"], "kept");
    let answer = call(validating(guard), &review("UPDATE", |_| {})).await;
    assert_eq!(answer.decision, Decision::Fault(FaultKind::Undecodable));
}

fn patch_of(answer: &Answer) -> Value {
    use base64::Engine;
    let encoded = response(answer)["patch"].as_str().unwrap().to_owned();
    serde_json::from_slice(&base64::engine::general_purpose::STANDARD.decode(encoded).unwrap()).unwrap()
}
