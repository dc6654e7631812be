//! Objects and clients for several tests.

use std::path::Path;

use k8s_openapi::api::authentication::v1::SelfSubjectReview;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::api::{ObjectMeta, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client, Config};
use serde_json::{Value, json};

/// A configuration with one hook for the ConfigMaps of `namespace`, at `client_config`.
pub(crate) fn configuration(kind: &str, name: &str, namespace: &str, client_config: &Value) -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": kind,
        "metadata": { "name": name },
        "webhooks": [{
            "name": format!("{name}.testenv.example.dev"),
            "clientConfig": client_config,
            "rules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"],
            }],
            "namespaceSelector": { "matchLabels": { "kubernetes.io/metadata.name": namespace } },
            "failurePolicy": "Fail",
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }],
    })
}

/// A CustomResourceDefinition of `Door` in `group`, of one version, without a schema.
pub(crate) fn doors(group: &str) -> Value {
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("doors.{group}") },
        "spec": {
            "group": group,
            "scope": "Cluster",
            "names": { "plural": "doors", "kind": "Door" },
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "schema": { "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } },
            }],
        },
    })
}

/// The URL in a kubeconfig, and a client for it.
pub(crate) async fn client_of(kubeconfig: &Path) -> (String, Client) {
    let kubeconfig = Kubeconfig::read_from(kubeconfig).unwrap();
    let mut config = Config::from_custom_kubeconfig(kubeconfig, &KubeConfigOptions::default()).await.unwrap();
    config.default_retry = false;
    (config.cluster_url.to_string(), Client::try_from(config).unwrap())
}

/// The URL in a kubeconfig, and the name of its user.
pub(crate) async fn url_and_user_of(kubeconfig: &Path) -> (String, String) {
    let (url, client) = client_of(kubeconfig).await;
    let review: SelfSubjectReview =
        Api::all(client).create(&PostParams::default(), &SelfSubjectReview::default()).await.unwrap();
    (url, review.status.unwrap().user_info.unwrap().username.unwrap())
}

/// Creates a ConfigMap.
pub(crate) async fn create(client: Client, namespace: &str) -> kube::Result<ConfigMap> {
    let metadata = ObjectMeta { generate_name: Some("any-".to_owned()), ..ObjectMeta::default() };
    let object = ConfigMap { metadata, ..ConfigMap::default() };
    Api::namespaced(client, namespace).create(&PostParams::default(), &object).await
}
