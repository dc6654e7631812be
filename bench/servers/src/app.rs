//! The webhook of an author: the change of the bench by each kind of handler.

mod by_hand;

use std::hint::spin_loop;
use std::time::{Duration, Instant};

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use vestibule::Operation::{Create, Update};
use vestibule::{
    App, Change, Context, FailurePolicy, Mutation, On, RawObject, Reject, Rule, deny, on, on_raw, on_rules,
};

pub(crate) use self::by_hand::operations;
use crate::sidecar;

/// How long `work` computes.
const WORK: Duration = Duration::from_millis(1);

/// The app with all hooks.
pub fn app() -> App {
    let rules = || [Rule::new("v1", "pods", [Create, Update])];
    let deployments = on::<Deployment>([Create, Update]).failure_policy(FailurePolicy::Fail);
    App::new("bench")
        .mutate("typed", pods(), typed)
        .mutate("deployment", deployments, deployment)
        .mutate("raw", on_rules(rules()).failure_policy(FailurePolicy::Fail), raw)
        .mutate_raw("handler", on_raw(rules()).failure_policy(FailurePolicy::Fail), by_hand::ByHand)
        .mutate("allow", pods(), allow)
        .validate("validate", pods(), validate)
        .validate("deny", pods(), refuse)
        .mutate("work", pods(), work)
}

fn pods() -> On<Pod> {
    on::<Pod>([Create, Update]).failure_policy(FailurePolicy::Fail)
}

async fn typed(mut pod: Pod, _: Context) -> Result<Pod, Reject> {
    if let Some(spec) = &mut pod.spec {
        sidecar::add(&mut pod.metadata, spec);
    }
    Ok(pod)
}

async fn deployment(mut deployment: Deployment, _: Context) -> Result<Deployment, Reject> {
    let template = deployment.spec.as_mut().map(|spec| &mut spec.template);
    if let Some(template) = template
        && let Some(spec) = &mut template.spec
    {
        sidecar::add(template.metadata.get_or_insert_with(ObjectMeta::default), spec);
    }
    Ok(deployment)
}

/// Reads two members of the object and answers with operations.
async fn raw(object: RawObject, _: Context) -> Result<Mutation<RawObject>, Reject> {
    Ok(Mutation::Patch(operations(object.view())?))
}

async fn allow(_: Pod, _: Context) -> Result<Option<Pod>, Reject> {
    Ok(None)
}

async fn validate(change: Change<Pod>, _: Context) -> Result<(), Reject> {
    let containers = change.object().and_then(|pod| pod.spec.as_ref()).map(|spec| spec.containers.len());
    if containers == Some(0) { Err(deny("a pod needs a container")) } else { Ok(()) }
}

async fn refuse(_: Change<Pod>, _: Context) -> Result<(), Reject> {
    Err(deny("no pod today").field("spec.containers", "there are containers"))
}

/// Computes for a while and changes nothing.
async fn work(_: Pod, _: Context) -> Result<Option<Pod>, Reject> {
    let began = Instant::now();
    while began.elapsed() < WORK {
        spin_loop();
    }
    Ok(None)
}
