//! A replica with exactly the documented rights, and with fewer.

use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::rbac::v1::{PolicyRule, Role};
use kube::api::PostParams;
use kube::{Api, Client};
use serde_json::json;
use vestibule_identity::{Identity, SelfManaged};
use vestibule_testenv::{self as testenv, Session};

use super::fixture::{Fixture, assert_accepted, fleeting, promised, until, within};
use super::silence::Log;

/// The ServiceAccount of the replica.
const ACCOUNT: &str = "hooks";

/// A client of a ServiceAccount with the documented rights, with or without the one to create Secrets, which may be left out.
async fn with_documented_rights(env: &Session, fixture: &Fixture, may_create: bool) -> Client {
    let namespace = &fixture.namespace;
    let mut rules = fixture.settings().policy_rules();
    rules.retain(|(_, rule)| may_create || rule.verbs != ["create"]);
    let client = env.service_account(namespace, ACCOUNT).await.unwrap();
    env.grant(namespace, ACCOUNT, rules).await.unwrap();
    client
}

#[tokio::test]
async fn the_documented_rights_are_enough_for_everything() {
    let Some(env) = testenv::shared_or_skip().await else { return };
    let fixture = Fixture::with(&env, fleeting()).await;
    let client = with_documented_rights(&env, &fixture, true).await;
    let replica = SelfManaged::start(client, fixture.settings()).unwrap();
    within(10, &replica).await;
    let good = fixture.bundles().await;

    fixture.tamper(1, b"\n").await;
    until("the bundle is repaired", 2, async || fixture.bundles().await == good).await;
    until("an Event names the other", 20, async || fixture.has_event("BundleRepaired", "default").await)
        .await;
    fixture.annotate_secret("vestibule.dev/rotate", "1").await;
    until("a rotation began", 10, async || fixture.has_event("RingPromoted", &fixture.namespace).await).await;
    fixture.secrets().delete("hooks-ring", &Default::default()).await.unwrap();
    promised("the Secret is back", 2, async || {
        fixture.secrets().get_opt("hooks-ring").await.unwrap().is_some()
    })
    .await;
}

#[tokio::test]
async fn without_the_right_to_create_it_waits_for_the_secret_and_fills_it() {
    let Some(env) = testenv::shared_or_skip().await else { return };
    let (log, begun) = (Log::listen(), Instant::now());
    let fixture = Fixture::new(&env).await;
    let client = with_documented_rights(&env, &fixture, false).await;
    let replica = SelfManaged::start(client, fixture.settings()).unwrap();
    let remedy = format!("kubectl create secret generic hooks-ring -n {}", fixture.namespace);
    until("an Event names the command", 20, async || {
        let note = fixture.event_note("RingNotWritten", &fixture.namespace).await;
        note.is_some_and(|note| note.contains(&remedy))
    })
    .await;
    let refused = ["/secrets?", "http.status_code=403"];
    until("it has tried again and again", 20, async || log.count(&refused) >= 3).await;
    let (lines, most) = (log.count(&["WARN", &remedy]), 1 + begun.elapsed().as_secs() / 30);
    assert!(lines > 0 && lines as u64 <= most, "{lines} lines of {most}: one in half a minute");
    assert_eq!(
        replica.status().waiting_for,
        Some(format!("the ring Secret {}/hooks-ring", fixture.namespace))
    );

    let secret: Secret = serde_json::from_value(json!({ "metadata": { "name": "hooks-ring" } })).unwrap();
    fixture.secrets().create(&PostParams::default(), &secret).await.unwrap();
    until("the ring is there", 2, async || fixture.secret().await.data.is_some()).await;
    within(7, &replica).await;
}

