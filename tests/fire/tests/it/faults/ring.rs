//! Rows 5, 6, 9 and 11: creation and restoration of a ring.

use std::time::{Duration, Instant};

use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::json;
use std::sync::Arc;
use vestibule_identity::Identity;

use super::fixture::{Fixture, promised, shared_or_skip, stays, until};

/// Row 5: replicas start at the same moment.
#[tokio::test]
async fn five_replicas_start_at_once_and_no_call_fails_after_the_first_is_ready() {
    let Some(env) = shared_or_skip().await else { return };
    let fixture = Fixture::new(&env, &[]).await;
    let starts = (0..5).map(|_| fixture.cluster.start_replica());
    let replicas = futures_util::future::try_join_all(starts).await.unwrap();
    until("a replica is ready", 30, async || !fixture.cluster.service().routed().is_empty()).await;
    let load = fixture.load();
    fixture.all_ready(&replicas).await;
    until("all replicas are called", 20, async || fixture.cluster.counters().read().replicas.len() == 5)
        .await;
    let changes = fixture.cluster.counters().read().ring_changes;
    assert_eq!(changes["created"], 1, "one wrote it, and the others took it: {changes:?}");
    assert_eq!(fixture.ring().await.unwrap().generation, 1);
    fixture.steady().await;
    fixture.nothing_failed(load).await;
}

/// Row 6. The deleted Secret is restored and rotated once, since its deletion is also a request for a new certificate.
#[tokio::test]
async fn a_deleted_secret_is_back_at_once_and_rotates_once() {
    let Some(env) = shared_or_skip().await else { return };
    let fixture = Fixture::new(&env, &[]).await;
    let _replicas = fixture.serve(2).await;
    let load = fixture.load();
    let before = fixture.steady().await;

    fixture.delete_secret().await;
    promised("the ring is back", 2, async || fixture.ring().await.is_some()).await;
    assert!(fixture.ring().await.unwrap().trusted().is_superset(&before.trusted()));
    let next = before.next().map(|ca| ca.id);
    until("the next CA signs", 20, async || fixture.active().await == next).await;
    fixture.steady().await;

    // A second deletion within the hour does not rotate.
    fixture.delete_secret().await;
    until("the ring is back", 10, async || fixture.ring().await.is_some()).await;
    stays("the same CA signs", 5, async || fixture.active().await == next).await;
    fixture.steady().await;
    fixture.nothing_failed(load).await;
}

/// Row 9. No replica remembers the keys; the old CAs stay trusted for a while.
#[tokio::test]
async fn a_secret_deleted_with_all_replicas_is_created_anew() {
    let Some(env) = shared_or_skip().await else { return };
    let fixture = Fixture::new(&env, &["--leaf=15"]).await;
    let replicas = fixture.serve(2).await;
    let before = fixture.steady().await;
    let load = fixture.load();
    let counters = fixture.cluster.counters();
    until("both are called", 20, async || counters.read().replicas.len() == 2).await;
    for replica in replicas {
        replica.kill().await.unwrap();
    }
    fixture.delete_secret().await;

    // The hold, and a margin for a start on a busy machine.
    const SLACK: Duration = Duration::from_secs(15);
    let begun = Instant::now();
    let _replicas = fixture.serve(2).await;
    // One wait for replicas that might remember the ring, and one until API servers know the new CA.
    let (took, hold) = (begun.elapsed(), fixture.policy.hold_cold * 2);
    // Times in the ring are whole seconds.
    let is_held = hold <= took + Duration::from_secs(2);
    assert!(is_held && took < hold + SLACK, "ready {took:?} after the start, with holds of {hold:?}");
    let ring = fixture.ring().await.unwrap();
    assert!(ring.trusted().is_disjoint(&before.trusted()), "no record is left that these are our CAs");
    assert!(before.authority(ring.active().unwrap().id).is_none(), "a new CA signs");
    until("the new ones are called", 20, async || counters.read().replicas.len() == 4).await;
    // Calls that met no endpoint have been counted once this many more calls have ended.
    let settled = counters.read().calls + 64;
    until("calls go on", 20, async || counters.read().calls > settled).await;
    let failures = counters.read().failures;
    assert!(failures.keys().all(|what| !what.contains("x509")), "only for want of endpoints: {failures:#?}");
    fixture.steady().await;
    let counts = counters.read();
    load.stop().await;
    assert_eq!(counts.failures, failures, "none failed since there were endpoints again");
    assert!(counts.handshakes_failed.is_empty(), "{:#?}", counts.handshakes_failed);
}

