//! The manifests of the operator, with only the required rights.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use vestibule_identity::{NamespacedName, Source};

use crate::widget::{CRD, GROUP};

/// Every object but the Deployment, its Service and its ServiceAccount: the definition, and rights for the
/// ServiceAccount of the same name as the Service. With [`Source::Off`] there is one version and no right that only a certificate needs.
#[must_use]
pub fn manifests(source: &Source, service: &NamespacedName, port: u16) -> Vec<Value> {
    let mut objects = vec![definition(source, service, port)];
    let mut rules = BTreeMap::<_, Vec<_>>::new();
    rules.insert(Some(service.namespace.clone()), own_work());
    if *source == Source::SelfManaged {
        for (namespace, rule) in crate::settings(service.clone()).policy_rules() {
            rules.entry(namespace).or_default().push(json!(rule));
        }
    }
    objects.extend(rules.iter().flat_map(|(namespace, rules)| granted(service, namespace.as_deref(), rules)));
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

fn own_work() -> Vec<Value> {
    vec![
        json!({ "apiGroups": [GROUP], "resources": ["widgets"], "verbs": ["get", "list", "watch"] }),
        // For `blockOwnerDeletion` of an owner reference, on clusters that check it.
        json!({ "apiGroups": [GROUP], "resources": ["widgets/finalizers"], "verbs": ["update"] }),
        json!({ "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "watch", "create", "patch"] }),
    ]
}

/// A Role and its binding, or a ClusterRole and its binding without a namespace.
fn granted(account: &NamespacedName, namespace: Option<&str>, rules: &[Value]) -> [Value; 2] {
    const GROUP: &str = "rbac.authorization.k8s.io";
    let (kind, metadata) = match namespace {
        Some(namespace) => ("Role", json!({ "name": account.name, "namespace": namespace })),
        None => ("ClusterRole", json!({ "name": format!("{}-{}", account.namespace, account.name) })),
    };
    [
        json!({ "apiVersion": format!("{GROUP}/v1"), "kind": kind, "metadata": metadata, "rules": rules }),
        json!({
            "apiVersion": format!("{GROUP}/v1"), "kind": format!("{kind}Binding"), "metadata": metadata,
            "roleRef": { "apiGroup": GROUP, "kind": kind, "name": metadata["name"] },
            "subjects": [{ "kind": "ServiceAccount", "name": account.name, "namespace": account.namespace }],
        }),
    ]
}
