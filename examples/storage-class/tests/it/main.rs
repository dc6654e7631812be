//! The claims that get a class. `tests/examples` checks the same on a real API server.

use serde_json::{Value, json};
use storage_class::{LABEL, app};
use vestibule::Objects;
use vestibule_test::{Outcome, call};

fn namespace(name: &str, labels: &Value) -> Value {
    json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": name, "labels": labels } })
}

fn claim(namespace: &str, spec: &Value) -> Value {
    json!({
        "apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": { "name": "data", "namespace": namespace },
        "spec": spec,
    })
}

async fn made(claim: Value) -> Outcome {
    let objects = Objects::new()
        .with(namespace("shop", &json!({ LABEL: "fast" })))
        .with(namespace("bare", &json!({})))
        .with_unseen(namespace("new", &json!({ LABEL: "slow" })));
    call(&app(), "by-namespace").create(claim).with(objects).await
}

#[tokio::test]
async fn a_claim_that_names_no_class_gets_that_of_its_namespace() {
    for (namespace, class) in [("shop", "fast"), ("new", "slow")] {
        let outcome = made(claim(namespace, &json!({ "x-unknown": 1 }))).await;
        outcome.assert_idempotent().assert_keeps_unknown_fields();
        assert_eq!(outcome.object::<Value>()["spec"], json!({ "x-unknown": 1, "storageClassName": class }));
    }
}

#[tokio::test]
async fn other_claims_are_unchanged() {
    for class in ["", "slow"] {
        made(claim("shop", &json!({ "storageClassName": class }))).await.assert_unchanged();
    }
    for namespace in ["bare", "gone"] {
        made(claim(namespace, &json!({}))).await.assert_unchanged();
    }
    let mut old = claim("shop", &json!({}));
    old["metadata"]["annotations"] = json!({ "volume.beta.kubernetes.io/storage-class": "old" });
    made(old).await.assert_unchanged();
}