/// F11, later: a role is removed while the replica serves, and put back.
#[tokio::test]
async fn a_right_that_is_taken_away_is_reported_and_used_again_when_it_is_back() {
    let Some(env) = testenv::shared_or_skip().await else { return };
    let mut policy = fleeting();
    // Read every two seconds; a replica with a leaf can wait.
    policy.leaf_life = Duration::from_secs(20);
    let fixture = Fixture::with(&env, policy).await;
    let client = with_documented_rights(&env, &fixture, true).await;
    let replica = SelfManaged::start(client, fixture.settings()).unwrap();
    within(10, &replica).await;
    let (namespace, bundle) = (&fixture.namespace, &fixture.bundles().await[1]);

    let roles = Api::<Role>::namespaced(fixture.admin.clone(), namespace);
    let role = roles.list(&Default::default()).await.unwrap().items.remove(0);
    let role_name = role.metadata.name.clone().unwrap();
    let mut without = role.clone();
    without.rules.as_mut().unwrap().retain(|rule| rule.resources.as_deref() != Some(&["secrets".to_owned()]));
    roles.replace(&role_name, &PostParams::default(), &without).await.unwrap();
    let note = async || fixture.event_note("RingNotReadable", namespace).await;
    until("an Event says so", 20, async || note().await.is_some()).await;
    let note = note().await.unwrap();
    let said = format!("Secret {namespace}/hooks-ring cannot be read: secrets \"hooks-ring\" is forbidden: ");
    assert!(note.starts_with(&said), "{note}");
    assert_eq!(replica.status().waiting_for, None, "it serves on");
    assert_accepted(&replica, bundle, namespace);
    // The replica cannot see this command until it may read the Secret again.
    fixture.annotate_secret("vestibule.dev/rotate", "1").await;

    let mut role = role;
    role.metadata.resource_version = None;
    roles.replace(&role_name, &PostParams::default(), &role).await.unwrap();
    until("it fulfils the command", 20, async || fixture.has_event("RingPromoted", namespace).await).await;
    assert_eq!(replica.status().waiting_for, None);
    assert_accepted(&replica, &fixture.bundles().await[1], namespace);
}

/// The replica may read and watch the other configuration: only writing it is refused.
#[tokio::test]
async fn one_configuration_that_may_not_be_written_does_not_stop_the_others() {
    let Some(env) = testenv::shared_or_skip().await else { return };
    let fixture = Fixture::new(&env).await;
    let client = with_documented_rights(&env, &fixture, true).await;
    let mut denied = Fixture::new(&env).await;
    denied.policy = fixture.policy.clone();
    let read = PolicyRule {
        api_groups: Some(vec!["admissionregistration.k8s.io".to_owned()]),
        resources: Some(vec!["mutatingwebhookconfigurations".to_owned()]),
        resource_names: Some(vec![denied.registration.name.clone()]),
        verbs: ["get", "list", "watch"].map(str::to_owned).into(),
        ..PolicyRule::default()
    };
    env.grant(&fixture.namespace, ACCOUNT, [(None, read)]).await.unwrap();
    let mut settings = fixture.settings();
    settings.registrations.insert(0, denied.registration.clone());
    // Both name the same Service: entries of the other one are as much ours.
    let mut object = serde_json::to_value(denied.configuration().await).unwrap();
    for entry in object["webhooks"].as_array_mut().unwrap().iter_mut().skip(1) {
        entry["clientConfig"]["service"]["namespace"] = json!(fixture.namespace);
    }
    let object = serde_json::from_value(object).unwrap();
    denied
        .configurations()
        .replace(&denied.registration.name, &PostParams::default(), &object)
        .await
        .unwrap();

    let replica = SelfManaged::start(client, settings).unwrap();
    until("the other holds a bundle", 20, async || !fixture.bundles().await[1].is_empty()).await;
    until("an Event names the right that is missing", 20, async || {
        let note = denied.event_note("RegistrationDenied", "default").await;
        note.is_some_and(|note| note.contains(&denied.registration.name) && note.contains("forbidden"))
    })
    .await;
    assert!(denied.bundles().await[1..].iter().all(String::is_empty), "it may not be written");
    let waits = replica.status().waiting_for;
    assert!(waits.as_ref().is_some_and(|waits| waits.contains(&denied.registration.name)), "{waits:?}");
}
