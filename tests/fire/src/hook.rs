//! The two hooks that replicas serve and the soak registers.

use serde_json::{Value, json};
use vestibule_testenv::Service;

/// The path of the hook that is called at the port where each answer ends its connection.
pub const CLOSE: &str = "/mutate/close";

/// The path of the hook that is called at the port where connections stay open.
pub const KEEP: &str = "/mutate/keep";

/// The annotation that the hooks add to a ConfigMap.
pub const ANNOTATION: &str = "fire.vestibule.dev/answered-by";

/// The label that selects the hook: `close` or `keep`.
pub const LABEL: &str = "fire.vestibule.dev/connection";

/// The configuration `name` with both hooks, each at its port of `service`. The caBundle is empty; the replicas fill it.
#[must_use]
pub fn configuration(name: &str, namespace: &str, service: &Service) -> Value {
    let hook = |connection: &str, path: &str| {
        json!({
            "name": format!("{connection}.fire.vestibule.dev"),
            "clientConfig": { "service": reference(service, path) },
            "rules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"],
            }],
            "namespaceSelector": { "matchLabels": { "kubernetes.io/metadata.name": namespace } },
            "objectSelector": { "matchLabels": { LABEL: connection } },
            "failurePolicy": "Fail",
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
            "timeoutSeconds": 10,
        })
    };
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": { "name": name },
        "webhooks": [hook("close", CLOSE), hook("keep", KEEP)],
    })
}

/// The Service reference of a hook. [`KEEP`] uses the second port if the Service has one.
#[must_use]
pub fn reference(service: &Service, path: &str) -> Value {
    let second = service.second_reference(path).filter(|_| path == KEEP);
    second.unwrap_or_else(|| service.reference(path))
}
