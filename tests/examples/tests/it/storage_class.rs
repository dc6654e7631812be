//! `storage-class`: the label of a namespace is the default class of its claims.

use k8s_openapi::api::core::v1::PersistentVolumeClaim;
use serde_json::{Value, json};
use vestibule_test::Cluster;

use crate::cluster::{api, object};

fn claim(name: &str, class: &Value) -> PersistentVolumeClaim {
    object(json!({
        "metadata": { "name": name },
        "spec": {
            "storageClassName": class, "accessModes": ["ReadWriteOnce"],
            "resources": { "requests": { "storage": "1Gi" } },
        },
    }))
}

#[tokio::test]
async fn a_claim_without_a_class_gets_that_of_its_namespace() {
    let Some(cluster) = Cluster::shared_or_skip().await else { return };
    let _installed = cluster.install(storage_class::app()).await;
    // Created while the webhook runs, so its watch may not have them yet.
    let labelled = cluster.namespace(&[(storage_class::LABEL, "fast")]).await;
    let bare = cluster.namespace(&[]).await;
    for (namespace, name, named, expected) in [
        (&labelled, "none", json!(null), Some("fast")),
        (&labelled, "empty", json!(""), Some("")),
        (&labelled, "other", json!("slow"), Some("slow")),
        (&bare, "none", json!(null), None),
    ] {
        let claims = api::<PersistentVolumeClaim>(&cluster, namespace);
        let made = claims.create(&<_>::default(), &claim(name, &named)).await.unwrap();
        assert_eq!(made.spec.unwrap().storage_class_name.as_deref(), expected, "{name} in {namespace}");
    }
}
