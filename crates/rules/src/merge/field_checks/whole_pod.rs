//! Checks of fields of the pod as a whole.

use std::collections::HashSet;

use vestibule_patch::View;

use super::pod::{Pod, flag, is_text, items};
use super::{FieldCheck, OVERRIDING_PORTS};
use crate::diagnostic::printable_short;
use crate::merge::contains::present;
use crate::subject::string_member;

pub(super) static CHECKS: &[FieldCheck] = &[
    FieldCheck::of_pod(&["nodeName", "schedulingGates"], scheduling_gates),
    FieldCheck::of_pod(&["hostPID", "shareProcessNamespace"], process_namespace),
    FieldCheck::of_pod(&["hostIPC", "hostNetwork", "hostPID", "hostUsers"], user_namespace),
    FieldCheck::of_pod(&["hostNetwork", "hostnameOverride", "setHostnameAsFQDN"], hostname),
    FieldCheck::of_pod(&["hostIPC", "hostNetwork", "securityContext"], sysctls),
    FieldCheck::of_pod(&["hostNetwork"], shared_host_ports).with_container(&[OVERRIDING_PORTS]),
    FieldCheck::of_pod(&["dnsConfig", "dnsPolicy"], name_servers),
    FieldCheck::of_pod(&["activeDeadlineSeconds", "restartPolicy"], completion),
    FieldCheck::of_pod(&["topologySpreadConstraints"], selected_label_keys),
];

fn scheduling_gates(pod: &Pod<'_>) -> Option<String> {
    let has_node = string_member(pod.spec, "nodeName").is_some_and(|name| !name.is_empty());
    (has_node && items(pod.spec, "schedulingGates").next().is_some())
        .then(|| "a pod with a `nodeName` cannot have `schedulingGates`".to_owned())
}

fn process_namespace(pod: &Pod<'_>) -> Option<String> {
    (pod.is("hostPID") && pod.is("shareProcessNamespace"))
        .then(|| exclude("hostPID", "shareProcessNamespace"))
}

/// Kubernetes 1.36 accepts `hostNetwork` under a feature gate that is off by default.
fn user_namespace(pod: &Pod<'_>) -> Option<String> {
    let of_node = ["hostIPC", "hostNetwork", "hostPID"].into_iter().find(|name| pod.is(name))?;
    (flag(pod.spec, "hostUsers") == Some(false))
        .then(|| format!("`hostUsers: false` and `{of_node}: true` exclude each other"))
}

fn hostname(pod: &Pod<'_>) -> Option<String> {
    present(pod.spec, "hostnameOverride")?;
    let other = ["hostNetwork", "setHostnameAsFQDN"].into_iter().find(|name| pod.is(name))?;
    Some(exclude("hostnameOverride", other))
}

/// Other sysctls that begin with `kernel.` belong to no namespace.
const SYSCTLS_OF_IPC: &[&str] = &[
    "kernel.msgmax",
    "kernel.msgmnb",
    "kernel.msgmni",
    "kernel.sem",
    "kernel.shm_rmid_forced",
    "kernel.shmall",
    "kernel.shmmax",
    "kernel.shmmni",
];

fn sysctls(pod: &Pod<'_>) -> Option<String> {
    let security = present(pod.spec, "securityContext")?;
    let of_node = |sysctl: View<'_>| {
        // The API server takes both separators.
        let name = string_member(sysctl, "name")?.replace('/', ".");
        let field = if name.starts_with("net.") {
            "hostNetwork"
        } else if name.starts_with("fs.mqueue.") || SYSCTLS_OF_IPC.contains(&&*name) {
            "hostIPC"
        } else {
            return None;
        };
        pod.is(field)
            .then(|| format!("a pod with `{field}: true` cannot set the sysctl of that part of the node"))
    };
    items(security, "sysctls").find_map(of_node)
}

fn shared_host_ports(pod: &Pod<'_>) -> Option<String> {
    // In the network of the node, each port is one of the node.
    let number = if pod.is("hostNetwork") { "containerPort" } else { "hostPort" };
    let mut seen = HashSet::new();
    let ports = items(pod.spec, "containers").flat_map(|container| items(container, "ports"));
    let mut identities = ports.filter_map(|port| {
        let number = present(port, number)?.as_i64().filter(|number| *number != 0)?;
        let protocol = string_member(port, "protocol").unwrap_or("TCP".into());
        Some((number, protocol, string_member(port, "hostIP").unwrap_or_default()))
    });
    let (number, protocol, _) = identities.find(|identity| !seen.insert(identity.clone()))?;
    Some(format!("two ports of containers would be port {number}/{} of the node", printable_short(&protocol)))
}

fn name_servers(pod: &Pod<'_>) -> Option<String> {
    let config = present(pod.spec, "dnsConfig");
    let has_servers = config.is_some_and(|config| items(config, "nameservers").next().is_some());
    (is_text(pod.spec, "dnsPolicy", "None") && !has_servers)
        .then(|| "`dnsPolicy: None` needs `nameservers` in `dnsConfig`".to_owned())
}

fn completion(pod: &Pod<'_>) -> Option<String> {
    let restarts = string_member(pod.spec, "restartPolicy").is_none_or(|policy| policy == "Always");
    match pod.completes? {
        true => restarts.then(|| "the pods of a Job cannot have `restartPolicy: Always`".to_owned()),
        false if !restarts => Some("the pods of the workload need `restartPolicy: Always`".to_owned()),
        false => present(pod.spec, "activeDeadlineSeconds")
            .map(|_| "the pods of the workload cannot have `activeDeadlineSeconds`".to_owned()),
    }
}

/// The API server adds the pod's value of each of `matchLabelKeys` to the selector, and refuses a second requirement of the key.
fn selected_label_keys(pod: &Pod<'_>) -> Option<String> {
    let labels = pod.metadata.and_then(|metadata| present(metadata, "labels"));
    items(pod.spec, "topologySpreadConstraints").find_map(|constraint| {
        let mut keys = items(constraint, "matchLabelKeys").filter_map(View::as_str).peekable();
        keys.peek()?;
        let Some(selector) = present(constraint, "labelSelector") else {
            return Some(
                "a topology spread constraint with `matchLabelKeys` needs a `labelSelector`".to_owned(),
            );
        };
        let labels = labels?;
        let expressions: HashSet<_> = items(selector, "matchExpressions")
            .filter_map(|expression| string_member(expression, "key"))
            .collect();
        let is_selected = |key: &str| {
            let is_matched = || present(selector, "matchLabels").and_then(|all| present(all, key));
            expressions.contains(key) || is_matched().is_some()
        };
        let key = keys.find(|key| present(labels, key).is_some() && is_selected(key))?;
        let shown = printable_short(&key);
        Some(format!("a topology spread constraint has `{shown}` in `labelSelector` and in `matchLabelKeys`"))
    })
}

fn exclude(one: &str, other: &str) -> String {
    format!("`{one}` and `{other}` exclude each other")
}
