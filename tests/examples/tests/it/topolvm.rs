//! `topolvm`: the first container of a pod requests the storage of the pod's claims.

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use k8s_openapi::api::storage::v1::StorageClass;
use kube::Api;
use serde_json::json;
use topolvm::CAPACITY;
use vestibule_test::Cluster;

use crate::cluster::{api, object};

fn pod(name: &str, claim: &str) -> Pod {
    object(json!({
        "metadata": { "name": name },
        "spec": {
            "containers": [{ "name": "ubuntu", "image": "ubuntu" }],
            "volumes": [{ "name": "data", "persistentVolumeClaim": { "claimName": claim } }],
        },
    }))
}

#[tokio::test]
async fn a_claim_of_one_gibibyte_is_a_request_and_a_limit_of_as_many_bytes() {
    let Some(cluster) = Cluster::shared_or_skip().await else { return };
    let _installed = cluster.install(topolvm::app()).await;
    let namespace = cluster.namespace(&[]).await;
    let (claims, pods) =
        (api::<PersistentVolumeClaim>(&cluster, &namespace), api::<Pod>(&cluster, &namespace));
    let class = format!("{namespace}-provisioner");
    let ours: StorageClass =
        object(json!({ "metadata": { "name": class }, "provisioner": "topolvm.cybozu.com" }));
    Api::all(cluster.client()).create(&<_>::default(), &ours).await.unwrap();

    // Each object is created just before the lookup, so the watch may not have it yet.
    for name in ["pvc1", "pvc2", "pvc3"] {
        let claim = object(json!({
            "metadata": { "name": name },
            "spec": {
                "storageClassName": class, "accessModes": ["ReadWriteOnce"],
                "resources": { "requests": { "storage": "1Gi" } },
            },
        }));
        claims.create(&<_>::default(), &claim).await.unwrap();
        let made = pods.create(&<_>::default(), &pod(name, name)).await.unwrap();
        let resources = made.spec.unwrap().containers.remove(0).resources.unwrap();
        for asked in [resources.requests, resources.limits] {
            let asked = &asked.unwrap()[CAPACITY].0;
            // The API server may write quantities in another notation.
            assert_eq!(asked.parse::<quantity::Amount>().unwrap().whole(), 1 << 30, "{asked}");
        }
    }
    let other = pods.create(&<_>::default(), &pod("other", "no-such-claim")).await.unwrap();
    let resources = other.spec.unwrap().containers.remove(0).resources.unwrap_or_default();
    assert!(resources.requests.is_none() && resources.limits.is_none());
}
