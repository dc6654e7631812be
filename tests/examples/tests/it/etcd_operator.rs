//! `etcd-operator`: installed by its own manifests, it reconciles clusters that its webhook accepted.

use std::time::Duration;

use etcd_operator::EtcdCluster;
use k8s_openapi::api::apps::v1::StatefulSet;
use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use k8s_openapi::api::storage::v1::StorageClass;
use kube::api::{Api, DeleteParams, Patch, PostParams};
use kube::runtime::wait::await_condition;
use quantity::Amount;
use serde_json::json;
use vestibule_test::Cluster;

use crate::cluster::{object, refusal};

/// Waits longer than the operator's retry interval.
async fn wait<T, E: std::fmt::Debug>(for_it: impl Future<Output = Result<T, E>>) {
    tokio::time::timeout(Duration::from_secs(60), for_it).await.expect("the operator acts").unwrap();
}

#[tokio::test]
async fn clusters_are_defaulted_validated_and_created() {
    let Some(cluster) = Cluster::shared_or_skip().await else { return };
    let installed = cluster.install(etcd_operator::app()).await;
    let namespace = cluster.namespace(&[]).await;
    let clusters: Api<EtcdCluster> = Api::namespaced(cluster.client(), &namespace);
    let sets: Api<StatefulSet> = Api::namespaced(cluster.client(), &namespace);
    let class = installed.name();
    let default: StorageClass = object(json!({
        "metadata": { "name": class, "annotations": { "storageclass.kubernetes.io/is-default-class": "true" } },
        "provisioner": "example.dev/disk", "allowVolumeExpansion": true,
    }));
    let classes: Api<StorageClass> = Api::all(cluster.client());
    classes.create(&PostParams::default(), &default).await.unwrap();
    let store = |storage| -> EtcdCluster {
        object(json!({
            "apiVersion": "etcd.example.dev/v1", "kind": "EtcdCluster",
            "metadata": { "name": "store" }, "spec": { "version": "3.6.4", "storage": storage },
        }))
    };

    let wrong = store(json!({ "size": "1Gi", "className": "no-such-class" }));
    refusal(clusters.create(&PostParams::default(), &wrong).await, 422);
    // The default of members is in the schema, the class comes from the webhook.
    let created = clusters.create(&PostParams::default(), &store(json!({ "size": "1Gi" }))).await.unwrap();
    assert_eq!(created.spec.members, 3);
    assert_eq!(created.spec.storage.class_name.as_deref(), Some(class));

    let of_size = |members: i32| {
        move |set: Option<&StatefulSet>| {
            set.is_some_and(|set| set.spec.as_ref().is_some_and(|spec| spec.replicas == Some(members)))
        }
    };
    wait(await_condition(sets.clone(), "store", of_size(3))).await;
    let set = sets.get("store").await.unwrap();
    assert_eq!(set.metadata.owner_references.unwrap()[0].uid, created.metadata.uid.unwrap());
    let claim = &set.spec.unwrap().volume_claim_templates.unwrap()[0];
    assert_eq!(claim.spec.as_ref().unwrap().storage_class_name.as_deref(), Some(class));

    let change =
        async |spec| clusters.patch("store", &<_>::default(), &Patch::Merge(json!({ "spec": spec }))).await;
    refusal(change(json!({ "members": 4 })).await, 422);
    refusal(change(json!({ "members": 9 })).await, 422);
    refusal(change(json!({ "storage": { "size": "1000Mi" } })).await, 422);
    refusal(change(json!({ "storage": { "className": "other" } })).await, 422);
    // Claims can grow once they are bound, and nothing binds them here.
    let claims: Api<PersistentVolumeClaim> = Api::namespaced(cluster.client(), &namespace);
    for member in 0..3 {
        let bound = Patch::Merge(json!({ "status": { "phase": "Bound" } }));
        claims.patch_status(&format!("data-store-{member}"), &<_>::default(), &bound).await.unwrap();
    }
    change(json!({ "members": 5, "storage": { "size": "1.5Gi" } })).await.unwrap();
    wait(await_condition(sets, "store", of_size(5))).await;
    let grown = claims.get("data-store-0").await.unwrap().spec.unwrap().resources.unwrap().requests.unwrap();
    assert_eq!(Amount::try_from(&grown["storage"]), "1536Mi".parse());
    classes.delete(class, &DeleteParams::default()).await.unwrap();
}
