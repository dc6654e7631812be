//! The objects that decide which connections reach the pods, and which the pods may open.

use serde_json::{Value, json};

use super::workload::Pods;
use vestibule::Target;

/// Service, NetworkPolicy and PodDisruptionBudget.
pub(super) fn objects(pods: &Pods<'_>) -> Vec<Value> {
    let installation = pods.installation;
    let Target::Service { name, port, .. } = &installation.target else { return Vec::new() };
    let mut objects = vec![json!({
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": pods.namespace},
        "spec": {
            "selector": pods.labels(),
            "ports": [{"name": "https", "port": port, "targetPort": "https", "protocol": "TCP"}],
        },
    })];
    // A policy selects pods by their addresses; a pod on the host's network has the address of its node.
    if !installation.host_network {
        objects.push(policy(pods));
    }
    objects.push(json!({
        "apiVersion": "policy/v1",
        "kind": "PodDisruptionBudget",
        "metadata": {"name": installation.name, "namespace": pods.namespace},
        "spec": {
            "maxUnavailable": 1,
            "selector": {"matchLabels": pods.labels()},
            // A pod that is not ready answers no calls, and must not hold up the drain of a node.
            "unhealthyPodEvictionPolicy": "AlwaysAllow",
        },
    }));
    objects
}

fn policy(pods: &Pods<'_>) -> Value {
    let installation = pods.installation;
    let tcp = |port: u16| json!({"port": port, "protocol": "TCP"});
    // A policy sees packets after the Service has translated them: the pod's port counts.
    let mut calls = json!({"ports": [tcp(installation.pod_port())]});
    if !installation.api_server_cidrs.is_empty() {
        let blocks = installation.api_server_cidrs.iter().map(|cidr| json!({"ipBlock": {"cidr": cidr}}));
        calls["from"] = blocks.collect();
    }
    // The kubelet's probes come from the pod's own node, which a policy always admits.
    let metrics = json!({
        "from": [{"namespaceSelector": {}}],
        "ports": [tcp(installation.pod_plain_port())],
    });
    let egress = match pods.speak_to_the_cluster() {
        true => json!([
            {"ports": [tcp(53), {"port": 53, "protocol": "UDP"}]},
            {"ports": installation.api_server_ports.iter().copied().map(tcp).collect::<Vec<_>>()},
        ]),
        false => json!([]),
    };
    json!({
        "apiVersion": "networking.k8s.io/v1",
        "kind": "NetworkPolicy",
        "metadata": {"name": installation.name, "namespace": pods.namespace},
        "spec": {
            "podSelector": {"matchLabels": pods.labels()},
            "policyTypes": ["Ingress", "Egress"],
            "ingress": [calls, metrics],
            "egress": egress,
        },
    })
}
