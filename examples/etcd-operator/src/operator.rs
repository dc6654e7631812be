use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use k8s_openapi::apimachinery::pkg::api::resource::Quantity;
use kube::api::{Patch, PatchParams};
use kube::runtime::{controller::Action, controller::Controller, watcher};
use kube::{Api, Client, Resource, ResourceExt};
use serde_json::{Value, json};

use crate::cluster::{EtcdCluster, EtcdClusterSpec, Storage};

/// Reconciles a StatefulSet for every cluster. All replicas of the operator write the same, so they need no leader.
pub(crate) async fn run(client: Client) {
    let clusters = Api::<EtcdCluster>::all(client.clone());
    Controller::new(clusters, watcher::Config::default())
        .owns(Api::<StatefulSet>::all(client.clone()), watcher::Config::default())
        .run(reconcile, |_, _, _| Action::requeue(Duration::from_secs(5)), Arc::new(client))
        .for_each(async |outcome| {
            _ = outcome.inspect_err(|error| tracing::warn!(%error, "tried again in 5 s"));
        })
        .await;
}

async fn reconcile(cluster: Arc<EtcdCluster>, client: Arc<Client>) -> Result<Action, kube::Error> {
    let (namespace, name) = (cluster.namespace().unwrap_or_default(), cluster.name_any());
    let by = PatchParams::apply("etcd-operator").force();
    let claims = Api::<PersistentVolumeClaim>::namespaced((*client).clone(), &namespace);
    // Claims have the names that the set gives them. Its claim template is immutable, so growth is written to the claims.
    for member in 0..cluster.spec.members {
        let (name, storage) = (format!("data-{name}-{member}"), &cluster.spec.storage);
        claims.patch(&name, &by, &Patch::Apply(claim(&name, storage, &storage.size))).await?;
    }
    let sets = Api::<StatefulSet>::namespaced((*client).clone(), &namespace);
    sets.patch(&name, &by, &Patch::Apply(stateful_set(&cluster))).await?;
    Ok(Action::await_change())
}

fn claim(name: &str, storage: &Storage, size: &Quantity) -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": { "name": name },
        "spec": {
            "accessModes": ["ReadWriteOnce"], "storageClassName": storage.class_name,
            "resources": { "requests": { "storage": size } },
        },
    })
}

fn stateful_set(cluster: &EtcdCluster) -> Value {
    let (name, EtcdClusterSpec { members, version, storage }) = (cluster.name_any(), &cluster.spec);
    let labels = json!({ "app.kubernetes.io/name": "etcd", "app.kubernetes.io/instance": name });
    let container = json!({
        "name": "etcd",
        "image": format!("registry.k8s.io/etcd:{version}-0"),
        "args": ["--data-dir=/data"],
        "volumeMounts": [{ "name": "data", "mountPath": "/data" }],
    });
    json!({
        "apiVersion": "apps/v1",
        "kind": "StatefulSet",
        "metadata": { "name": name, "ownerReferences": [cluster.controller_owner_ref(&())] },
        "spec": {
            "replicas": members,
            "serviceName": name,
            "selector": { "matchLabels": labels },
            "template": { "metadata": { "labels": labels }, "spec": { "containers": [container] } },
            "volumeClaimTemplates": [claim("data", storage, &Quantity("1Gi".to_owned()))],
        },
    })
}
