//! Hooks that allow, deny or fail.

use std::sync::atomic::{AtomicUsize, Ordering};

use k8s_openapi::api::core::v1::Pod;
use vestibule::Operation::{Create, Delete, Update};
use vestibule::{App, Change, Context, FailurePolicy, OnFault, Reject, deny, on, too_many_requests};

/// The number of side effects of `effects`.
static EFFECTS: AtomicUsize = AtomicUsize::new(0);

pub(crate) fn hooks(app: App) -> App {
    // Three hundred handshakes of an unoptimized build take seconds on a busy machine.
    let pods = || on::<Pod>([Create, Update]).failure_policy(FailurePolicy::Fail).timeout_seconds(30);
    app.mutate("same", pods(), same)
        .mutate("refuse", pods(), refuse)
        .mutate("fail", pods(), fail)
        .mutate("fail-denies", pods().on_fault(OnFault::Deny), fail)
        .mutate("panic", pods(), panics)
        .mutate("effects", pods(), effects)
        .validate("guard", on::<Pod>([Create, Update, Delete]).failure_policy(FailurePolicy::Fail), guard)
        .validate("causes", pods(), causes)
        .validate("later", pods(), later)
        .validate("notes", pods(), notes)
}

/// Changes nothing; opens a span and writes a log line.
async fn same(pod: Pod, _: Context) -> Result<Pod, Reject> {
    tracing::info_span!("price").in_scope(|| tracing::info!("priced"));
    Ok(pod)
}

/// Denies after it has changed the object.
async fn refuse(mut pod: Pod, _: Context) -> Result<Pod, Reject> {
    pod.metadata.labels = None;
    Err(deny("no pods today"))
}

async fn fail(_: Pod, _: Context) -> Result<Pod, Reject> {
    let lookup = || Err(std::io::Error::other("the lookup failed"));
    lookup()?
}

/// Panics with a message that quotes the object.
async fn panics(pod: Pod, _: Context) -> Result<Pod, Reject> {
    panic!("cannot handle {}", serde_json::to_string(&pod).unwrap_or_default())
}

async fn effects(mut pod: Pod, context: Context) -> Result<Pod, Reject> {
    let so_far = match context.dry_run() {
        true => EFFECTS.load(Ordering::SeqCst),
        false => EFFECTS.fetch_add(1, Ordering::SeqCst) + 1,
    };
    pod.metadata.annotations.get_or_insert_default().insert("effects".to_owned(), so_far.to_string());
    Ok(pod)
}

async fn guard(change: Change<Pod>, _: Context) -> Result<(), Reject> {
    let pod = match &change {
        Change::Create { new } | Change::Update { new, .. } => new,
        Change::Delete { old } => old,
        _ => return Err(deny("pods are made, changed or deleted")),
    };
    let labels = pod.metadata.labels.as_ref();
    match labels.is_some_and(|labels| labels.contains_key("forbidden")) {
        true => Err(deny("a pod is not labelled `forbidden`")),
        false => Ok(()),
    }
}

async fn causes(_: Change<Pod>, context: Context) -> Result<(), Reject> {
    context.warn("look at the fields");
    Err(deny("two fields are wrong")
        .code(422)
        .reason("Invalid")
        .field("spec.containers[0].image", "name a version")
        .field("metadata.labels", "at least one"))
}

async fn later(_: Change<Pod>, _: Context) -> Result<(), Reject> {
    Err(too_many_requests(7, "too many today"))
}

async fn notes(_: Change<Pod>, context: Context) -> Result<(), Reject> {
    context.warn("two\nlines");
    context.audit("example.com/with space", "a");
    context.audit(&"x".repeat(64), "b");
    context.audit("plain", "c");
    Ok(())
}
