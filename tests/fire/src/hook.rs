//! The two hooks: what the replica serves, and what the soak registers.

use serde_json::{Value, json};

/// The path of the hook that closes each connection after its answer.
pub const CLOSE: &str = "/mutate/close";

/// The path of the hook that keeps connections open.
pub const KEEP: &str = "/mutate/keep";

/// Where the hooks write, in a ConfigMap.
pub const ANNOTATION: &str = "fire.vestibule.dev/answered-by";

/// The same as a JSON Pointer.
pub const ANNOTATION_POINTER: &str = "/metadata/annotations/fire.vestibule.dev~1answered-by";

/// The label that says which hook is to be called: `close` or `keep`.
pub const LABEL: &str = "fire.vestibule.dev/connection";

/// The configuration `name` with both hooks, without a bundle: whoever serves them has to write it.
///
/// Each hook has a path of its own, so that the API server gives it connections of its own.
#[must_use]
pub fn configuration(name: &str, namespace: &str, reference: impl Fn(&str) -> Value) -> Value {
    let hook = |connection: &str, path: &str| {
        json!({
            "name": format!("{connection}.fire.vestibule.dev"),
            "clientConfig": { "service": reference(path) },
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
