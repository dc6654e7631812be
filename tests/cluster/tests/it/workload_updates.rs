//! Workloads whose pod template a rule changes, and that are then updated in the ways of users and controllers.

use serde_json::{Value, json};
use vestibule_admission::Decision;
use vestibule_injector::compile;

use crate::cluster::{Cluster, Reply};

/// A required rule with parts of all kinds.
const RULE: &str = "apiVersion: vestibule.dev/v1alpha1
kind: Injection
metadata: {name: all}
spec:
  targets: [deployments, statefulsets, daemonsets, replicasets, cronjobs]
  match: {namespaceSelector: {matchLabels: {injection: enabled}}, objectSelector: {matchLabels: {app: web}}}
  required: true
  onConflict: deny
  pod:
    labels: {team: blue}
    annotations: {example.com/team: blue}
    spec:
      nodeSelector: {disk: ssd}
      tolerations: [{key: a, operator: Exists}]
      hostAliases: [{ip: 1.1.1.1, hostnames: [one]}]
      topologySpreadConstraints: [{maxSkew: 1, topologyKey: zone, whenUnsatisfiable: ScheduleAnyway}]
      securityContext: {fsGroup: 1}
  containerPatches:
  - select: {all: true}
    env: [{name: A, value: a}, {name: B, value: $(A)}]
    envFrom: [{configMapRef: {name: a}}]
    ports: [{containerPort: 9000}]
    volumeMounts: [{name: v, mountPath: /v/}]
    resources: {requests: {cpu: 0.1m, memory: 1024Mi}}
    readinessProbe: {httpGet: {port: 80}, timeoutSeconds: 0}
  volumes: [{name: v, emptyDir: {}}]
  sidecars: [{name: s, image: 's:1', ports: [{containerPort: 9001}], volumeMounts: [{name: v, mountPath: /v}]}]
  initContainers: [{name: t, image: 't:1'}]
  imagePullSecrets: [{name: p}]
";

fn workload(version: &str, kind: &str) -> Value {
    let template = json!({
        "metadata": { "labels": { "app": "web" }, "annotations": { "mine": "x" } },
        "spec": {
            "containers": [{
                "name": "app",
                "image": "app:1",
                "env": [{ "name": "Z", "value": "$(A)" }, { "name": "Y", "value": "y" }],
                "ports": [{ "containerPort": 80 }],
                "volumeMounts": [{ "name": "w", "mountPath": "/w" }],
            }],
            "initContainers": [{ "name": "first", "image": "f:1" }],
            "volumes": [{ "name": "w", "emptyDir": {} }],
            "tolerations": [{ "key": "z", "operator": "Exists" }],
            "imagePullSecrets": [{ "name": "q" }],
        },
    });
    let mut spec = json!({ "selector": { "matchLabels": { "app": "web" } }, "template": template });
    if kind == "StatefulSet" {
        spec["serviceName"] = json!("web");
    }
    if kind == "CronJob" {
        let mut template = template;
        template["spec"]["restartPolicy"] = json!("Never");
        spec = json!({ "schedule": "0 0 1 1 *", "jobTemplate": { "spec": { "template": template } } });
    }
    json!({ "apiVersion": version, "kind": kind, "metadata": { "name": "web" }, "spec": spec })
}

#[tokio::test]
async fn an_update_that_leaves_the_manifest_leaves_the_injected_template() {
    let Some(cluster) = Cluster::shared().await else { return };
    let rules = compile([("all.yaml", RULE)]).ok().unwrap();
    let webhook = cluster.serve_rules(rules).await;
    for (version, kind) in [
        ("apps/v1", "Deployment"),
        ("apps/v1", "StatefulSet"),
        ("apps/v1", "DaemonSet"),
        ("apps/v1", "ReplicaSet"),
        ("batch/v1", "CronJob"),
    ] {
        let manifest = workload(version, kind);
        let namespace = cluster.namespace(&[("injection", "enabled")]).await;
        let created = namespace.apply(&manifest, "user").await.object();
        assert!(matches!(webhook.decisions.take()[..], [Decision::Mutated(_)]), "{kind}");
        let assert_same = |how: &str, reply: &Reply| {
            let now = reply.object();
            assert_eq!(now["spec"], created["spec"], "{kind} {how}");
            assert_eq!(now["metadata"]["generation"], created["metadata"]["generation"], "{kind} {how}");
        };
        // The API server replaces the list of tolerations, which belongs to the user, and the injector adds its own again.
        assert_same("applied again", &namespace.apply(&manifest, "user").await);
        webhook.decisions.take();

        assert_same("replaced by what is stored", &namespace.replace(&created).await);
        let patch = json!({ "metadata": { "labels": { "l": "x" } } });
        assert_same("labelled", &namespace.merge(&manifest, &patch).await);
        assert!(webhook.decisions.take_distinct() == [Decision::Allowed], "{kind}");

        assert_same("status", &namespace.merge_subresource(&manifest, "status", &json!({})).await);
        if created["spec"]["replicas"].is_number() {
            let patch = json!({ "spec": { "replicas": 2 } });
            namespace.merge_subresource(&manifest, "scale", &patch).await.object();
            let scaled = namespace.read(&manifest).await.object();
            assert_eq!(scaled["spec"]["template"], created["spec"]["template"], "{kind}");
        }
        assert!(webhook.decisions.take().is_empty(), "{kind}: rules do not change subresources");
        // A user replaces the object by the manifest, without the parts of the rule, and all of them are added again.
        let mut unscaled = namespace.replace(&manifest).await.object();
        if created["spec"]["replicas"].is_number() {
            unscaled["spec"]["replicas"] = created["spec"]["replicas"].clone();
        }
        assert_eq!(unscaled["spec"], created["spec"], "{kind}");
        webhook.decisions.take();
    }
}
