//! `caBundle`s that others overwrite.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use http_body_util::{BodyStream, StreamBody};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::sync::watch;
use vestibule_identity::{Identity, IdentityEvent, Local, SelfManaged};
use vestibule_testenv as testenv;

use super::fixture::{Fixture, assert_accepted, bundles, fleeting, promised, until, within};
use super::listener::Listener;

#[tokio::test]
async fn a_bundle_that_others_spoil_is_repaired_within_a_second_and_nothing_else_is_touched() {
    let Some(env) = testenv::shared_or_skip().await else { return };
    let fixture = Fixture::new(&env).await;
    let listener = Listener::new();
    let mut settings = fixture.settings();
    settings.observer = Some(listener.clone());
    let replica = SelfManaged::start(fixture.admin.clone(), settings).unwrap();
    replica.ready().await;
    let good = fixture.bundles().await;
    let stranger =
        Local::in_memory(&["localhost"], std::time::SystemTime::now()).unwrap().ca_bundle().unwrap();
    let before = without_ours(&fixture).await;

    let (first, rest) = good[1].split_at(good[1].find("-----END").unwrap());
    let joined =
        format!("{first}{}", rest.replacen("-----END CERTIFICATE-----\n", "-----END CERTIFICATE-----", 1));
    let commented = format!("# by hand\n{}", good[1]);
    let is_good = async || fixture.bundles().await == good;
    for spoilt in [b"".as_slice(), b"\n", stranger.as_bytes(), joined.as_bytes()] {
        fixture.tamper(1, spoilt).await;
        promised("the bundle is repaired", 1, &is_good).await;
    }
    // The fifth repair in a row waits, in case another writer sets the bundle back again and again.
    fixture.tamper(1, commented.as_bytes()).await;
    until("the bundle is repaired", 10, &is_good).await;
    assert_eq!(without_ours(&fixture).await, before);
    let repair =
        |event: &IdentityEvent| matches!(event, IdentityEvent::BundleWritten { repaired_from: Some(_), .. });
    until("five repairs are reported", 20, async || {
        listener.heard().iter().filter(|event| repair(event)).count() == 5
    })
    .await;
    // A manager that empties a field does not own it afterwards; one that sets it does.
    let named = |event: &IdentityEvent| matches!(event, IdentityEvent::BundleWritten { repaired_from: Some(manager), .. } if manager == "stranger");
    assert_eq!(listener.heard().iter().filter(|event| named(event)).count(), 4);
    assert_accepted(&replica, &good[1], &fixture.namespace);
}

/// The configuration without what is ours, and without what every write changes.
async fn without_ours(fixture: &Fixture) -> Value {
    let mut object = serde_json::to_value(fixture.configuration().await).unwrap();
    for entry in object["webhooks"].as_array_mut().unwrap().iter_mut().skip(1) {
        entry["clientConfig"].as_object_mut().unwrap().remove("caBundle");
    }
    let metadata = object["metadata"].as_object_mut().unwrap();
    for field in ["generation", "managedFields", "resourceVersion"] {
        metadata.remove(field);
    }
    object
}

#[tokio::test]
async fn leaves_are_renewed_without_a_write() {
    let Some(env) = testenv::shared_or_skip().await else { return };
    let fixture = Fixture::with(&env, fleeting()).await;
    let replica = fixture.ready().await;
    let versions = async || {
        let configuration = fixture.configuration().await.metadata.resource_version;
        (fixture.secret().await.metadata.resource_version, configuration)
    };
    fixture.until_held(2).await;
    let before = versions().await;
    for _ in 0..2 {
        let leaf = replica.present().unwrap();
        until("another leaf", 10, async || !Arc::ptr_eq(&leaf, &replica.present().unwrap())).await;
    }
    assert_eq!(versions().await, before);
    assert_accepted(&replica, &fixture.bundles().await[1], &fixture.namespace);
}

