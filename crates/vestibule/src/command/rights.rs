//! What a webhook may do on a cluster, and nothing else.

use std::collections::BTreeMap;

use serde_json::{Value, json};
use vestibule_identity::{NamespacedName, RegistrationKind, RegistrationName};

const API_GROUP: &str = "rbac.authorization.k8s.io";
/// Where Events about objects without a namespace go.
const EVENTS_OF_THE_CLUSTER: &str = "default";

/// Roles bound to `account`: for a CA ring, its Secret and the registered configurations by name; and all namespaces,
/// for an app that reads them.
pub(super) fn objects(
    app: &str,
    account: &NamespacedName,
    ring: Option<(&NamespacedName, &[RegistrationName])>,
    reads_namespaces: bool,
) -> Vec<Value> {
    let (mut objects, mut rules) = (Vec::new(), Vec::new());
    if let Some((secret, registrations)) = ring {
        let beside_the_secret = json!([secret_rights(secret), create_secrets(), events()]);
        objects.extend(role(app, &secret.namespace, account, &beside_the_secret));
        if secret.namespace != EVENTS_OF_THE_CLUSTER {
            objects.extend(role(app, EVENTS_OF_THE_CLUSTER, account, &json!([events()])));
        }
        let mut kinds = BTreeMap::<_, Vec<_>>::new();
        for registration in registrations {
            kinds.entry(registration.kind).or_default().push(&*registration.name);
        }
        rules.extend(kinds.into_iter().filter_map(|(kind, names)| configurations(kind, &names)));
    }
    if reads_namespaces {
        rules.push(namespaces());
    }
    if !rules.is_empty() {
        objects.push(json!({
            "apiVersion": format!("{API_GROUP}/v1"),
            "kind": "ClusterRole",
            "metadata": {"name": app},
            "rules": rules,
        }));
        objects.push(json!({
            "apiVersion": format!("{API_GROUP}/v1"),
            "kind": "ClusterRoleBinding",
            "metadata": {"name": app},
            "roleRef": {"apiGroup": API_GROUP, "kind": "ClusterRole", "name": app},
            "subjects": [subject(account)],
        }));
    }
    objects
}

fn role(app: &str, namespace: &str, account: &NamespacedName, rules: &Value) -> [Value; 2] {
    let metadata = json!({"name": app, "namespace": namespace});
    [
        json!({
            "apiVersion": format!("{API_GROUP}/v1"),
            "kind": "Role",
            "metadata": metadata,
            "rules": rules,
        }),
        json!({
            "apiVersion": format!("{API_GROUP}/v1"),
            "kind": "RoleBinding",
            "metadata": metadata,
            "roleRef": {"apiGroup": API_GROUP, "kind": "Role", "name": app},
            "subjects": [subject(account)],
        }),
    ]
}

fn subject(account: &NamespacedName) -> Value {
    json!({"kind": "ServiceAccount", "name": account.name, "namespace": account.namespace})
}

fn secret_rights(secret: &NamespacedName) -> Value {
    json!({
        "apiGroups": [""],
        "resources": ["secrets"],
        "resourceNames": [secret.name],
        "verbs": ["get", "list", "watch", "update", "patch"],
    })
}

/// The name is not known to the API server when it decides about a creation.
fn create_secrets() -> Value {
    json!({"apiGroups": [""], "resources": ["secrets"], "verbs": ["create"]})
}

fn events() -> Value {
    json!({"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"]})
}

fn namespaces() -> Value {
    json!({"apiGroups": [""], "resources": ["namespaces"], "verbs": ["get", "list", "watch"]})
}

fn configurations(kind: RegistrationKind, names: &[&str]) -> Option<Value> {
    let (group, resource) = match kind {
        RegistrationKind::Mutating => ("admissionregistration.k8s.io", "mutatingwebhookconfigurations"),
        RegistrationKind::Validating => ("admissionregistration.k8s.io", "validatingwebhookconfigurations"),
        RegistrationKind::CustomResource => ("apiextensions.k8s.io", "customresourcedefinitions"),
        RegistrationKind::ApiService => ("apiregistration.k8s.io", "apiservices"),
        _ => return None,
    };
    Some(json!({
        "apiGroups": [group],
        "resources": [resource],
        "resourceNames": names,
        "verbs": ["get", "list", "watch", "patch"],
    }))
}
