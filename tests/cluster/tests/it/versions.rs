//! Features that differ between versions of Kubernetes, a test for each. docs/reference/versions.md has their results.

use std::time::Duration;

use http::Method;
use serde_json::{Value, json};
use vestibule::Operation::Create;
use vestibule::{App, FailurePolicy, on};
use vestibule_admission::Decision;
use vestibule_testenv::{leave_out, until};

use crate::chain::stamp;
use crate::cluster::{Cluster, Reply, TEST};
use crate::samples::{config_map, names, pod};
use crate::second_call::with_sidecar;

/// The first minor version of Kubernetes 1 that serves `MutatingAdmissionPolicy` in `v1`.
const MUTATING_POLICIES: u32 = 36;

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

/// kube-apiserver runs MutatingAdmissionPolicies before webhooks, and chooses webhooks by the object that the policies made. After a
/// change it runs both once more: the policies with `IfNeeded`, then the webhooks (`pkg/admission/reinvocation.go` of k8s.io/apiserver).
#[tokio::test]
async fn mutating_policies_and_a_webhook_change_the_same_pod() {
    let Some(cluster) = Cluster::shared().await else { return };
    let minor = minor(&cluster).await;
    let [policies, bindings] = ["mutatingadmissionpolicies", "mutatingadmissionpolicybindings"];
    let is_served = send(&cluster, Method::GET, policies, &Value::Null).await.status != 404;
    assert_eq!(is_served, minor >= MUTATING_POLICIES, "1.{minor}");
    if !is_served {
        return leave_out(&format!("kube-apiserver 1.{minor} has no MutatingAdmissionPolicy in v1"));
    }
    let label = |hook: &mut Value| hook["objectSelector"] = json!({"matchLabels": {"by": "policy"}});
    let webhook = cluster.serve_as(with_sidecar(), label).await;
    let namespace = cluster.namespace(&[]).await;
    let written = ["Never", "IfNeeded"].map(|reinvocation| counting_policy(&cluster, reinvocation));
    for (policy, binding) in &written {
        send(&cluster, Method::POST, policies, policy).await.object();
        send(&cluster, Method::POST, bindings, binding).await.object();
    }

    // A token for the sidecar would be a change of its own, by ServiceAccount admission.
    let mut object = pod("web", &[("app", "app:1")]);
    object["spec"]["automountServiceAccountToken"] = json!(false);
    let in_force = async || {
        let seen = namespace.create_dry_run(&object).await.object();
        seen["metadata"]["annotations"].as_object().is_some_and(|annotations| annotations.len() == 2)
    };
    until("both policies in force", Duration::from_secs(60), in_force).await.unwrap();
    webhook.decisions.take();
    namespace.create(&object).await.object();
    let stored = namespace.read(&object).await.object();
    assert_eq!(names(&stored["spec"]["containers"]), ["app", "sidecar"]);
    assert_eq!(stored["metadata"]["labels"], json!({"by": "policy"}));
    // The number of containers that each policy saw in its last run.
    assert_eq!(stored["metadata"]["annotations"], json!({"Never": "1", "IfNeeded": "2"}));
    assert_eq!(webhook.decisions.take(), [Decision::Mutated(1), Decision::Allowed]);
    for (policy, binding) in &written {
        for (kind, object) in [(bindings, binding), (policies, policy)] {
            let path = format!("{kind}/{}", object["metadata"]["name"].as_str().unwrap());
            send(&cluster, Method::DELETE, &path, &Value::Null).await.object();
        }
    }
}

/// A policy with its binding. It labels each pod of the test's namespaces with `by: policy`, and counts its containers in an annotation.
fn counting_policy(cluster: &Cluster, reinvocation: &str) -> (Value, Value) {
    let home = cluster.home.name();
    let name = format!("{home}-{}", reinvocation.to_lowercase());
    let metadata = format!(
        "Object{{metadata: Object.metadata{{labels: {{'by': 'policy'}}, annotations: {{'{reinvocation}': \
         string(size(object.spec.containers))}}}}}}"
    );
    let rule =
        json!({"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]});
    let policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicy",
        "metadata": {"name": name},
        "spec": {"matchConstraints": {"resourceRules": [rule]}, "reinvocationPolicy": reinvocation,
                 "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": metadata}}]},
    });
    let binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingAdmissionPolicyBinding",
        "metadata": {"name": name},
        "spec": {"policyName": name, "matchResources": {"namespaceSelector": {"matchLabels": {TEST: home}}}},
    });
    (policy, binding)
}

/// The minor version of the API server: 30 of `v1.30.14`. Builds may leave `major` and `minor` empty.
pub(crate) async fn minor(cluster: &Cluster) -> u32 {
    let reply = Reply::to(&cluster.client(), Method::GET, "/version", "application/json", &Value::Null).await;
    let version = reply.object()["gitVersion"].as_str().unwrap().to_owned();
    version.strip_prefix("v1.").and_then(|rest| rest.split('.').next()).unwrap().parse().unwrap()
}

async fn send(cluster: &Cluster, method: Method, path: &str, body: &Value) -> Reply {
    let uri = format!("/apis/admissionregistration.k8s.io/v1/{path}");
    Reply::to(&cluster.client(), method, &uri, "application/json", body).await
}
