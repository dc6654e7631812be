//! The least that it may do, and what happens with less.

use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::api::rbac::v1::{ClusterRole, ClusterRoleBinding, Role, RoleBinding};
use kube::api::PostParams;
use kube::{Api, Client};
use serde::de::DeserializeOwned;
use serde_json::{Value, json};
use vestibule_identity::{Identity, SelfManaged};
use vestibule_testenv::{self as testenv, Session};

use super::fixture::{Fixture, assert_accepted, fleeting, promised, until, within};
use super::silence::Log;

/// A client with exactly the rights that are documented; `create` decides about the one that may be left out.
async fn least(env: &Session, fixture: &Fixture, create: bool) -> Client {
    let namespace = &fixture.namespace;
    let client = env.service_account(namespace, "hooks").await.unwrap();
    let events =
        json!({ "apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"] });
    let secret = json!({
        "apiGroups": [""], "resources": ["secrets"], "resourceNames": ["hooks-ring"],
        "verbs": ["get", "list", "watch", "update", "patch"],
    });
    let mut rules = vec![secret, events.clone()];
    if create {
        rules.push(json!({ "apiGroups": [""], "resources": ["secrets"], "verbs": ["create"] }));
    }
    let subject = json!([{ "kind": "ServiceAccount", "name": "hooks", "namespace": namespace }]);
    let reference = |kind: &str, name: &str| json!({ "apiGroup": "rbac.authorization.k8s.io", "kind": kind, "name": name });
    for (place, name, rules) in
        [(namespace.as_str(), "hooks", json!(rules)), ("default", namespace, json!([events]))]
    {
        let (roles, bindings) = (
            Api::<Role>::namespaced(fixture.admin.clone(), place),
            Api::<RoleBinding>::namespaced(fixture.admin.clone(), place),
        );
        make(&roles, json!({ "metadata": { "name": name }, "rules": rules })).await;
        let binding =
            json!({ "metadata": { "name": name }, "roleRef": reference("Role", name), "subjects": subject });
        make(&bindings, binding).await;
    }
    let rule = json!({
        "apiGroups": ["admissionregistration.k8s.io"], "resources": ["mutatingwebhookconfigurations"],
        "resourceNames": [fixture.registration.name], "verbs": ["get", "list", "watch", "patch"],
    });
    let roles = Api::<ClusterRole>::all(fixture.admin.clone());
    make(&roles, json!({ "metadata": { "name": namespace }, "rules": [rule] })).await;
    let bindings = Api::<ClusterRoleBinding>::all(fixture.admin.clone());
    let binding = json!({ "metadata": { "name": namespace }, "roleRef": reference("ClusterRole", namespace), "subjects": subject });
    make(&bindings, binding).await;
    client
}

async fn make<K>(api: &Api<K>, object: Value)
where
    K: kube::Resource + Clone + serde::Serialize + DeserializeOwned + std::fmt::Debug,
{
    let object: K = serde_json::from_value(object).unwrap();
    api.create(&PostParams::default(), &object).await.unwrap();
}

#[tokio::test]
async fn the_documented_rights_are_enough_for_everything() {
    let Some(env) = testenv::shared_or_skip().await else { return };
    let fixture = Fixture::with(&env, fleeting()).await;
    let client = least(&env, &fixture, true).await;
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
    let client = least(&env, &fixture, false).await;
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
    let client = least(&env, &fixture, true).await;
    let replica = SelfManaged::start(client, fixture.settings()).unwrap();
    within(10, &replica).await;
    let (namespace, bundle) = (&fixture.namespace, &fixture.bundles().await[1]);

    let roles = Api::<Role>::namespaced(fixture.admin.clone(), namespace);
    let role = roles.get("hooks").await.unwrap();
    let mut without = role.clone();
    without.rules.as_mut().unwrap().retain(|rule| rule.resources.as_deref() != Some(&["secrets".to_owned()]));
    roles.replace("hooks", &PostParams::default(), &without).await.unwrap();
    let note = async || fixture.event_note("RingNotReadable", namespace).await;
    until("an Event says so", 20, async || note().await.is_some()).await;
    let note = note().await.unwrap();
    let said = format!("Secret {namespace}/hooks-ring cannot be read: secrets \"hooks-ring\" is forbidden: ");
    assert!(note.starts_with(&said), "{note}");
    assert_eq!(replica.status().waiting_for, None, "it serves on");
    assert_accepted(&replica, bundle, namespace);
    // Of a command that comes meanwhile it learns nothing.
    fixture.annotate_secret("vestibule.dev/rotate", "1").await;

    let mut role = role;
    role.metadata.resource_version = None;
    roles.replace("hooks", &PostParams::default(), &role).await.unwrap();
    until("it fulfils the command", 20, async || fixture.has_event("RingPromoted", namespace).await).await;
    assert_eq!(replica.status().waiting_for, None);
    assert_accepted(&replica, &fixture.bundles().await[1], namespace);
}

/// The other one exists, and can be read and watched: only writing it is refused.
#[tokio::test]
async fn one_configuration_that_may_not_be_written_does_not_stop_the_others() {
    let Some(env) = testenv::shared_or_skip().await else { return };
    let fixture = Fixture::new(&env).await;
    let client = least(&env, &fixture, true).await;
    let mut denied = Fixture::new(&env).await;
    denied.policy = fixture.policy.clone();
    may_read(&fixture, &denied.registration.name).await;
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

/// The replica's account may look at this configuration too, and no more.
async fn may_read(fixture: &Fixture, name: &str) {
    let account = &fixture.namespace;
    let rule = json!({
        "apiGroups": ["admissionregistration.k8s.io"], "resources": ["mutatingwebhookconfigurations"],
        "resourceNames": [name], "verbs": ["get", "list", "watch"],
    });
    let roles = Api::<ClusterRole>::all(fixture.admin.clone());
    make(&roles, json!({ "metadata": { "name": name }, "rules": [rule] })).await;
    let bindings = Api::<ClusterRoleBinding>::all(fixture.admin.clone());
    let binding = json!({
        "metadata": { "name": name },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "ClusterRole", "name": name },
        "subjects": [{ "kind": "ServiceAccount", "name": "hooks", "namespace": account }],
    });
    make(&bindings, binding).await;
}
