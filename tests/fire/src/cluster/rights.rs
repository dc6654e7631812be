//! The ServiceAccount of the replicas and its RBAC.

use std::path::PathBuf;

use anyhow::Context;
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::Api;
use kube::api::PostParams;
use serde_json::{Value, json};
use vestibule_identity::{NamespacedName, RegistrationName, Settings};
use vestibule_testenv::Environment;

/// The ServiceAccount of the replicas.
pub const ACCOUNT: &str = "fire";

/// Grants the ServiceAccount `fire` of the namespace `home` the rights that a replica with this Secret and these registrations
/// needs, and nothing else. Returns when the API server enforces them.
///
/// # Errors
/// The API server refuses an object, or does not enforce the rights in time.
pub async fn grant(
    environment: &Environment,
    home: &str,
    secret: &str,
    registrations: &[RegistrationName],
) -> anyhow::Result<()> {
    let mut settings = Settings::default();
    settings.secret = Some(NamespacedName { namespace: home.to_owned(), name: secret.to_owned() });
    settings.registrations = registrations.to_vec();
    Ok(environment.grant(home, ACCOUNT, settings.policy_rules()).await?)
}

/// The kubeconfig of the ServiceAccount, with a token that is valid for a day.
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
