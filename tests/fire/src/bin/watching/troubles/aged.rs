//! A webhook with an old CA. Its account may read its Secret and its configuration, and write neither.

use std::process::Command;
use std::time::Duration;

use anyhow::Context;
use fire::rig::Replica;
use fire::rig::beside;
use http::Method;
use k8s_openapi::api::rbac::v1::PolicyRule;
use rustls_pki_types::UnixTime;
use serde_json::{Value, json};
use tokio::time::sleep;
use vestibule_pki::Authority;
use vestibule_testenv::until;

use super::{FIVE_DAYS, names, patch_bundle};
use crate::api::{JSON, done};
use crate::cluster::Cluster;

/// The name of the account, the Service and the configuration.
const AGED: &str = "aged";
const PATIENCE: Duration = Duration::from_secs(60);
/// For the bundle in the configuration, after the Secret.
const PUBLISHED: Duration = Duration::from_secs(3);

pub(super) async fn start(cluster: &Cluster) -> anyhow::Result<Replica> {
    let home = &cluster.home;
    cluster.environment.apply([configuration(home)]).await?;
    make_ring(cluster).await?;
    // Another bundle, which the account may not correct.
    let other = Authority::new("another", UnixTime::now(), Duration::from_secs(FIVE_DAYS))?;
    patch_bundle(cluster, AGED, other.certificate_pem())?;

    let kubeconfig = cluster.environment.service_account_kubeconfig(home, AGED).await?;
    cluster.environment.grant(home, AGED, rights(home)).await?;
    let [service, namespace] = names(cluster, AGED);
    let of_configuration = ["--registration=mutating/aged", "--registration-mode=static"];
    let arguments = [&["--identity=self", &service, &namespace], &of_configuration[..]].concat();
    Replica::start(&cluster.environment, &cluster.program, &kubeconfig, &arguments).await
}

/// Reading its Secret and its configuration, each as a right with its namespace.
fn rights(home: &str) -> [(Option<String>, PolicyRule); 2] {
    let read = |group: &str, resource: &str| PolicyRule {
        api_groups: Some(vec![group.to_owned()]),
        resources: Some(vec![resource.to_owned()]),
        verbs: ["get", "list", "watch"].map(str::to_owned).into(),
        ..PolicyRule::default()
    };
    [
        (Some(home.to_owned()), read("", "secrets")),
        (None, read("admissionregistration.k8s.io", "mutatingwebhookconfigurations")),
    ]
}

fn configuration(home: &str) -> Value {
    json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": AGED}, "webhooks": [{
            "name": "aged.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
            "clientConfig": {"service": {"namespace": home, "name": AGED, "path": "/"}},
            // It is never called.
            "objectSelector": {"matchLabels": {"watching": AGED}}, "failurePolicy": "Ignore",
            "rules": [{
                "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"],
            }],
        }],
    })
}

/// Makes a ring whose CA is valid for five days, by the replica of the soak, which takes any validity.
async fn make_ring(cluster: &Cluster) -> anyhow::Result<()> {
    let [service, namespace] = [format!("--service={AGED}"), format!("--namespace={}", cluster.home)];
    let mut maker = Command::new(beside("replica")?);
    maker.arg("--kubeconfig").arg(cluster.environment.kubeconfig()).args([service, namespace]);
    maker.args(["--secret=aged-ring", "--registration=mutating/aged", "--leaf=3600", "--hold=3600"]);
    let maker = cluster.environment.spawn("ring", maker.arg(format!("--authority={FIVE_DAYS}")))?;
    let secret = format!("/api/v1/namespaces/{}/secrets/aged-ring", cluster.home);
    let is_there = async || done(&cluster.client, Method::GET, &secret, JSON, &Value::Null).await.is_ok();
    until("a ring with an old CA", PATIENCE, is_there).await.with_context(|| maker.log())?;
    sleep(PUBLISHED).await;
    Ok(maker.kill()?)
}
