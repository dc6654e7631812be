//! As whom replicas come to the API server, and what they may do there.

use std::path::PathBuf;

use anyhow::Context;
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::Api;
use kube::api::PostParams;
use serde_json::{Value, json};
use vestibule_testenv::Environment;

use super::SECRET;

/// The ServiceAccount.
pub(super) const ACCOUNT: &str = "fire";

/// What the documentation says a self-managed identity needs, and nothing else.
pub(super) fn rights(namespace: &str, registration: &str) -> Vec<Value> {
    const RBAC: &str = "rbac.authorization.k8s.io";
    let object = |kind: &str, name: &str, namespace: Option<&str>, rest: (&str, Value)| {
        let mut object = json!({
            "apiVersion": format!("{RBAC}/v1"), "kind": kind,
            "metadata": { "name": name, "namespace": namespace },
        });
        object[rest.0] = rest.1;
        object
    };
    let binding = |kind: &str, name: &str, namespace_of_it: Option<&str>, role: &str| {
        let subjects = json!([{ "kind": "ServiceAccount", "name": ACCOUNT, "namespace": namespace }]);
        let mut object = object(kind, name, namespace_of_it, ("subjects", subjects));
        object["roleRef"] = json!({ "apiGroup": RBAC, "kind": role, "name": name });
        object
    };
    let events = json!({
        "apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"],
    });
    let own = json!([
        {
            "apiGroups": [""], "resources": ["secrets"], "resourceNames": [SECRET],
            "verbs": ["get", "list", "watch", "update", "patch"],
        },
        { "apiGroups": [""], "resources": ["secrets"], "verbs": ["create"] },
        events,
    ]);
    let everywhere = json!([{
        "apiGroups": ["admissionregistration.k8s.io"], "resources": ["mutatingwebhookconfigurations"],
        "resourceNames": [registration], "verbs": ["get", "list", "watch", "patch"],
    }]);
    vec![
        object("Role", ACCOUNT, Some(namespace), ("rules", own)),
        binding("RoleBinding", ACCOUNT, Some(namespace), "Role"),
        object("ClusterRole", registration, None, ("rules", everywhere)),
        binding("ClusterRoleBinding", registration, None, "ClusterRole"),
        object("Role", registration, Some("default"), ("rules", json!([events]))),
        binding("RoleBinding", registration, Some("default"), "Role"),
    ]
}

/// The ServiceAccount's, with a token that outlives any soak.
pub(super) async fn kubeconfig(environment: &Environment, namespace: &str) -> anyhow::Result<PathBuf> {
    const LONG: i64 = 24 * 60 * 60;
    let path = environment.service_account_kubeconfig(namespace, ACCOUNT).await?;
    let accounts: Api<ServiceAccount> = Api::namespaced(environment.admin()?, namespace);
    let spec = TokenRequestSpec { expiration_seconds: Some(LONG), ..TokenRequestSpec::default() };
    let request = TokenRequest { spec: Some(spec), ..TokenRequest::default() };
    let parameters = PostParams::default();
    let answer: TokenRequest =
        accounts.create_subresource("token", ACCOUNT, &parameters, &request).await.context("a token")?;
    let mut kubeconfig: Value = serde_json::from_str(&std::fs::read_to_string(&path)?)?;
    if let Some(token) = kubeconfig.pointer_mut("/users/0/user/token") {
        *token = json!(answer.status.context("a token without status")?.token);
    }
    std::fs::write(&path, kubeconfig.to_string())?;
    Ok(path)
}
