//! Requests about objects of the kinds that manifests have.

use k8s_openapi::api::admissionregistration::v1::ValidatingWebhookConfiguration;
use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use kube::api::{ApiResource, DynamicObject, Patch, PatchParams};
use kube::core::{GroupVersionKind, Status};
use kube::{Api, Client, Error};
use serde_json::Value;
use vestibule::tooling::RequestError;

use crate::CommandError;

/// The name under which the API server keeps the fields of these objects.
const MANAGER: &str = "vestibule-install";
/// The label of every manifest, with the name of its installation.
const LABEL: &str = "app.kubernetes.io/name";

/// An answer of the API server; the error is its refusal.
pub(super) type Answer<T> = Result<T, Box<Status>>;

/// Waits for the answer to `request`. A refusal by the API server is in the [`Answer`]; every other failure is an error of the command.
pub(super) async fn answered<T>(
    request: impl Future<Output = Result<T, Error>>,
) -> Result<Answer<T>, CommandError> {
    match request.await.map_err(RequestError::from) {
        Ok(answer) => Ok(Ok(answer)),
        Err(RequestError::Refused(status)) => Ok(Err(status)),
        Err(error) => Err(error.into()),
    }
}

pub(super) async fn get(client: &Client, object: &Value) -> Result<Answer<DynamicObject>, CommandError> {
    answered(api(client, object).get(name(object))).await
}

/// Server-side apply. The fields of the manifests are taken over from other managers.
pub(super) async fn apply(
    client: &Client,
    object: &Value,
    dry_run: bool,
) -> Result<Answer<DynamicObject>, CommandError> {
    let parameters = PatchParams { dry_run, ..PatchParams::apply(MANAGER).force() };
    answered(api(client, object).patch(name(object), &parameters, &Patch::Apply(object))).await
}

/// The objects of the same kind, in the same namespace if there is one.
pub(super) fn api(client: &Client, object: &Value) -> Api<DynamicObject> {
    let resource = resource(object);
    match object["metadata"]["namespace"].as_str() {
        Some(namespace) => Api::namespaced_with(client.clone(), namespace, &resource),
        None => Api::all_with(client.clone(), &resource),
    }
}

/// The resource of an object's kind.
pub(super) fn resource(object: &Value) -> ApiResource {
    let text = |field: &str| object[field].as_str().unwrap_or_default();
    let (group, version) = text("apiVersion").split_once('/').unwrap_or(("", text("apiVersion")));
    ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, text("kind")))
}

/// The other namespace than `own` with an installation, by the ClusterRoleBinding of `app` or by its ValidatingWebhookConfiguration, which
/// every installation has. [`None`] if they are of another program, or may not be read.
pub(super) async fn installed_elsewhere(
    client: &Client,
    app: &str,
    own: &str,
) -> Result<Option<String>, CommandError> {
    let binding = answered(Api::<ClusterRoleBinding>::all(client.clone()).get(app)).await?.ok();
    let binding = binding.filter(|binding| label(&binding.metadata) == Some(app));
    let mut subjects = binding.and_then(|binding| binding.subjects).into_iter().flatten();
    let bound = subjects.find_map(|subject| subject.namespace);
    let called = namespace_of_entries(client, app).await?;
    Ok(bound.into_iter().chain(called).find(|namespace| namespace != own))
}

/// The namespace of the Service that the entries of `app` name.
async fn namespace_of_entries(client: &Client, app: &str) -> Result<Option<String>, CommandError> {
    let configurations = Api::<ValidatingWebhookConfiguration>::all(client.clone());
    let configuration = answered(configurations.get(app)).await?.ok();
    let configuration = configuration.filter(|found| label(&found.metadata) == Some(app));
    let mut entries = configuration.and_then(|found| found.webhooks).into_iter().flatten();
    Ok(entries.find_map(|entry| entry.client_config.service).map(|service| service.namespace))
}

/// Whether the cluster has an object of another program under the name of the manifest `object`. An object without the label may have
/// been made for the installation.
pub(super) async fn is_taken(client: &Client, object: &Value) -> Result<bool, CommandError> {
    let is_taken = |found: DynamicObject| {
        is_foreign(&found, object) && (label(&found.metadata).is_some() || !may_be_prepared(object))
    };
    Ok(get(client, object).await?.is_ok_and(is_taken))
}

/// Whether an administrator may have made the object for the installation: such an object needs no label, and is taken over. The
/// manifest of any other kind would overwrite the object of another program: a Role would lose its rules, a Service its selector.
fn may_be_prepared(object: &Value) -> bool {
    ["ServiceAccount", "ConfigMap", "Secret", "CustomResourceDefinition"]
        .iter()
        .any(|kind| object["kind"] == *kind)
}

/// Whether `found` is of another program than the manifest `object` of the same name: it lacks the label of the manifest. Objects
/// that replicas write have other labels.
pub(super) fn is_foreign(found: &DynamicObject, object: &Value) -> bool {
    let app = object["metadata"]["labels"][LABEL].as_str();
    app.is_some() && label(&found.metadata) != app
}

/// The reason of [`is_foreign`], for people.
pub(super) fn missing_label(object: &Value) -> String {
    format!("it has no label {LABEL}={}", object["metadata"]["labels"][LABEL].as_str().unwrap_or_default())
}

fn label(metadata: &ObjectMeta) -> Option<&str> {
    metadata.labels.as_ref()?.get(LABEL).map(String::as_str)
}

fn name(object: &Value) -> &str {
    object["metadata"]["name"].as_str().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use kube::Resource;
    use serde_json::json;

    use super::*;

    #[test]
    fn paths_are_those_of_the_api_server() {
        for (api_version, kind, namespace, path) in [
            ("v1", "Namespace", None, "/api/v1/namespaces"),
            (
                "networking.k8s.io/v1",
                "NetworkPolicy",
                Some("b"),
                "/apis/networking.k8s.io/v1/namespaces/b/networkpolicies",
            ),
            (
                "apiextensions.k8s.io/v1",
                "CustomResourceDefinition",
                None,
                "/apis/apiextensions.k8s.io/v1/customresourcedefinitions",
            ),
        ] {
            let resource = resource(&json!({"apiVersion": api_version, "kind": kind}));
            assert_eq!(DynamicObject::url_path(&resource, namespace), path);
        }
    }

    #[test]
    fn an_object_with_another_value_of_the_label_is_foreign() {
        let is_foreign = |kind: &str, found: Value, labels: Value| {
            let found = json!({"metadata": {"name": "demo", "labels": found}});
            let object = json!({"kind": kind, "metadata": {"name": "demo", "labels": labels}});
            is_foreign(&serde_json::from_value(found).unwrap(), &object)
        };
        let ours = json!({LABEL: "demo"});
        assert!(!is_foreign("Role", ours.clone(), ours.clone()));
        assert!(is_foreign("Role", json!({LABEL: "other"}), ours.clone()));
        assert!(is_foreign("Role", json!({}), ours.clone()));
        assert!(is_foreign("CustomResourceDefinition", json!({}), ours));
        assert!(!is_foreign("Secret", json!({}), json!({})), "a replica writes it");
    }
}
