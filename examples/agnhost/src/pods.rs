//! The paths for pods.

use k8s_openapi::api::core::v1::{Container, Pod};
use serde::Deserialize;
use vestibule::{Change, Context, Mutate, Mutation, Reject, deny};

/// The options of `kubectl attach`.
#[derive(Default, Deserialize)]
#[serde(default)]
pub(crate) struct AttachOptions {
    stdin: bool,
    container: String,
}

/// Adds a container with this image.
pub(crate) struct Sidecar(pub(crate) Option<String>);

pub(crate) async fn admit(change: Change<Pod>, _: Context) -> Result<(), Reject> {
    let Some(pod) = change.object() else { return Ok(()) };
    let mut unwanted = Vec::new();
    match pod.metadata.labels.as_ref().and_then(|labels| labels.get("webhook-e2e-test")).map(String::as_str) {
        Some("webhook-disallow") => unwanted.push("the pod contains unwanted label;"),
        Some("wait-forever") => std::future::pending().await,
        _ => {}
    }
    for container in pod.spec.iter().flat_map(|spec| &spec.containers) {
        if container.name.contains("webhook-disallow") {
            unwanted.push("the pod contains unwanted container name;");
        }
    }
    if unwanted.is_empty() { Ok(()) } else { Err(deny(unwanted.join(" "))) }
}

pub(crate) async fn attach(change: Change<AttachOptions>, context: Context) -> Result<(), Reject> {
    let Change::Connect { options } = change else { return Ok(()) };
    let name = context.name() == Some("to-be-attached-pod");
    if name && options.stdin && options.container == "container1" {
        return Err(deny("attaching to pod 'to-be-attached-pod' is not allowed"));
    }
    Ok(())
}

pub(crate) async fn mutate(mut pod: Pod, _: Context) -> Result<Pod, Reject> {
    if pod.metadata.name.as_deref() == Some("webhook-to-be-mutated") {
        let spec = pod.spec.get_or_insert_default();
        add(
            spec.init_containers.get_or_insert_default(),
            "webhook-added-init-container",
            "webhook-added-image",
        );
    }
    Ok(pod)
}

impl Mutate<Pod> for Sidecar {
    async fn mutate(&self, mut pod: Pod, _: Context) -> Result<Mutation<Pod>, Reject> {
        let no_image = || deny("No image specified by the sidecar-image parameter").code(500);
        let image = self.0.as_deref().ok_or_else(no_image)?;
        add(&mut pod.spec.get_or_insert_default().containers, "webhook-added-sidecar", image);
        Ok(pod.into())
    }
}

fn add(containers: &mut Vec<Container>, name: &str, image: &str) {
    if !containers.iter().any(|container| container.name == name) {
        let image = Some(image.to_owned());
        containers.push(Container { name: name.to_owned(), image, ..Container::default() });
    }
}
