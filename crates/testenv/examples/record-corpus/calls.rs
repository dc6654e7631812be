//! The calls of the corpus, in the order in which they build on each other.

use hyper::Method;
use serde_json::{Value, json};

use crate::pods;
use crate::record::{Corpus, Failure, call, patch};

const APPLY: &str = "application/apply-patch+yaml";
const MERGE: &str = "application/merge-patch+json";
const STRATEGIC: &str = "application/strategic-merge-patch+json";

pub(crate) async fn make(corpus: &mut Corpus<'_>) -> Result<(), Failure> {
    pods(corpus).await?;
    pod_subresources(corpus).await?;
    deletions(corpus).await?;
    workloads(corpus).await?;
    custom_resources(corpus).await?;
    outside_namespaces(corpus).await?;
    service_accounts(corpus).await?;
    other_versions(corpus).await
}

async fn pods(corpus: &mut Corpus<'_>) -> Result<(), Failure> {
    let pods = "/api/v1/namespaces/corpus/pods";
    let create = |body| call(Method::POST, pods, body);
    corpus.record("pod-create", "a pod with a bit of everything", create(pods::rich("shop"))).await?;
    let mut nameless = pods::rich("");
    nameless["metadata"] = json!({ "generateName": "shop-", "labels": { "app": "web" } });
    corpus
        .record("pod-create-generate-name", "`generateName`: no name yet, anywhere", create(nameless))
        .await?;
    let bare = json!({
        "apiVersion": "v1", "kind": "Pod", "metadata": { "name": "bare" },
        "spec": { "automountServiceAccountToken": false, "containers": [{ "name": "only", "image": "example.dev/only" }] },
    });
    corpus.record("pod-create-bare", "no labels, annotations, volumes or mounts", create(bare)).await?;
    let dry_run = call(Method::POST, "/api/v1/namespaces/corpus/pods?dryRun=All", pods::rich("rehearsal"));
    corpus.record("pod-create-dry-run", "`dryRun: true`", dry_run).await?;

    let applied = "/api/v1/namespaces/corpus/pods/applied?fieldManager=corpus";
    corpus
        .record("pod-create-apply", "made by server-side apply", patch(APPLY, applied, pods::rich("applied")))
        .await?;
    let mut changed = pods::rich("applied");
    changed["metadata"]["labels"]["tier"] = json!("back");
    corpus.record("pod-update-apply", "changed by server-side apply", patch(APPLY, applied, changed)).await?;

    let pod = "/api/v1/namespaces/corpus/pods/shop";
    let annotate =
        json!({ "metadata": { "annotations": { "example.dev/note": null, "example.dev/more": "yes" } } });
    corpus
        .record("pod-update-merge-patch", "a merge patch: the object is whole", patch(MERGE, pod, annotate))
        .await?;
    let image = json!({ "spec": { "containers": [{ "name": "log", "image": "example.dev/log:2" }] } });
    corpus
        .record("pod-update-strategic-patch", "a strategic merge patch", patch(STRATEGIC, pod, image))
        .await?;
    corpus.record("pod-update-nothing", "a patch that changes nothing", patch(MERGE, pod, json!({}))).await
}

async fn pod_subresources(corpus: &mut Corpus<'_>) -> Result<(), Failure> {
    let status =
        json!({ "status": { "phase": "Running", "podIP": "10.0.0.7", "podIPs": [{ "ip": "10.0.0.7" }] } });
    let path = "/api/v1/namespaces/corpus/pods/shop/status";
    corpus.record("pod-status-update", "subresource `status`", patch(STRATEGIC, path, status)).await?;

    let debug =
        json!({ "spec": { "ephemeralContainers": [{ "name": "debug", "image": "example.dev/debug" }] } });
    let path = "/api/v1/namespaces/corpus/pods/shop/ephemeralcontainers";
    corpus
        .record("pod-ephemeral-containers-update", "`kubectl debug`", patch(STRATEGIC, path, debug))
        .await?;

    let binding = json!({
        "apiVersion": "v1", "kind": "Binding", "metadata": { "name": "bare" },
        "target": { "apiVersion": "v1", "kind": "Node", "name": "node-a" },
    });
    let path = "/api/v1/namespaces/corpus/pods/bare/binding";
    corpus.record("pod-binding-create", "what the scheduler does", call(Method::POST, path, binding)).await?;

    let path = "/api/v1/namespaces/corpus/pods/shop/exec?command=id&container=shop&stdout=true";
    let about = "`kubectl exec`: operation CONNECT, an object without metadata";
    corpus.record("pod-exec-connect", about, call(Method::POST, path, Value::Null)).await?;

    let eviction = json!({ "apiVersion": "policy/v1", "kind": "Eviction", "metadata": { "name": "applied", "namespace": "corpus" } });
    let path = "/api/v1/namespaces/corpus/pods/applied/eviction";
    corpus.record("pod-eviction-create", "`kubectl drain`", call(Method::POST, path, eviction)).await
}

