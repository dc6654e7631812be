//! The pods of the corpus.

use serde_json::{Value, json};

/// A pod with many of the fields that injectors read or change.
pub(crate) fn rich(name: &str) -> Value {
    json!({
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "name": name,
            "namespace": "corpus",
            "labels": { "app.kubernetes.io/name": "shop", "tier": "front" },
            "annotations": {
                "sidecar-injector-webhook.morven.me/inject": "true",
                "example.dev/note": "<b>\"quoted\" & escaped</b> ~ / \u{fc}",
            },
        },
        "spec": {
            "initContainers": [
                { "name": "migrate", "image": "example.dev/migrate:1", "command": ["migrate", "--up"] },
                { "name": "proxy", "image": "example.dev/proxy:2", "restartPolicy": "Always" },
            ],
            "containers": [
                {
                    "name": "shop",
                    "image": "example.dev/shop:1.4.2",
                    "args": ["--listen", ":8080"],
                    "env": [
                        { "name": "TARGET", "value": "world" },
                        { "name": "GREETING", "value": "hello $(TARGET)" },
                        { "name": "NODE", "valueFrom": { "fieldRef": { "fieldPath": "spec.nodeName" } } },
                    ],
                    "ports": [
                        { "name": "http", "containerPort": 8080 },
                        { "name": "dns", "containerPort": 53, "protocol": "UDP" },
                        { "name": "dns-tcp", "containerPort": 53, "protocol": "TCP" },
                    ],
                    "readinessProbe": { "httpGet": { "path": "/ready", "port": "http" } },
                    "resources": { "requests": { "cpu": "100m", "memory": "64Mi" }, "limits": { "memory": "128Mi" } },
                    "volumeMounts": [{ "name": "config", "mountPath": "/etc/shop", "readOnly": true }],
                    "securityContext": { "runAsNonRoot": true, "capabilities": { "drop": ["ALL"] } },
                },
                { "name": "log", "image": "example.dev/log", "envFrom": [{ "configMapRef": { "name": "log" } }] },
            ],
            "volumes": [
                { "name": "config", "configMap": { "name": "shop", "optional": true } },
                { "name": "scratch", "emptyDir": {} },
            ],
            "nodeSelector": { "kubernetes.io/os": "linux" },
            "tolerations": [{ "key": "dedicated", "operator": "Equal", "value": "shop", "effect": "NoSchedule" }],
            "topologySpreadConstraints": [{
                "maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "ScheduleAnyway",
                "labelSelector": { "matchLabels": { "tier": "front" } },
            }],
        },
    })
}

/// A pod template for any workload.
pub(crate) fn template(restart_policy: &str) -> Value {
    json!({
        "metadata": { "labels": { "app": "web" } },
        "spec": {
            "restartPolicy": restart_policy,
            "containers": [{ "name": "web", "image": "hashicorp/http-echo", "args": ["-text=hello"] }],
        },
    })
}

/// A custom resource that looks like a pod, with members that no version of the type has. It is a custom
/// resource because the API server drops unknown members of built-in kinds.
pub(crate) fn with_unknown_members() -> Value {
    json!({
        "apiVersion": "corpus.example.dev/v1",
        "kind": "Pod",
        "metadata": { "name": "from-tomorrow", "namespace": "corpus", "labels": { "app": "web" } },
        "spec": {
            "gravity": 9.81,
            "containers": [
                {
                    "name": "web",
                    "image": "example.dev/web",
                    "mood": { "level": 9_007_199_254_740_993_i64, "notes": ["calm", null, {}, []] },
                    "env": [{ "name": "TARGET", "value": "world", "origin": "tomorrow" }],
                    "ports": [{ "containerPort": 8080, "lane": 2.5 }],
                },
                { "name": "log", "image": "example.dev/log", "largest": i64::MAX },
            ],
            "volumes": [{ "name": "box", "teleport": { "to": "node-b", "smallest": i64::MIN } }],
        },
        "weather": { "wind": 1.5e-9, "rain": false },
    })
}