/// Row 10: the ring does not depend on the bundle in the Secret, but other programs read it.
#[tokio::test]
async fn the_bundle_in_the_secret_is_repaired() {
    let Some(env) = shared_or_skip().await else { return };
    let fixture = Fixture::new(&env, &[]).await;
    let replica = fixture.start().await;
    replica.ready().await;
    let ring = fixture.steady().await;
    let bundle = async || fixture.secret().await.data.unwrap_or_default().remove("ca.crt").map(|pem| pem.0);
    let intact = bundle().await.unwrap();
    for damaged in [None, Some(intact[..intact.len() / 2].to_vec()), Some(b"rubbish".to_vec())] {
        let patch = Patch::Merge(json!({ "data": { "ca.crt": damaged.map(ByteString) } }));
        fixture.secrets().patch(fixture.cluster.secret(), &PatchParams::default(), &patch).await.unwrap();
        until("the bundle is intact again", 10, async || bundle().await.as_ref() == Some(&intact)).await;
    }
    assert_eq!(fixture.ring().await, Some(ring), "the same ring");
}

/// Row 11: some charts create a Secret of this type in advance.
#[tokio::test]
async fn a_secret_of_another_type_keeps_its_type() {
    let Some(env) = shared_or_skip().await else { return };
    let fixture = Fixture::new(&env, &[]).await;
    let secret: Secret = serde_json::from_value(json!({
        "metadata": { "name": fixture.cluster.secret() },
        "type": "kubernetes.io/tls",
        "data": { "tls.crt": "", "tls.key": "" },
    }))
    .unwrap();
    fixture.secrets().create(&PostParams::default(), &secret).await.unwrap();
    let replica = fixture.start().await;
    replica.ready().await;
    let secret = fixture.secret().await;
    assert_eq!(secret.type_.as_deref(), Some("kubernetes.io/tls"));
    assert!(secret.data.unwrap().contains_key("tls.key"));
    fixture.steady().await;
}

/// Row 11: the Secret cannot be written any more, and replicas continue with its ring.
#[tokio::test]
async fn replicas_serve_from_a_secret_that_becomes_immutable() {
    let Some(env) = shared_or_skip().await else { return };
    let fixture = Fixture::new(&env, &[]).await;
    let replica = fixture.start().await;
    replica.ready().await;
    fixture.steady().await;
    let patch = Patch::Merge(json!({ "immutable": true }));
    fixture.secrets().patch(fixture.cluster.secret(), &PatchParams::default(), &patch).await.unwrap();
    fixture.annotate(fire::ROTATE, "in vain").await;

    let note = async || fixture.event("SecretImmutable").await;
    until("an Event", 10, async || note().await.is_some()).await;
    let note = note().await.unwrap();
    assert!(note.contains("kubectl delete secret fire-ring"), "it says what to do: {note}");
    let version = fixture.secret().await.metadata.resource_version;
    for _ in 0..2 {
        let leaf = replica.identity.present().unwrap();
        let is_renewed = async || !Arc::ptr_eq(&leaf, &replica.identity.present().unwrap());
        until("the leaf is renewed", 10, is_renewed).await;
    }
    assert_eq!(replica.identity.status().waiting_for, None);
    assert_eq!(fixture.secret().await.metadata.resource_version, version);
}
