//! Objects that several tests need.

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
