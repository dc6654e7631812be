//! Faults of the ring's Secret.

use k8s_openapi::api::core::v1::Secret;
use kube::api::{DeleteParams, Patch, PatchParams, PostParams};
use serde_json::json;
use std::collections::BTreeSet;
use std::sync::Arc;
use vestibule_identity::{Identity, SelfManaged};
use vestibule_pki::ring::{CaId, read_bundle};
use vestibule_testenv as testenv;

use super::fixture::{Fixture, assert_accepted, count, fleeting, promised, until, within};
use super::listener::Listener;

fn trusted(bundle: &str) -> BTreeSet<CaId> {
    read_bundle(bundle).into_keys().collect()
}

#[tokio::test]
async fn a_deleted_secret_is_restored_with_the_same_trust() {
    let Some(env) = testenv::shared_or_skip().await else { return };
    let fixture = Fixture::new(&env).await;
    let listener = Listener::new();
    let mut settings = fixture.settings();
    settings.observer = Some(listener.clone());
    let replica = SelfManaged::start(fixture.admin.clone(), settings).unwrap();
    within(10, &replica).await;
    let bundle_before = fixture.bundles().await[1].clone();
    let before = trusted(&bundle_before);
    let leaf = replica.present().unwrap();

    fixture.secrets().delete("hooks-ring", &DeleteParams::default()).await.unwrap();
    // Triggered by the watch: without an event, the ring is read every ten minutes.
    promised("the Secret is back", 2, async || {
        fixture.secrets().get_opt("hooks-ring").await.unwrap().is_some()
    })
    .await;
    let secret = fixture.secret().await;
    let restored = String::from_utf8(secret.data.unwrap()["ca.crt"].0.clone()).unwrap();
    assert!(before.is_subset(&trusted(&restored)));
    let bundle = fixture.bundles().await[1].clone();
    assert!(before.is_subset(&trusted(&bundle)));
    assert!(replica.status().waiting_for.is_none());
    until("it is told", 2, async || listener.changes().contains(&"restored")).await;
    // The next CA, which was trusted before, may sign already; until then the leaf stays. Observers hear of a promotion
    // before a leaf of it is presented.
    let same_leaf = Arc::ptr_eq(&leaf, &replica.present().unwrap());
    assert!(same_leaf || listener.changes().contains(&"promoted"), "{:?}", listener.changes());
    assert_accepted(&replica, &bundle, &fixture.namespace);
    assert_accepted(&replica, &bundle_before, &fixture.namespace);
}

#[tokio::test]
async fn a_rotation_on_wish_goes_over_three_authorities_back_to_two() {
    let Some(env) = testenv::shared_or_skip().await else { return };
    let fixture = Fixture::with(&env, fleeting()).await;
    let replica = fixture.ready().await;
    let before = trusted(&fixture.bundles().await[1]);
    fixture.annotate_secret("vestibule.dev/rotate", "please").await;
    until("three CAs", 10, async || count(&fixture.bundles().await[1]) == 3).await;
    assert_accepted(&replica, &fixture.bundles().await[1], &fixture.namespace);
    until("two CAs again", 20, async || count(&fixture.bundles().await[1]) == 2).await;
    let after = trusted(&fixture.bundles().await[1]);
    assert_eq!(before.intersection(&after).count(), 1, "next became active, active is gone");
    assert_accepted(&replica, &fixture.bundles().await[1], &fixture.namespace);
    let secret = fixture.secret().await;
    let keys = secret.data.unwrap().keys().filter(|field| field.ends_with(".key")).count();
    assert_eq!(keys, 2, "the old key is gone");
    assert_eq!(secret.metadata.annotations.unwrap()["vestibule.dev/rotate"], "please");
}

