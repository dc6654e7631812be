use k8s_openapi::api::core::v1::Pod;
use serde_json::{Value, json};
use vestibule_admission::Operation::{Create, Update};
use vestibule_admission::{Decision, FaultKind, Hook};

use super::*;
use crate::handler::reject::deny;
use crate::pipeline::typed::{Mutating, Validating};
use crate::registration::on::on;
use crate::tests::{call, patch_of, pod, response, review, typed};

async fn label(mut pod: Pod, context: Context) -> Result<Pod, Reject> {
    context.warn("labelled");
    pod.metadata.labels.get_or_insert_default().insert("one".to_owned(), "1".to_owned());
    Ok(pod)
}

/// Must see what `label` did.
async fn copy(mut pod: Pod, context: Context) -> Result<Option<Pod>, Reject> {
    context.warn("copied");
    let Some(one) = pod.metadata.labels.as_ref().and_then(|labels| labels.get("one").cloned()) else {
        return Ok(None);
    };
    pod.metadata.annotations.get_or_insert_default().insert("one".to_owned(), one);
    Ok(Some(pod))
}

async fn nothing(_: Pod, _: Context) -> Result<Option<Pod>, Reject> {
    Ok(None)
}

/// Sets a field that `Pod` does not know, beside the labels.
async fn patch(_: Pod, _: Context) -> Result<Mutation<Pod>, Reject> {
    let operations = json!([
        {"op": "add", "path": "/spec/x-new", "value": true},
        {"op": "add", "path": "/metadata/labels", "value": {"one": "p"}},
    ]);
    Ok(Mutation::Patch(serde_json::from_value(operations)?))
}

async fn refuse(_: Pod, _: Context) -> Result<Pod, Reject> {
    Err(deny("no"))
}

async fn never(_: Pod, _: Context) -> Result<Pod, Reject> {
    panic!("called")
}

fn mutating(handler: impl Mutate<Pod>) -> Hook {
    Hook::mutating("m", Mutating(typed(&on::<Pod>([Create]), handler)))
}

async fn patched(handler: impl Mutate<Pod>) -> Value {
    patch_of(&call(mutating(handler), &review("CREATE", |_| {})).await)
}

#[tokio::test]
async fn each_handler_sees_the_changes_before_it_and_one_patch_is_sent() {
    let answer = call(mutating(label.then(nothing).then(copy)), &review("CREATE", |_| {})).await;
    assert_eq!(
        patch_of(&answer),
        json!([
            {"op": "add", "path": "/metadata/annotations", "value": {"one": "1"}},
            {"op": "add", "path": "/metadata/labels", "value": {"one": "1"}},
        ])
    );
    assert_eq!(response(&answer)["warnings"], json!(["labelled", "copied"]));
    assert_eq!(patched(label.then(nothing)).await, patched(nothing.then(label)).await);
    assert_eq!(patched(label.then(nothing.then(copy))).await, patch_of(&answer));
    let answer = call(mutating(nothing.then(nothing)), &review("CREATE", |_| {})).await;
    assert_eq!(answer.decision, Decision::Allowed);
}

#[tokio::test]
async fn a_denial_ends_the_chain() {
    let answer = call(mutating(label.then(refuse).then(never)), &review("CREATE", |_| {})).await;
    assert_eq!(answer.decision, Decision::Denied(403));
    assert_eq!(response(&answer)["warnings"], json!(["labelled"]));
}

#[tokio::test]
async fn patches_and_objects_may_follow_each_other() {
    let field = json!({"op": "add", "path": "/spec/x-new", "value": true});
    let labels = json!({"op": "add", "path": "/metadata/labels", "value": {"one": "p"}});
    let copied = json!({"op": "add", "path": "/metadata/annotations", "value": {"one": "p"}});
    assert_eq!(patched(patch.then(copy)).await, json!([field, labels, copied]));
    assert_eq!(patched(patch.then(nothing)).await, json!([field, labels]));
    let labelled = json!({"op": "add", "path": "/metadata/labels", "value": {"one": "1"}});
    assert_eq!(patched(label.then(patch)).await, json!([labelled, field, labels]));
    assert_eq!(
        patched(label.then(patch).then(nothing).then(copy)).await,
        json!([labelled, field, labels, copied])
    );
    assert_eq!(patched(nothing.then(patch)).await, json!([field, labels]));
}

#[tokio::test]
async fn a_patch_whose_object_is_not_known_is_a_fault_and_no_wrong_patch() {
    let answer = call(mutating(label.then(patch.then(copy))), &review("CREATE", |_| {})).await;
    assert_eq!(answer.decision, Decision::Fault(FaultKind::Error));
    assert!(String::from_utf8(answer.body).unwrap().contains("a.then(b).then(c)"));
}

#[tokio::test]
async fn validators_judge_until_one_refuses() {
    let pass = async |_: Change<Pod>, context: Context| {
        context.warn("seen");
        Ok(())
    };
    let refuse = async |_: Change<Pod>, _: Context| Err(deny("no"));
    let chain = pass.then(pass).then(refuse);
    let hook = Hook::validating("v", Validating(typed(&on::<Pod>([Update]), chain)));
    let body = review("UPDATE", |request| request["oldObject"] = pod());
    let answer = call(hook, &body).await;
    assert_eq!((answer.decision, &response(&answer)["warnings"]), (Decision::Denied(403), &json!(["seen"])));
}
