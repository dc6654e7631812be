//! Gives a memory limit to containers that have none; start at [`app`].

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use vestibule::Operation::Create;
use vestibule::{App, Context, FailurePolicy, Reject, on};

/// The webhook: one hook, called for new pods of namespaces labelled `my-mutator=enabled`.
pub fn app() -> App {
    // While the webhook is down, pods are created without a limit.
    let pods = on::<Pod>([Create]).namespaces("my-mutator=enabled").failure_policy(FailurePolicy::Ignore);
    App::new("my-mutator").mutate("memory", pods, memory)
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