#[tokio::test]
async fn an_empty_secret_is_filled_and_keeps_its_own() {
    let Some(env) = testenv::shared_or_skip().await else { return };
    let fixture = Fixture::new(&env).await;
    make(&fixture, json!({ "metadata": { "name": "hooks-ring", "labels": { "team": "a" } }, "data": { "note": "aGk=" } })).await;
    let _replica = fixture.ready().await;
    let secret = fixture.secret().await;
    assert_eq!(secret.metadata.labels.unwrap()["team"], "a");
    let data = secret.data.unwrap();
    assert_eq!(data["note"].0, b"hi");
    assert!(data.contains_key("ring.json"));
}

#[tokio::test]
async fn rubbish_is_repaired() {
    let Some(env) = testenv::shared_or_skip().await else { return };
    let fixture = Fixture::new(&env).await;
    let replica = fixture.ready().await;
    let before = trusted(&fixture.bundles().await[1]);
    // Without a resourceVersion, so that a concurrent write of the replica does not matter.
    let rubbish = json!({ "data": { "ring.json": "cnViYmlzaA==" } });
    fixture.secrets().patch("hooks-ring", &PatchParams::default(), &Patch::Merge(rubbish)).await.unwrap();
    until("the ring is readable", 20, async || {
        fixture.secret().await.data.unwrap()["ring.json"].0.starts_with(b"{")
    })
    .await;
    until("the bundle follows", 20, async || before.is_subset(&trusted(&fixture.bundles().await[1]))).await;
    assert_accepted(&replica, &fixture.bundles().await[1], &fixture.namespace);

    // The restored CA is replaced as soon as the next one is held; the last write adds the CA after that.
    fixture.until_held(3).await;
    // The copy in the Secret that other programs read is repaired too, and nothing else.
    let keys_and_bundle = async || {
        let mut data = fixture.secret().await.data.unwrap();
        // The state of the CAs may change meanwhile.
        data.remove("ring.json");
        data
    };
    let whole = keys_and_bundle().await;
    let patch = json!([{ "op": "remove", "path": "/data/ca.crt" }]);
    let patch: Patch<()> = Patch::Json(serde_json::from_value(patch).unwrap());
    fixture.secrets().patch("hooks-ring", &PatchParams::default(), &patch).await.unwrap();
    until("ca.crt is back", 20, async || keys_and_bundle().await.get("ca.crt") == whole.get("ca.crt")).await;
    assert!(keys_and_bundle().await == whole, "keys have changed");
}

#[tokio::test]
async fn an_immutable_secret_is_left_alone_and_told_of() {
    let Some(env) = testenv::shared_or_skip().await else { return };
    let fixture = Fixture::new(&env).await;
    make(&fixture, json!({ "metadata": { "name": "hooks-ring" }, "immutable": true })).await;
    let before = fixture.secret().await.metadata.resource_version;
    let replica = fixture.replica();
    until("an Event says so", 20, async || fixture.has_event("SecretImmutable", &fixture.namespace).await)
        .await;
    assert_eq!(fixture.secret().await.metadata.resource_version, before);
    // The Event may be told before the state is.
    until("the state says so", 20, async || replica.status().blocked == Some("ring_write")).await;

    fixture.secrets().delete("hooks-ring", &DeleteParams::default()).await.unwrap();
    within(20, &replica).await;
}

#[tokio::test]
async fn nothing_goes_on_after_the_last_handle_is_dropped() {
    let Some(env) = testenv::shared_or_skip().await else { return };
    let fixture = Fixture::new(&env).await;
    let listener = Listener::new();
    let mut settings = fixture.settings();
    settings.observer = Some(listener.clone());
    let replica = SelfManaged::start(fixture.admin.clone(), settings).unwrap();
    within(10, &replica).await;
    drop(replica);
    until("every task has let go of the observer", 2, async || Arc::strong_count(&listener) == 1).await;
}

async fn make(fixture: &Fixture, secret: serde_json::Value) {
    let secret: Secret = serde_json::from_value(secret).unwrap();
    fixture.secrets().create(&PostParams::default(), &secret).await.unwrap();
}