async fn deletions(corpus: &mut Corpus<'_>) -> Result<(), Failure> {
    let path = "/api/v1/namespaces/corpus/pods/shop?gracePeriodSeconds=0";
    corpus
        .record(
            "pod-delete",
            "by force: the second of two reviews, the pod is terminating already",
            call(Method::DELETE, path, Value::Null),
        )
        .await?;
    let map = json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": "old", "labels": { "gone": "soon" } } });
    corpus.prepare(call(Method::POST, "/api/v1/namespaces/corpus/configmaps", map)).await?;
    let path = "/api/v1/namespaces/corpus/configmaps?labelSelector=gone%3Dsoon";
    let about = "`deletecollection`: one review for each object";
    corpus.record("configmap-delete-collection", about, call(Method::DELETE, path, Value::Null)).await
}

async fn workloads(corpus: &mut Corpus<'_>) -> Result<(), Failure> {
    let always =
        json!({ "selector": { "matchLabels": { "app": "web" } }, "template": pods::template("Always") });
    let object = |api_version: &str, kind: &str, spec: &Value| json!({ "apiVersion": api_version, "kind": kind, "metadata": { "name": "web" }, "spec": spec });
    let deployments = "/apis/apps/v1/namespaces/corpus/deployments";
    let deployment = object("apps/v1", "Deployment", &always);
    corpus.record("deployment-create", "a pod template", call(Method::POST, deployments, deployment)).await?;
    let path = "/apis/apps/v1/namespaces/corpus/deployments/web";
    let restart = json!({ "spec": { "template": { "metadata": { "annotations": {
        "kubectl.kubernetes.io/restartedAt": "2026-01-01T00:00:00Z",
    } } } } });
    corpus.record("deployment-update", "`kubectl rollout restart`", patch(STRATEGIC, path, restart)).await?;
    let path = "/apis/apps/v1/namespaces/corpus/deployments/web/scale";
    let scale = json!({ "spec": { "replicas": 3 } });
    corpus
        .record("deployment-scale-update", "subresource `scale`: kind Scale", patch(MERGE, path, scale))
        .await?;
    let path = "/apis/apps/v1/namespaces/corpus/deployments/web/status";
    let status = json!({ "status": { "replicas": 3 } });
    corpus.record("deployment-status-update", "subresource `status`", patch(MERGE, path, status)).await?;

    let once = json!({ "template": pods::template("Never") });
    let daily =
        json!({ "schedule": "0 4 * * *", "timeZone": "Europe/Zurich", "jobTemplate": { "spec": once } });
    let mut named = always.clone();
    named["serviceName"] = json!("web");
    for (name, path, object) in [
        (
            "stateful-set",
            "/apis/apps/v1/namespaces/corpus/statefulsets",
            object("apps/v1", "StatefulSet", &named),
        ),
        ("daemon-set", "/apis/apps/v1/namespaces/corpus/daemonsets", object("apps/v1", "DaemonSet", &always)),
        ("job", "/apis/batch/v1/namespaces/corpus/jobs", object("batch/v1", "Job", &once)),
        ("cron-job", "/apis/batch/v1/namespaces/corpus/cronjobs", object("batch/v1", "CronJob", &daily)),
    ] {
        corpus.record(&format!("{name}-create"), "a pod template", call(Method::POST, path, object)).await?;
    }
    Ok(())
}