#[tokio::test]
async fn the_owners_next_apply_meets_no_conflict_and_leaves_the_bundle() {
    use kube::api::{Patch, PatchParams};
    let Some(env) = testenv::shared_or_skip().await else { return };
    let mut fixture = Fixture::new(&env).await;
    // Installed by server-side apply.
    fixture.configurations().delete(&fixture.registration.name, &Default::default()).await.unwrap();
    fixture.registration = format!("mutating/{}-applied", fixture.namespace).parse().unwrap();
    let params = PatchParams::apply("helm");
    let mut manifest = fixture.manifest();
    let name = fixture.registration.name.clone();
    fixture.configurations().patch(&name, &params, &Patch::Apply(&manifest)).await.unwrap();
    let _replica = fixture.ready().await;
    let good = fixture.bundles().await;

    // The next version renames a hook and drops another.
    manifest["webhooks"].as_array_mut().unwrap().remove(2);
    manifest["webhooks"][1]["name"] = json!("renamed.example.dev");
    let applied = fixture.configurations().patch(&name, &params, &Patch::Apply(&manifest)).await.unwrap();
    assert_eq!(bundles(&applied).len(), 2, "the entry's owner may drop it");
    until("the renamed entry holds the bundle", 2, async || fixture.bundles().await[1] == good[1]).await;
    let again = fixture.configurations().patch(&name, &params, &Patch::Apply(&manifest)).await.unwrap();
    assert_eq!(bundles(&again)[1], good[1], "an apply that says nothing of the bundle leaves it");
}

/// F13: the connections of the replica's watches stay open, and for a while no event arrives.
#[tokio::test]
async fn while_watches_stall_objects_are_read_and_afterwards_watched() {
    let Some(env) = testenv::shared_or_skip().await else { return };
    let mut policy = fleeting();
    // The ring is read every two seconds.
    policy.leaf_life = Duration::from_secs(20);
    let fixture = Fixture::with(&env, policy).await;
    let stalls = watch::Sender::new(false);
    let client = stalling(&fixture.admin, &stalls);
    let replica = SelfManaged::start(client, fixture.settings()).unwrap();
    within(10, &replica).await;
    let (namespace, good) = (&fixture.namespace, fixture.bundles().await);

    stalls.send_replace(true);
    fixture.tamper(1, b"\n").await;
    fixture.secrets().delete("hooks-ring", &Default::default()).await.unwrap();
    // The replica reads that the Secret is gone, which also makes it ask for the next CA. No CA signs before the replica has
    // read the overwritten bundle too.
    until("the next CA signs", 30, async || fixture.has_event("RingPromoted", namespace).await).await;
    let next = fixture.bundles().await;
    assert!(next[1] == next[2] && next[0] == good[0], "repaired before");
    assert_accepted(&replica, &next[1], namespace);

    fixture.tamper(2, b"\n").await;
    stalls.send_replace(false);
    until("the bundle is repaired", 10, async || {
        let bundles = fixture.bundles().await;
        bundles[2] == bundles[1]
    })
    .await;
    assert_eq!(replica.status().waiting_for, None, "it has served all the while");
}

/// A client whose watches deliver nothing while they stall, and all events afterwards.
fn stalling(inner: &Client, stalls: &watch::Sender<bool>) -> Client {
    let (inner, stalls) = (inner.clone(), stalls.subscribe());
    let service = tower::service_fn(move |request: http::Request<Body>| {
        let (inner, stalls) = (inner.clone(), stalls.clone());
        async move {
            let is_watch = request.uri().query().is_some_and(|query| query.contains("watch=true"));
            let response = inner.send(request).await?;
            Ok::<_, kube::Error>(response.map(|body| {
                StreamBody::new(BodyStream::new(body).then(move |said| {
                    let mut stalls = stalls.clone();
                    async move {
                        // The sender lives as long as the test.
                        let _ = stalls.wait_for(|stalls| !(is_watch && *stalls)).await;
                        said
                    }
                }))
            }))
        }
    });
    Client::new(service, "default")
}
