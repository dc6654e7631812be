//! The roles of a webhook: the rights that it needs, without wildcards, restricted to object names where the API server
//! can check them. The rights themselves come from `Settings::policy_rules` and the app, except the rights to follow log levels.

use std::collections::BTreeMap;

use k8s_openapi::api::rbac::v1::PolicyRule;
use serde_json::{Value, json};
use vestibule::identity::{NamespacedName, event_rule, policy_rule};

const API_GROUP: &str = "rbac.authorization.k8s.io";

/// A rule of a role, and the namespace that it is for; `None` is every namespace.
type Right = (Option<String>, PolicyRule);

/// The rights to follow the ConfigMap `name`, which changes log levels, and to write Events about values that cannot be
/// parsed.
pub(super) fn of_log_levels(namespace: &str, name: &str) -> [Right; 2] {
    let map = policy_rule("", "configmaps", &["get", "list", "watch"], &[name]);
    [map, event_rule()].map(|rule| (Some(namespace.to_owned()), rule))
}

/// Roles with these rights, each bound to `account`; none without rights.
pub(super) fn objects(name: &str, account: &NamespacedName, rights: Vec<Right>) -> Vec<Value> {
    let mut roles = BTreeMap::<_, Vec<_>>::new();
    for (namespace, rule) in rights {
        let rules = roles.entry(namespace).or_default();
        if !rules.contains(&rule) {
            rules.push(rule);
        }
    }
    // Roles of one namespace come first, and the account's own namespace before others.
    let mut roles: Vec<_> = roles.into_iter().collect();
    roles.sort_by_key(|(namespace, _)| (namespace.is_none(), namespace.as_ref() != Some(&account.namespace)));
    roles.iter().flat_map(|(namespace, rules)| role(name, namespace.as_deref(), account, rules)).collect()
}

fn role(name: &str, namespace: Option<&str>, account: &NamespacedName, rules: &[PolicyRule]) -> [Value; 2] {
    let (kind, metadata) = match namespace {
        Some(namespace) => ("Role", json!({"name": name, "namespace": namespace})),
        None => ("ClusterRole", json!({"name": name})),
    };
    [
        json!({
            "apiVersion": format!("{API_GROUP}/v1"),
            "kind": kind,
            "metadata": metadata,
            "rules": rules,
        }),
        json!({
            "apiVersion": format!("{API_GROUP}/v1"),
            "kind": format!("{kind}Binding"),
            "metadata": metadata,
            "roleRef": {"apiGroup": API_GROUP, "kind": kind, "name": name},
            "subjects": [{"kind": "ServiceAccount", "name": account.name, "namespace": account.namespace}],
        }),
    ]
}
