//! Rules, a pod that conflicts with them, and an injector on a cluster that takes Events.

use serde_json::{Value, json};
use vestibule_caller::{Allowed, Review};
use vestibule_injector::Namespaces;

use crate::fake_cluster::FakeCluster;
use crate::fixture::{TestInjector, injector, rules};

pub(crate) const RULES: &str = "\
apiVersion: vestibule.dev/v1alpha1
kind: Injection
metadata: {name: data}
spec:
  match: {objectSelector: {matchLabels: {app: web}}}
  volumes: [{name: data, emptyDir: {}}]
---
apiVersion: vestibule.dev/v1alpha1
kind: Injection
metadata: {name: tool}
spec:
  match: {objectSelector: {matchLabels: {app: web}}}
  containerPatches: [{select: {all: true}, onConflict: skipRule, env: [{name: TOKEN, value: s3cret-of-the-rule}]}]
---
apiVersion: vestibule.dev/v1alpha1
kind: Injection
metadata: {name: asked}
spec:
  optIn: pod
  pod: {labels: {asked: \"true\"}}
";

pub(crate) async fn injector_on_cluster(text: &str) -> (TestInjector, FakeCluster) {
    let cluster = FakeCluster::start().await;
    cluster.open();
    let injector = injector(rules(text), Namespaces::watched(cluster.client())).await;
    while injector.readiness().await.contains("namespaces") {
        tokio::task::yield_now().await;
    }
    (injector, cluster)
}

/// A pod of a ReplicaSet with another volume under the name of the rule's volume.
pub(crate) fn conflicting(owner: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"generateName": "web-", "namespace": "listed", "labels": {"app": "web"},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner,
                "uid": format!("uid-{owner}"), "controller": true}]},
        "spec": {"containers": [{"name": "app", "image": "app:1"}],
            "volumes": [{"name": "data", "hostPath": {"path": "/s3cret-of-the-pod"}}]}})
}

pub(crate) async fn call(injector: &TestInjector, object: Value, dry_run: bool) -> Allowed {
    let review = Review::create(object);
    let review = if dry_run { review.dry_run() } else { review }.build().unwrap();
    injector.allowed("best-effort", &review).await
}
