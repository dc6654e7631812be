//! An operator and its webhook in one process: the webhook refuses clusters that the operator cannot handle. Start at [`app`].

mod cluster;
mod operator;
mod webhook;

use k8s_openapi::api::rbac::v1::PolicyRule;
use k8s_openapi::api::storage::v1::StorageClass;
use kube::CustomResourceExt;
use vestibule::FailurePolicy::Fail;
use vestibule::Operation::{Create, Update};
use vestibule::{App, Watch, on};

pub use cluster::{EtcdCluster, EtcdClusterSpec, Storage};

/// The definition, a defaulting hook, a validating hook, and the operator, which starts when the replica is ready.
pub fn app() -> App {
    App::new("etcd-operator")
        .definition(EtcdCluster::crd())
        .watch(Watch::<StorageClass>::new())
        .mutate("default", on::<EtcdCluster>([Create]).failure_policy(Fail), webhook::default)
        .validate("valid", on::<EtcdCluster>([Create, Update]).failure_policy(Fail), webhook::validate)
        .background(operator::run)
        .rights([
            right("etcd.example.dev", "etcdclusters", &["get", "list", "watch"]),
            right("etcd.example.dev", "etcdclusters/finalizers", &["update"]), // for `blockOwnerDeletion`
            right("", "persistentvolumeclaims", &["create", "patch"]),
            right("apps", "statefulsets", &["get", "list", "watch", "create", "patch"]),
        ])
}

fn right(group: &str, resource: &str, verbs: &[&str]) -> PolicyRule {
    let list = |items: &[&str]| items.iter().map(ToString::to_string).collect();
    let (api_groups, resources) = (Some(list(&[group])), Some(list(&[resource])));
    PolicyRule { api_groups, resources, verbs: list(verbs), ..PolicyRule::default() }
}
