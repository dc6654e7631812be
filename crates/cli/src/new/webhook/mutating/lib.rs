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

/// Gives 128 MiB to containers without a limit.
async fn memory(mut pod: Pod, context: Context) -> Result<Pod, Reject> {
    for container in pod.spec.iter_mut().flat_map(|spec| &mut spec.containers) {
        let limits = container.resources.get_or_insert_default().limits.get_or_insert_default();
        if !limits.contains_key("memory") {
            limits.insert("memory".to_owned(), Quantity("128Mi".to_owned()));
            context.warn(format!("container {} has no memory limit: it gets 128Mi", container.name));
        }
    }
    Ok(pod)
}
