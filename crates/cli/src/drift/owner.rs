//! The workload that a pod belongs to, and how it is restarted.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use vestibule::tooling::is_dns_subdomain;

/// The workload that makes a pod, or the pod itself. The creator of a pod names its owner, and the API server does not check the kind,
/// the version and the name: they may be any text.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Owner {
    pub(super) namespace: String,
    pub(super) api_version: String,
    pub(super) kind: String,
    pub(super) name: String,
}

/// How the pods of a workload are made again.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Restart {
    Command(String),
    /// There is no command that is right for every such workload.
    Advice(&'static str),
}

impl Owner {
    /// The controller of a pod; the Deployment of a ReplicaSet that one made; the pod itself without a controller.
    pub(super) fn of(pod: &ObjectMeta) -> Self {
        let namespace = pod.namespace.clone().unwrap_or_default();
        let owners = pod.owner_references.as_deref().unwrap_or_default();
        let Some(owner) = owners.iter().find(|owner| owner.controller == Some(true)) else {
            let name = pod.name.clone().unwrap_or_default();
            return Self { namespace, api_version: "v1".to_owned(), kind: "Pod".to_owned(), name };
        };
        let (api_version, kind) = (owner.api_version.clone(), owner.kind.clone());
        // A Deployment appends the hash of the template to its name.
        let hash = pod.labels.as_ref().and_then(|labels| labels.get("pod-template-hash"));
        let deployment = hash
            .filter(|hash| kind == "ReplicaSet" && api_version.starts_with("apps/") && !hash.is_empty())
            .and_then(|hash| owner.name.strip_suffix(hash.as_str())?.strip_suffix('-'));
        match deployment {
            Some(name) if !name.is_empty() => {
                Self { namespace, api_version, kind: "Deployment".to_owned(), name: name.to_owned() }
            }
            _ => Self { namespace, api_version, kind, name: owner.name.clone() },
        }
    }

    /// A command has only names without a character that a shell reads otherwise.
    pub(super) fn restart(&self) -> Restart {
        let Self { namespace, api_version, name, .. } = self;
        match (api_version.split_once('/').map_or("", |(group, _)| group), &*self.kind) {
            ("apps", kind @ ("Deployment" | "StatefulSet" | "DaemonSet"))
                if api_version == "apps/v1" && is_dns_subdomain(name) =>
            {
                let kind = kind.to_lowercase();
                Restart::Command(format!("kubectl rollout restart {kind}/{name} -n {namespace}"))
            }
            ("", "Pod") => {
                Restart::Advice("make the pod again from its manifest: nothing else makes it again")
            }
            ("batch", "Job") => Restart::Advice(
                "make the Job again; the next Job of a CronJob gets the rules without a restart",
            ),
            ("apps", "ReplicaSet") | ("", "ReplicationController") => {
                Restart::Advice("delete its pods: the controller makes new ones")
            }
            _ => Restart::Advice("restart it in the way of its controller"),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn pod(json: &str) -> ObjectMeta {
        serde_json::from_str(json).unwrap()
    }

    fn controlled(api_version: &str, kind: &str, name: &str) -> ObjectMeta {
        let owner = format!(
            r#"{{"apiVersion":"{api_version}","kind":"{kind}","name":"{name}","uid":"u","controller":true}}"#
        );
        pod(&format!(
            r#"{{"name":"p","namespace":"shop","labels":{{"pod-template-hash":"5d8"}},"ownerReferences":[{owner}]}}"#
        ))
    }

    #[test]
    fn a_pod_is_restarted_by_its_workload() {
        for (api_version, kind, name, restart) in [
            ("apps/v1", "ReplicaSet", "web-5d8", "deployment/web"),
            ("apps/v1", "StatefulSet", "db-5d8", "statefulset/db-5d8"),
            ("apps/v1", "DaemonSet", "log", "daemonset/log"),
        ] {
            let command = format!("kubectl rollout restart {restart} -n shop");
            let owner = Owner::of(&controlled(api_version, kind, name));
            assert_eq!(owner.restart(), Restart::Command(command), "{kind}");
        }
    }

    #[test]
    fn an_owner_without_a_restart_command_has_advice() {
        for (metadata, kind, words) in [
            (pod(r#"{"name":"p","namespace":"shop"}"#), "Pod", "make the pod again"),
            (controlled("batch/v1", "Job", "backup"), "Job", "make the Job again"),
            // Not of a Deployment: another hash.
            (controlled("apps/v1", "ReplicaSet", "web-77c"), "ReplicaSet", "delete its pods"),
            (controlled("v1", "ReplicationController", "old"), "ReplicationController", "delete its pods"),
            (controlled("argoproj.io/v1alpha1", "Deployment", "a"), "Deployment", "in the way of"),
            // Not names of objects: the creator of the pod wrote them.
            (controlled("apps/v1", "StatefulSet", "x; id"), "StatefulSet", "in the way of"),
            (controlled("apps/v1", "ReplicaSet", "$(id)-5d8"), "Deployment", "in the way of"),
            (controlled("apps/v1", "DaemonSet", "--kubeconfig=a"), "DaemonSet", "in the way of"),
            (controlled("apps/v1;id", "DaemonSet", "log"), "DaemonSet", "in the way of"),
        ] {
            let owner = Owner::of(&metadata);
            assert_eq!(owner.kind, kind);
            let Restart::Advice(advice) = owner.restart() else { panic!("{kind} has a command") };
            assert!(advice.contains(words), "{kind}: {advice}");
        }
    }
}
