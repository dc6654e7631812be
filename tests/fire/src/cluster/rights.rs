//! The ServiceAccount of the replicas and its RBAC.

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::authorization::v1::SubjectAccessReview;
use k8s_openapi::api::core::v1::ServiceAccount;
use kube::Api;
use kube::api::PostParams;
use serde_json::{Value, json};
use tokio::time::{sleep, timeout};
use vestibule_identity::{RegistrationKind, RegistrationName};
use vestibule_testenv::Environment;

/// The ServiceAccount of the replicas.
pub const ACCOUNT: &str = "fire";

/// The namespace of Events about cluster-scoped objects.
const EVENTS_OF_THE_CLUSTER: &str = "default";

/// Grants the ServiceAccount `fire` of the namespace `home` the rules that `vestibule manifests --identity self` prints for
/// this Secret and these registrations, and nothing else. Returns when the API server enforces them.
///
/// # Errors
/// The API server refuses an object, or does not enforce the rules in time.
pub async fn grant(
    environment: &Environment,
    home: &str,
    secret: &str,
    registrations: &[RegistrationName],
) -> anyhow::Result<()> {
    drop(environment.install(rights(home, secret, registrations)).await?);
    let mut samples = vec![
        json!({ "namespace": home, "resource": "secrets", "name": secret, "verb": "patch" }),
        json!({
            "namespace": EVENTS_OF_THE_CLUSTER, "group": "events.k8s.io", "resource": "events",
            "verb": "create",
        }),
    ];
    samples.extend(registrations.iter().filter_map(|registration| {
        let (group, resource) = resource(registration.kind)?;
        Some(json!({ "group": group, "resource": resource, "name": &*registration.name, "verb": "patch" }))
    }));
    let reviews: Api<SubjectAccessReview> = Api::all(environment.admin()?);
    for sample in &samples {
        is_granted(&reviews, home, sample).await.with_context(|| format!("not granted: {sample}"))?;
    }
    Ok(())
}

/// Waits until the request is allowed; the authorizer learns of roles through a watch.
async fn is_granted(
    reviews: &Api<SubjectAccessReview>,
    home: &str,
    attributes: &Value,
) -> anyhow::Result<()> {
    const PATIENCE: Duration = Duration::from_secs(10);
    let user = format!("system:serviceaccount:{home}:{ACCOUNT}");
    let review = json!({ "spec": { "user": user, "resourceAttributes": attributes } });
    let review = serde_json::from_value(review)?;
    let granted = async {
        while !reviews.create(&PostParams::default(), &review).await?.status.is_some_and(|is| is.allowed) {
            sleep(Duration::from_millis(20)).await;
        }
        Ok(())
    };
    timeout(PATIENCE, granted).await?
}

fn rights(home: &str, secret: &str, registrations: &[RegistrationName]) -> Vec<Value> {
    const RBAC: &str = "rbac.authorization.k8s.io";
    let name = format!("{ACCOUNT}-{home}");
    let role = |kind: &str, namespace: Option<&str>, rules: Value| {
        let metadata = json!({ "name": name, "namespace": namespace });
        let binding = json!({
            "apiVersion": format!("{RBAC}/v1"), "kind": format!("{kind}Binding"), "metadata": metadata,
            "roleRef": { "apiGroup": RBAC, "kind": kind, "name": name },
            "subjects": [{ "kind": "ServiceAccount", "name": ACCOUNT, "namespace": home }],
        });
        let role = json!({
            "apiVersion": format!("{RBAC}/v1"), "kind": kind, "metadata": metadata, "rules": rules,
        });
        [role, binding]
    };
    let events =
        json!({ "apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"] });
    let beside_the_secret = json!([
        {
            "apiGroups": [""], "resources": ["secrets"], "resourceNames": [secret],
            "verbs": ["get", "list", "watch", "update", "patch"],
        },
        { "apiGroups": [""], "resources": ["secrets"], "verbs": ["create"] },
        events,
    ]);
    let everywhere = registrations.iter().filter_map(|registration| {
        let (group, resource) = resource(registration.kind)?;
        Some(json!({
            "apiGroups": [group], "resources": [resource], "resourceNames": [&*registration.name],
            "verbs": ["get", "list", "watch", "patch"],
        }))
    });
    let everywhere: Vec<_> = everywhere.collect();
    let roles = [
        role("Role", Some(home), beside_the_secret),
        role("Role", Some(EVENTS_OF_THE_CLUSTER), json!([events])),
        role("ClusterRole", None, json!(everywhere)),
    ];
    roles.into_iter().flatten().collect()
}

fn resource(kind: RegistrationKind) -> Option<(&'static str, &'static str)> {
    match kind {
        RegistrationKind::Mutating => Some(("admissionregistration.k8s.io", "mutatingwebhookconfigurations")),
        RegistrationKind::CustomResource => Some(("apiextensions.k8s.io", "customresourcedefinitions")),
        // The suites register no other kind.
        _ => None,
    }
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