async fn custom_resources(corpus: &mut Corpus<'_>) -> Result<(), Failure> {
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": "pods.corpus.example.dev" },
        "spec": {
            "group": "corpus.example.dev",
            "scope": "Namespaced",
            "names": { "plural": "pods", "kind": "Pod" },
            "versions": [{
                "name": "v1", "served": true, "storage": true,
                "subresources": {
                    "status": {},
                    "scale": { "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas" },
                },
                "schema": { "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } },
            }],
        },
    });
    let path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
    corpus
        .record(
            "custom-resource-definition-create",
            "no namespace",
            call(Method::POST, path, definition.clone()),
        )
        .await?;
    corpus.wait_until_served(definition).await?;

    let path = "/apis/corpus.example.dev/v1/namespaces/corpus/pods";
    let about = "shaped like a pod, with members at every depth that no type knows";
    corpus
        .record("custom-resource-create", about, call(Method::POST, path, pods::with_unknown_members()))
        .await?;
    let path = "/apis/corpus.example.dev/v1/namespaces/corpus/pods/from-tomorrow";
    let change = json!({ "spec": { "gravity": 1.62, "replicas": 1 } });
    corpus.record("custom-resource-update", "a merge patch", patch(MERGE, path, change)).await?;
    let path = "/apis/corpus.example.dev/v1/namespaces/corpus/pods/from-tomorrow/status";
    let status = json!({ "status": { "replicas": 1 } });
    corpus
        .record("custom-resource-status-update", "subresource `status`", patch(MERGE, path, status))
        .await?;
    let path = "/apis/corpus.example.dev/v1/namespaces/corpus/pods/from-tomorrow/scale";
    let scale = json!({ "spec": { "replicas": 2 } });
    corpus.record("custom-resource-scale-update", "subresource `scale`", patch(MERGE, path, scale)).await?;
    let path = "/apis/corpus.example.dev/v1/namespaces/corpus/pods/from-tomorrow";
    corpus
        .record("custom-resource-delete", "only the old object", call(Method::DELETE, path, Value::Null))
        .await
}

async fn outside_namespaces(corpus: &mut Corpus<'_>) -> Result<(), Failure> {
    // The selector of the hook is matched against the submitted labels.
    let namespace = json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": {
        "name": "corpus", "labels": { "sidecar-injector": "enabled" },
    } });
    let path = "/api/v1/namespaces/corpus";
    let about = "a namespace names itself as its namespace";
    corpus.record("namespace-update", about, patch(MERGE, path, namespace)).await?;
    let role = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRole", "metadata": { "name": "reader" },
        "rules": [{ "apiGroups": [""], "resources": ["pods"], "verbs": ["get"] }],
    });
    let path = "/apis/rbac.authorization.k8s.io/v1/clusterroles";
    corpus.record("cluster-role-create", "cluster-scoped: no namespace", call(Method::POST, path, role)).await
}

async fn service_accounts(corpus: &mut Corpus<'_>) -> Result<(), Failure> {
    let request = json!({ "apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": { "audiences": ["vault"] } });
    let path = "/api/v1/namespaces/corpus/serviceaccounts/default/token";
    corpus
        .record("service-account-token-create", "kind TokenRequest", call(Method::POST, path, request))
        .await?;

    let binding = json!({
        "apiVersion": "rbac.authorization.k8s.io/v1", "kind": "ClusterRoleBinding", "metadata": { "name": "corpus" },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin" },
        "subjects": [{ "kind": "ServiceAccount", "name": "controller", "namespace": "corpus" }],
    });
    let path = "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings";
    corpus.prepare(call(Method::POST, path, binding)).await?;
    corpus.become_service_account("controller").await?;
    let mut pod = pods::rich("");
    pod["metadata"] = json!({
        "generateName": "web-6d4b75cb6d-",
        "labels": { "app": "web", "pod-template-hash": "6d4b75cb6d" },
        "ownerReferences": [{
            "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-6d4b75cb6d", "controller": true,
            "uid": "11111111-2222-4333-8444-555555555555",
        }],
    });
    let path = "/api/v1/namespaces/corpus/pods";
    let about = "as a controller makes them: a ServiceAccount, an owner";
    corpus.record("pod-create-by-controller", about, call(Method::POST, path, pod)).await?;
    corpus.become_admin()
}

async fn other_versions(corpus: &mut Corpus<'_>) -> Result<(), Failure> {
    let secret = json!({ "apiVersion": "v1", "kind": "Secret", "metadata": { "name": "older" }, "stringData": { "key": "value" } });
    let path = "/api/v1/namespaces/corpus/secrets";
    let about = "`admission.k8s.io/v1beta1`";
    corpus.record_from("/older", "secret-create-v1beta1", about, call(Method::POST, path, secret)).await?;
    let scaler = json!({
        "apiVersion": "autoscaling/v1", "kind": "HorizontalPodAutoscaler", "metadata": { "name": "web" },
        "spec": {
            "scaleTargetRef": { "apiVersion": "apps/v1", "kind": "Deployment", "name": "web" },
            "maxReplicas": 5, "targetCPUUtilizationPercentage": 80,
        },
    });
    let path = "/apis/autoscaling/v1/namespaces/corpus/horizontalpodautoscalers";
    let about = "sent as v1, a rule for v2: `kind` and `requestKind` differ";
    corpus.record_from("/converted", "scaler-create-converted", about, call(Method::POST, path, scaler)).await
}
