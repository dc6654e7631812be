//! Tidy pods: every container has a memory limit, and an image with a tag or a digest.

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use vestibule::Operation::Create;
use vestibule::{App, Change, Context, FailurePolicy, Reject, deny, on};

/// The webhook: two hooks, for new pods of namespaces labelled `tidy=true`.
pub fn app() -> App {
    let pods = || on::<Pod>([Create]).namespaces("tidy=true");
    App::new("tidy-pods")
        // While the webhook is down, pods are created without a limit.
        .mutate("memory", pods().failure_policy(FailurePolicy::Ignore), memory)
        // While the webhook is down, no pod is created.
        .validate("images", pods().failure_policy(FailurePolicy::Fail), images)
}

/// Gives the memory that it requests, or 128 MiB, to a container without a limit.
async fn memory(mut pod: Pod, context: Context) -> Result<Pod, Reject> {
    for container in pod.spec.iter_mut().flat_map(|spec| &mut spec.containers) {
        let resources = container.resources.get_or_insert_default();
        // The API server refuses a limit below the request.
        let requested = resources.requests.as_ref().and_then(|requests| requests.get("memory")).cloned();
        let limits = resources.limits.get_or_insert_default();
        if !limits.contains_key("memory") {
            let limit = requested.unwrap_or(Quantity("128Mi".to_owned()));
            context.warn(format!("container {} has no memory limit: it gets {}", container.name, limit.0));
            limits.insert("memory".to_owned(), limit);
        }
    }
    Ok(pod)
}

/// Refuses images without a tag or a digest, all of them at once.
async fn images(change: Change<Pod>, _: Context) -> Result<(), Reject> {
    let containers = change.object().and_then(|pod| pod.spec.as_ref()).map(|spec| &spec.containers);
    let mut denial = None;
    for (index, container) in containers.into_iter().flatten().enumerate() {
        let image = container.image.as_deref().unwrap_or_default();
        let name = image.rsplit('/').next().unwrap_or_default();
        if !name.contains([':', '@']) {
            let field = format!("spec.containers[{index}].image");
            let denied = denial.unwrap_or_else(|| deny("images need a tag").invalid());
            denial = Some(denied.field(field, "neither tag nor digest"));
        }
    }
    denial.map_or(Ok(()), Err)
}
