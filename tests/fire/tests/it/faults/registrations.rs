//! Rows 18 and 19: configurations that are created late, deleted, or read-only.

use std::time::{Duration, Instant};

use fire::hook;
use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::rbac::v1::PolicyRule;
use kube::api::PostParams;
use serde_json::json;
use vestibule_identity::Identity;
use vestibule_pki::ring::{Algorithm, Change, KeySource, Moment, Ring, carry_out};

use super::fixture::{Fixture, InProcessReplica, SERVICE, names, now, promised, shared_or_skip, until};

/// Row 18, while the next CA is not yet held.
#[tokio::test]
async fn a_recreated_configuration_is_filled_and_held_anew() {
    let Some(env) = shared_or_skip().await else { return };
    let mut fixture = Fixture::new(&env, &["--leaf=30"]).await;
    fixture.policy.hold = Duration::from_secs(10);
    let replica = fixture.start().await;
    replica.ready().await;
    let bundles = fixture.bundles().await;
    assert!(fixture.ring().await.unwrap().next().unwrap().held.is_none());

    let all = fixture.cluster.configurations().unwrap();
    let name = fixture.cluster.registration();
    all.delete(name, &Default::default()).await.unwrap();
    until("the missing configuration is noticed", 10, async || {
        !replica.identity.status().registrations[0].in_sync
    })
    .await;
    all.create(&Default::default(), &two_hooks(&fixture, name, None)).await.unwrap();
    let made = Instant::now();
    promised("the configuration is filled", 2, async || fixture.bundles().await == bundles).await;
    assert_eq!(replica.identity.status().waiting_for, None, "rule E1");
    until("the next CA is held", 30, async || {
        fixture.ring().await.is_some_and(|ring| ring.next().is_some_and(|next| next.held.is_some()))
    })
    .await;
    // Times in the ring are whole seconds.
    let held = made.elapsed() + Duration::from_secs(1);
    assert!(held >= fixture.policy.hold, "held {held:?} after it was made again");
}

/// Row 19. A configuration trusts the active CA, so that its calls work, and the replica may not write it. A rotation waits
/// for the missing right until the CA is near its end.
#[tokio::test]
async fn a_rotation_waits_for_a_configuration_that_may_not_be_written_until_the_ca_is_near_its_end() {
    let Some(env) = shared_or_skip().await else { return };
    let mut fixture = Fixture::new(&env, &["--leaf=5", "--authority=132"]).await;
    fixture.policy.hold = Duration::from_secs(2);
    let denied = format!("denied-{}", fixture.cluster.home());
    let ring = ring_near_its_end(&fixture, 24);
    let active = ring.facts().active().unwrap().clone();
    let signs = vestibule_pki::Bundle::pem([ring.certificate(active.id).unwrap()]);
    let all = fixture.cluster.configurations().unwrap();
    all.create(&Default::default(), &two_hooks(&fixture, &denied, Some(&signs))).await.unwrap();
    let read = PolicyRule {
        api_groups: Some(vec!["admissionregistration.k8s.io".to_owned()]),
        resources: Some(vec!["mutatingwebhookconfigurations".to_owned()]),
        resource_names: Some(vec![denied.clone()]),
        verbs: ["get", "list", "watch"].map(str::to_owned).into(),
        ..PolicyRule::default()
    };
    env.grant(fixture.cluster.home(), fire::ACCOUNT, [(None, read)]).await.unwrap();
    let data = ring.encode().into_iter().map(|(field, bytes)| (field, ByteString(bytes.to_vec())));
    let secret = json!({
        "metadata": { "name": fixture.cluster.secret() },
        "data": data.collect::<std::collections::BTreeMap<_, _>>(),
    });
    let secret = serde_json::from_value(secret).unwrap();
    fixture.secrets().create(&PostParams::default(), &secret).await.unwrap();

    let client = env.service_account(fixture.cluster.home(), fire::ACCOUNT).await.unwrap();
    let mut settings = fixture.settings();
    settings.registrations.push(format!("mutating/{denied}").parse().unwrap());
    let replica = InProcessReplica::start(client, settings);
    let last_call = fixture.policy.last_call();
    until("the other one is filled", 10, async || fixture.trusted().await == ring.facts().trusted()).await;
    replica.ready().await;
    until("an Event about the missing right", 10, async || {
        super::fixture::event(&fixture.admin, "default", "RegistrationDenied").await.is_some()
    })
    .await;

    let promoted = async || fixture.active().await.is_some_and(|id| id != active.id);
    until("the rotation", 60, async || {
        let left = active.not_after.since(now());
        let is_early = left > last_call + Duration::from_secs(1);
        if is_early {
            let blocked = replica.identity.status().blocked;
            assert!(blocked.is_none() || blocked == Some("hold") || blocked == Some("denied"), "{blocked:?}");
        }
        let promoted = promoted().await;
        assert!(!(promoted && is_early), "{left:?} before the end of the CA");
        promoted
    })
    .await;
    assert!(active.not_after > now(), "in time");
    // The cross-signed certificate chains to the CA that the read-only configuration trusts.
    let name = format!("{SERVICE}.{}.svc", fixture.cluster.home());
    let next = names(&fixture.bundles().await[0]);
    until("it is signed by the new one, and crossed", 10, async || {
        let leaf = replica.identity.present().unwrap();
        leaf.chain.len() == 2 && replica.is_accepted(&signs, &name, now())
    })
    .await;
    assert!(!next.is_empty());
}

/// A ring that has rotated once and is due to rotate again; no configuration has its next CA.
fn ring_near_its_end(fixture: &Fixture<'_>, left: u64) -> Ring {
    let policy = &fixture.policy;
    let domain = format!("{}.svc", fixture.cluster.home());
    let mut keys = KeySource::new("vestibule", &[domain], Algorithm::default());
    let begin = now().0 + left - policy.authority_life.as_secs();
    let mut at = |change: Change, ring: Option<Ring>, seconds: u64| {
        carry_out(&change, ring, &mut keys, Moment(begin + seconds), policy).unwrap()
    };
    let ring = at(Change::Create { trust: [].into(), imported: [].into() }, None, 0);
    let active = ring.facts().active().unwrap().id;
    at(Change::Hold(active), Some(ring), 2)
}

/// A configuration with the two hooks, as a user installs it.
fn two_hooks(fixture: &Fixture<'_>, name: &str, bundle: Option<&str>) -> MutatingWebhookConfiguration {
    let mut object = hook::configuration(name, fixture.cluster.target(), fixture.cluster.service());
    for entry in object["webhooks"].as_array_mut().unwrap() {
        if let Some(bundle) = bundle {
            entry["clientConfig"]["caBundle"] = json!(ByteString(bundle.as_bytes().to_vec()));
        }
    }
    serde_json::from_value(object).unwrap()
}
