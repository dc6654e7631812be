//! Features that differ between versions of Kubernetes, a test for each. docs/reference/versions.md has their results.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use vestibule::Operation::Create;
use vestibule::{App, FailurePolicy, on};
use vestibule_admission::Decision;
use vestibule_testenv::until;

use crate::chain::stamp;
use crate::cluster::{Cluster, Reply, TEST};
use crate::samples::config_map;

fn stamps() -> App {
    App::new("stamps").mutate("stamp", on([Create]).failure_policy(FailurePolicy::Fail), stamp)
}

#[tokio::test]
async fn a_review_of_v1beta1_is_answered() {
    let Some(cluster) = Cluster::shared().await else { return };
    let webhook =
        cluster.serve_as(stamps(), |hook| hook["admissionReviewVersions"] = json!(["v1beta1"])).await;
    let created = cluster.namespace(&[]).await.create(&config_map("old-review")).await.object();
    assert_eq!(created["data"], json!({ "user": "kept", "stamp": "ours" }));
    assert_eq!(webhook.decisions.take(), [Decision::Mutated(1)]);
}

#[tokio::test]
async fn a_validating_policy_sees_the_object_that_a_webhook_made() {
    let Some(cluster) = Cluster::shared().await else { return };
    let _webhook = cluster.serve(stamps()).await;
    let (name, namespace) = (cluster.home.name(), cluster.namespace(&[]).await);
    let rule = json!({"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"],
        "resources": ["configmaps"], "resourceNames": ["refused"]});
    let policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {"matchConstraints": {"resourceRules": [rule]},
                 "validations": [{"expression": "!has(object.data.stamp)", "message": "it is stamped"}]},
    });
    let binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name, "validationActions": ["Deny"],
                 "matchResources": {"namespaceSelector": {"matchLabels": {TEST: name}}}},
    });
    let kinds = ["validatingadmissionpolicies", "validatingadmissionpolicybindings"];
    for (kind, object) in kinds.iter().zip([&policy, &binding]) {
        send(&cluster, Method::POST, kind, object).await.object();
    }
    let in_force = async || namespace.create_dry_run(&config_map("refused")).await.status == 422;
    until("the policy in force", Duration::from_secs(60), in_force).await.unwrap();
    let refused = namespace.create(&config_map("refused")).await.refusal(422);
    assert!(refused.ends_with("denied request: it is stamped"), "{refused}");
    assert_eq!(namespace.create(&config_map("other")).await.object()["data"]["stamp"], "ours");
    for kind in kinds {
        send(&cluster, Method::DELETE, &format!("{kind}/{name}"), &Value::Null).await.object();
    }
}

async fn send(cluster: &Cluster, method: Method, path: &str, body: &Value) -> Reply {
    let uri = format!("/apis/admissionregistration.k8s.io/v1/{path}");
    Reply::to(&cluster.client(), method, &uri, "application/json", body).await
}
