//! The manifests of the operator, with only the required rights.

use serde_json::{Value, json};
use vestibule_identity::{NamespacedName, Source};

use crate::widget::{CRD, GROUP};

/// Every object but the Deployment, its Service and its ServiceAccount: the definition, and rights for the
/// ServiceAccount of the same name as the Service. With [`Source::Off`] there is one version and no right that only a certificate needs.
#[must_use]
pub fn manifests(source: &Source, service: &NamespacedName, port: u16) -> Vec<Value> {
    let mut objects = vec![definition(source, service, port)];
    objects.extend(granted(service, &service.namespace, "", &own_work()));
    if *source == Source::SelfManaged {
        let ring = format!("{}-ring", service.name);
        let secret = json!([
            { "apiGroups": [""], "resources": ["secrets"], "resourceNames": [ring],
              "verbs": ["get", "list", "watch", "update", "patch"] },
            { "apiGroups": [""], "resources": ["secrets"], "verbs": ["create"] },
            { "apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"] },
        ]);
        // Events about objects without a namespace are written to `default`.
        let events = json!([
            { "apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"] },
        ]);
        objects.extend(granted(service, &service.namespace, "-ring", &secret));
        objects.extend(granted(service, "default", "-events", &events));
        objects.extend(granted_everywhere(service));
    }
    objects
}

/// The objects as one `List`, for `kubectl apply -f -`.
#[must_use]
pub fn list(objects: &[Value]) -> Value {
    json!({ "apiVersion": "v1", "kind": "List", "items": objects })
}

fn definition(source: &Source, service: &NamespacedName, port: u16) -> Value {
    let off = *source == Source::Off;
    let version = |name: &str, served: bool, stored: bool, properties: Value, required: Value| {
        let spec = json!({ "type": "object", "properties": properties, "required": required });
        json!({
            "name": name,
            "served": served,
            "storage": stored,
            "schema": { "openAPIV3Schema": {
                "type": "object", "properties": { "spec": spec }, "required": ["spec"],
            } },
        })
    };
    let address = json!({ "address": { "type": "string", "pattern": "^[^:]+:[1-9][0-9]{0,4}$" } });
    let parts = json!({
        "host": { "type": "string", "minLength": 1 },
        "port": { "type": "integer", "minimum": 1, "maximum": 65535 },
    });
    let webhook = json!({
        "strategy": "Webhook",
        "webhook": {
            "conversionReviewVersions": ["v1"],
            "clientConfig": { "service": {
                "namespace": service.namespace, "name": service.name, "port": port, "path": "/convert",
            } },
        },
    });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": CRD },
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": { "kind": "Widget", "plural": "widgets", "singular": "widget" },
            "versions": [
                version("v1", !off, false, address, json!(["address"])),
                version("v2", true, true, parts, json!(["host", "port"])),
            ],
            "conversion": if off { json!({ "strategy": "None" }) } else { webhook },
        },
    })
}

fn own_work() -> Value {
    json!([
        { "apiGroups": [GROUP], "resources": ["widgets"], "verbs": ["get", "list", "watch"] },
        { "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch", "create", "patch"] },
    ])
}

/// A Role and its binding.
fn granted(account: &NamespacedName, namespace: &str, suffix: &str, rules: &Value) -> [Value; 2] {
    const GROUP: &str = "rbac.authorization.k8s.io";
    let metadata = json!({ "name": format!("{}{suffix}", account.name), "namespace": namespace });
    [
        json!({ "apiVersion": format!("{GROUP}/v1"), "kind": "Role", "metadata": metadata, "rules": rules }),
        json!({
            "apiVersion": format!("{GROUP}/v1"), "kind": "RoleBinding", "metadata": metadata,
            "roleRef": { "apiGroup": GROUP, "kind": "Role", "name": metadata["name"] },
            "subjects": [{ "kind": "ServiceAccount", "name": account.name, "namespace": account.namespace }],
        }),
    ]
}

fn granted_everywhere(account: &NamespacedName) -> [Value; 2] {
    const GROUP: &str = "rbac.authorization.k8s.io";
    let name = format!("{}-{}", account.namespace, account.name);
    [
        json!({
            "apiVersion": format!("{GROUP}/v1"), "kind": "ClusterRole", "metadata": { "name": name },
            "rules": [{
                "apiGroups": ["apiextensions.k8s.io"], "resources": ["customresourcedefinitions"],
                "resourceNames": [CRD], "verbs": ["get", "list", "watch", "patch"],
            }],
        }),
        json!({
            "apiVersion": format!("{GROUP}/v1"), "kind": "ClusterRoleBinding", "metadata": { "name": name },
            "roleRef": { "apiGroup": GROUP, "kind": "ClusterRole", "name": name },
            "subjects": [{ "kind": "ServiceAccount", "name": account.name, "namespace": account.namespace }],
        }),
    ]
}
