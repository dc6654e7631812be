//! Adds the environment variable TARGET to deployments of helloworld-go; start at [`app`].

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::EnvVar;
use vestibule::Operation::{Create, Update};
use vestibule::{App, Context, FailurePolicy, Reject, on};

/// The webhook: one hook, called for deployments labelled `app: helloworld-go`.
pub fn app() -> App {
    let deployments =
        on::<Deployment>([Create, Update]).objects("app=helloworld-go").failure_policy(FailurePolicy::Ignore);
    App::new("env-injector").mutate("target", deployments, add_target)
}

async fn add_target(mut deployment: Deployment, _: Context) -> Result<Deployment, Reject> {
    let pod = deployment.spec.as_mut().and_then(|spec| spec.template.spec.as_mut());
    for container in pod.into_iter().flat_map(|pod| &mut pod.containers) {
        let env = container.env.get_or_insert_default();
        env.retain(|variable| variable.name != "TARGET");
        let value = Some("Sample Injector v1".to_owned());
        env.insert(0, EnvVar { name: "TARGET".to_owned(), value, ..EnvVar::default() });
    }
    Ok(deployment)
}
