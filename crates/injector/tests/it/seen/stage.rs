//! Rules, the pod that they stumble over, and an injector to meet it.

use serde_json::{Value, json};
use vestibule_caller::{Outcome, Review};
use vestibule_injector::{Namespaces, app, compile};

use crate::cluster::FakeCluster;
use crate::road::Road;

pub(crate) const RULES: &str = "\
apiVersion: vestibule.dev/v1alpha1
kind: Injection
metadata: {name: data}
spec:
  match: {objects: {labels: {app: web}}}
  volumes: [{name: data, emptyDir: {}}]
---
apiVersion: vestibule.dev/v1alpha1
kind: Injection
metadata: {name: tool}
spec:
  match: {objects: {labels: {app: web}}}
  containers: [{select: {all: true}, onConflict: skipRule, env: [{name: TOKEN, value: s3cret-of-the-rule}]}]
---
apiVersion: vestibule.dev/v1alpha1
kind: Injection
metadata: {name: asked}
spec:
  optIn: pod
  pod: {labels: {asked: \"true\"}}
";

/// An injector on a cluster that takes Events.
pub(crate) async fn stage(rules: &str) -> (Road, FakeCluster) {
    let cluster = FakeCluster::start().await;
    cluster.open();
    let rules = compile([("rules.yaml", rules)]).unwrap_or_else(|findings| panic!("{findings:?}"));
    let namespaces = Namespaces::connect(Some(&cluster.kubeconfig())).await;
    let namespaces = namespaces.unwrap_or_else(|error| panic!("{error}"));
    let road = Road::to(app(rules, namespaces).unwrap_or_else(|error| panic!("{error}"))).await;
    while road.readiness().await.contains("namespaces") {
        tokio::task::yield_now().await;
    }
    (road, cluster)
}

/// A pod that a ReplicaSet makes, with something else in the place of the volume.
pub(crate) fn conflicting(owner: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "Pod",
        "metadata": {"generateName": "web-", "namespace": "listed", "labels": {"app": "web"},
            "ownerReferences": [{"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": owner,
                "uid": format!("uid-{owner}"), "controller": true}]},
        "spec": {"containers": [{"name": "app", "image": "app:1"}],
            "volumes": [{"name": "data", "hostPath": {"path": "/s3cret-of-the-pod"}}]}})
}

pub(crate) async fn call(road: &Road, object: Value, dry_run: bool) -> Outcome {
    let review = Review::create(object);
    let review = if dry_run { review.dry_run() } else { review }.build().unwrap();
    road.judged("best-effort", &review).await
}
