//! Rows 26 and 27: versions and settings that change while calls go on.

use std::collections::BTreeSet;

use fire::{ROTATE, Replica};
use k8s_openapi::ByteString;
use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use vestibule_pki::describe;
use vestibule_pki::ring::read_bundle;

use super::fixture::{Fixture, shared_or_skip, stays, until};

/// Row 26. A newer version writes the ring and is rolled back: replicas of the old version serve with the fields that they
/// know, and do not write.
#[tokio::test]
async fn a_newer_ring_is_served_and_not_changed() {
    let Some(env) = shared_or_skip().await else { return };
    let fixture = Fixture::new(&env, &[]).await;
    let old = fixture.serve(2).await;
    let load = fixture.load();
    let ring = fixture.steady().await;

    let ours = describe_with(&fixture, |description| {
        description["schema"] = json!(3);
        description["shards"] = json!([{ "of": "a later version" }]);
        description["authorities"][0]["shard"] = json!(1);
    })
    .await;
    fixture.annotate(ROTATE, "by a replica of the new version").await;
    let version = async || fixture.secret().await.metadata.resource_version;
    let before = version().await;
    // Roll back: a replica of the old version starts with the newer ring.
    let mut replicas = old;
    replicas.push(fixture.cluster.start_replica().await.unwrap());
    fixture.all_ready(&replicas).await;
    let counts = || fixture.cluster.counters().read();
    let leaves = counts().renewals();
    until("leaves are renewed", 40, async || counts().renewals() >= leaves + 6).await;
    assert_eq!(version().await, before, "no replica wrote it");

    // The newer version removes its fields.
    restore(&fixture, ours).await;
    until("the rotation request is fulfilled", 30, async || {
        fixture.active().await != ring.active().map(|ca| ca.id)
    })
    .await;
    fixture.steady().await;
    fixture.nothing_failed(load).await;
}

/// Row 26 with a ring that the old version cannot read.
#[tokio::test]
async fn a_ring_that_is_too_new_is_not_overwritten() {
    let Some(env) = shared_or_skip().await else { return };
    let fixture = Fixture::new(&env, &[]).await;
    let replica = fixture.start().await;
    replica.ready().await;
    fixture.steady().await;
    describe_with(&fixture, |description| *description = json!({ "schema": 9, "readable": 9 })).await;
    let version = async || fixture.secret().await.metadata.resource_version;
    let before = version().await;
    use vestibule_identity::Identity;
    until("the status says newer_schema", 10, async || {
        replica.identity.status().blocked == Some("newer_schema")
    })
    .await;
    let newcomer = fixture.start().await;
    stays("no replica writes it", 4, async || version().await == before).await;
    assert!(newcomer.identity.present().is_none(), "there is nothing to sign with");
}

/// Row 27: after a roll-out, the next CA is the first with the new algorithm.
#[tokio::test]
async fn another_key_algorithm_comes_with_the_next_ca() {
    let Some(env) = shared_or_skip().await else { return };
    let fixture = Fixture::new(&env, &[]).await;
    let old = fixture.serve(2).await;
    let load = fixture.load();
    fixture.steady().await;
    assert_eq!(kinds(&fixture).await, ["ECDSA P-256"].map(str::to_owned).into());

    let mut new = Vec::new();
    for _ in 0..2 {
        let replica = fixture.cluster.start_unrouted(|command| {
            command.arg("--algorithm=p384");
        });
        let replica = replica.await.unwrap();
        fixture.cluster.route(&replica).unwrap();
        new.push(replica);
    }
    until("all four serve", 30, async || fixture.cluster.service().routed().len() == 4).await;
    for replica in old {
        drain(&fixture, replica).await;
    }
    for (wish, kinds_of_both) in [("one", vec!["ECDSA P-256", "ECDSA P-384"]), ("two", vec!["ECDSA P-384"])] {
        let before = fixture.active().await;
        fixture.annotate(ROTATE, wish).await;
        until("another CA signs", 20, async || fixture.active().await != before).await;
        fixture.steady().await;
        let expected: BTreeSet<_> = kinds_of_both.into_iter().map(str::to_owned).collect();
        until("the bundle has the requested algorithms", 20, async || kinds(&fixture).await == expected)
            .await;
    }
    let counts = fixture.cluster.counters().read();
    assert!(counts.switches() >= 4, "each replica presents leaves of both: {}", counts.switches());
    fixture.nothing_failed(load).await;
}

/// The key algorithms in the bundle.
async fn kinds(fixture: &Fixture<'_>) -> BTreeSet<String> {
    let bundle = fixture.bundles().await.remove(0);
    read_bundle(&bundle).values().map(|certificate| describe(certificate).unwrap().key_algorithm).collect()
}

/// Drains the replica. It closes each kept connection after the next call on it, so no call is lost.
async fn drain(fixture: &Fixture<'_>, replica: Replica) {
    replica.child().terminate().unwrap();
    fixture.cluster.unroute(&replica).await;
    // The replica may have ended already.
    let _ended = replica.child().kill();
    replica.child().wait().await.unwrap();
}

/// Changes `ring.json`; returns its previous content.
async fn describe_with(fixture: &Fixture<'_>, change: impl FnOnce(&mut Value)) -> Vec<u8> {
    let before = fixture.secret().await.data.unwrap().remove("ring.json").unwrap().0;
    let mut description = serde_json::from_slice(&before).unwrap();
    change(&mut description);
    restore(fixture, description.to_string().into_bytes()).await;
    before
}

async fn restore(fixture: &Fixture<'_>, description: Vec<u8>) {
    let patch = Patch::Merge(json!({ "data": { "ring.json": ByteString(description) } }));
    fixture.secrets().patch(fixture.cluster.secret(), &PatchParams::default(), &patch).await.unwrap();
}
