//! `reserved-namespaces`: only exempt users may change reserved namespaces and objects in them.

use k8s_openapi::api::apps::v1::Deployment;
use k8s_openapi::api::core::v1::{ConfigMap, Namespace, Pod};
use k8s_openapi::api::rbac::v1::ClusterRoleBinding;
use kube::api::{Api, DeleteParams, EvictParams, Patch, PatchParams};
use reserved_namespaces::Reservation;
use serde_json::json;
use vestibule_test::Cluster;

use crate::cluster::{api, object, refusal};

fn config_map(name: &str) -> ConfigMap {
    object(json!({ "metadata": { "name": name } }))
}

#[tokio::test]
async fn only_the_exempt_touch_reserved_namespaces_and_their_names() {
    let Some(cluster) = Cluster::shared_or_skip().await else { return };
    let (reserved, free) = (cluster.namespace(&[]).await, cluster.namespace(&[]).await);
    let prefix = format!("{reserved}-");
    let installed = cluster
        .install(reserved_namespaces::app(Reservation {
            namespaces: vec![reserved.clone(), format!("{prefix}*")],
            users: vec!["operator".to_owned()],
            groups: vec!["system:masters".to_owned()],
        }))
        .await;
    // RBAC grants all rights to both users.
    let subjects = ["mallory", "operator"].map(|name| json!({ "kind": "User", "name": name }));
    let binding: ClusterRoleBinding = object(json!({
        "metadata": { "name": installed.namespace() },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": "cluster-admin" },
        "subjects": subjects,
    }));
    Api::all(cluster.client()).create(&<_>::default(), &binding).await.unwrap();
    let (mallory, operator) = (cluster.user("mallory"), cluster.user("operator"));
    let config_maps = |client, namespace: &str| Api::<ConfigMap>::namespaced(client, namespace);

    // In the namespace.
    let hers = config_maps(mallory.clone(), &reserved);
    let denied = refusal(hers.create(&<_>::default(), &config_map("a")).await, 403);
    let words = format!("denied the request: namespace {reserved} is reserved, and mallory is not exempt");
    assert!(denied.ends_with(&words), "{denied}");
    config_maps(operator.clone(), &reserved).create(&<_>::default(), &config_map("a")).await.unwrap();
    config_maps(cluster.client(), &reserved).create(&<_>::default(), &config_map("b")).await.unwrap();
    let patch = Patch::Merge(json!({ "data": { "key": "value" } }));
    refusal(hers.patch("a", &<_>::default(), &patch).await, 403);
    refusal(hers.delete("a", &<_>::default()).await, 403);
    refusal(hers.delete_collection(&<_>::default(), &<_>::default()).await, 403);
    hers.get("a").await.unwrap();
    // In another namespace.
    config_maps(mallory.clone(), &free).create(&<_>::default(), &config_map("a")).await.unwrap();

    // Through a subresource.
    let deployment: Deployment = object(json!({
        "metadata": { "name": "web" },
        "spec": {
            "selector": { "matchLabels": { "app": "web" } },
            "template": {
                "metadata": { "labels": { "app": "web" } },
                "spec": { "containers": [{ "name": "web", "image": "example.org/web" }] },
            },
        },
    }));
    api(&cluster, &reserved).create(&<_>::default(), &deployment).await.unwrap();
    let scale = Patch::Merge(json!({ "spec": { "replicas": 0 } }));
    let deployments = Api::<Deployment>::namespaced(mallory.clone(), &reserved);
    refusal(deployments.patch_scale("web", &PatchParams::default(), &scale).await, 403);
    let resources = json!({ "requests": { "cpu": "10m" } });
    let pod = object(json!({
        "metadata": { "name": "web" },
        "spec": { "containers": [{ "name": "web", "image": "example.org/web", "resources": resources }] },
    }));
    api::<Pod>(&cluster, &reserved).create(&<_>::default(), &pod).await.unwrap();
    let pods = Api::<Pod>::namespaced(mallory.clone(), &reserved);
    refusal(pods.evict("web", &EvictParams::default()).await, 403);
    let debug =
        json!({ "spec": { "ephemeralContainers": [{ "name": "debug", "image": "example.org/debug" }] } });
    let debug = Patch::Strategic(debug);
    refusal(pods.patch_ephemeral_containers("web", &PatchParams::default(), &debug).await, 403);
    let resources = json!({ "requests": { "cpu": "20m" } });
    let size =
        Patch::Strategic(json!({ "spec": { "containers": [{ "name": "web", "resources": resources }] } }));
    refusal(pods.patch_resize("web", &PatchParams::default(), &size).await, 403);

    // Namespaces with reserved names. The label selects the hooks of this test.
    let mut labels =
        Api::<Namespace>::all(cluster.client()).get(&free).await.unwrap().metadata.labels.unwrap();
    labels.remove("kubernetes.io/metadata.name");
    let named = |metadata: serde_json::Value| -> Namespace {
        let mut namespace = json!({ "metadata": metadata });
        namespace["metadata"]["labels"] = json!(labels);
        object(namespace)
    };
    let (hers, theirs) = (Api::<Namespace>::all(mallory), Api::<Namespace>::all(operator));
    let one = named(json!({ "name": format!("{prefix}one") }));
    refusal(hers.create(&<_>::default(), &one).await, 403);
    refusal(hers.create(&<_>::default(), &named(json!({ "generateName": prefix }))).await, 403);
    hers.create(&<_>::default(), &named(json!({ "generateName": "free-" }))).await.unwrap();
    theirs.create(&<_>::default(), &one).await.unwrap();
    refusal(hers.delete(&format!("{prefix}one"), &DeleteParams::default()).await, 403);
}
