//! Row 10: defects of the ring's Secret.

mod cases;

use std::time::Duration;

use fire::ROTATE;
use futures_util::{StreamExt, stream};
use k8s_openapi::ByteString;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use vestibule_identity::{Identity, NamespacedName, Settings};
use vestibule_testenv::Environment;

use self::cases::{Case, Data, Fields, cases};
use super::fixture::{InProcessReplica, annotate, event, ring, shared_or_skip, until};

const SECRET: &str = "bad-ring";
/// Concurrent replicas.
const AT_A_TIME: usize = 6;

#[tokio::test]
async fn every_defect_of_the_secret_is_reported_and_repaired() {
    let Some(env) = shared_or_skip().await else { return };
    let cases = cases();
    assert!(cases.len() > 35, "{}", cases.len());
    let outcomes = stream::iter(cases).map(|case| heals(&env, case)).buffer_unordered(AT_A_TIME);
    let outcomes: Vec<Option<String>> = outcomes.collect().await;
    let failures: Vec<_> = outcomes.into_iter().flatten().collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

/// Damages a rotated ring; the replica must report it and repair it from memory. Returns the failed expectations.
async fn heals(env: &Environment, case: Case) -> Option<String> {
    let admin = env.admin().unwrap();
    let namespace = env.namespace(&[]).await.unwrap().name().to_owned();
    let secrets: Api<Secret> = Api::namespaced(admin.clone(), &namespace);
    let named = |name: &str| NamespacedName { namespace: namespace.clone(), name: name.to_owned() };
    let mut settings = Settings::for_service(named("hooks"));
    settings.secret = Some(named(SECRET));
    let policy = &mut settings.policy;
    (policy.hold, policy.hold_cold) = (Duration::from_secs(2), Duration::from_secs(2));
    policy.recheck = Duration::from_secs(1);
    fire::grant(env, &namespace, SECRET, &[]).await.unwrap();
    let client = env.service_account(&namespace, fire::ACCOUNT).await.unwrap();
    let replica = InProcessReplica::start(client, settings);
    replica.ready().await;
    annotate(&secrets, SECRET, ROTATE, "once").await;
    until(&format!("{}: a rotation", case.name), 30, async || {
        ring(&secrets, SECRET)
            .await
            .is_some_and(|facts| facts.is_overlapping() && facts.next().is_some_and(|ca| ca.held.is_some()))
    })
    .await;
    let before = ring(&secrets, SECRET).await.unwrap();

    let mut secret = secrets.get(SECRET).await.unwrap();
    let mut data: Data =
        secret.data.take().unwrap().into_iter().map(|(field, bytes)| (field, bytes.0)).collect();
    let (fields, problem) = (case.spoil)(&Fields::of(&before), &mut data);
    secret.data = Some(data.into_iter().map(|(field, bytes)| (field, ByteString(bytes))).collect());
    secrets.replace(SECRET, &Default::default(), &secret).await.unwrap();

    let healed =
        async || ring(&secrets, SECRET).await.is_some_and(|ring| ring.generation > before.generation);
    let note = async || event(&admin, &namespace, "RingUnreadable").await;
    until(&format!("{}: the ring is mended", case.name), 20, healed).await;
    until(&format!("{}: an Event", case.name), 20, async || note().await.is_some()).await;
    let (note, after) = (note().await.unwrap(), ring(&secrets, SECRET).await.unwrap());
    let failure = if !fields.iter().any(|field| note.contains(&format!("`{field}` {problem}"))) {
        Some(format!("the Event does not say {fields:?} {problem}: {note}"))
    } else if leaks(&note, &secret) {
        Some(format!("the Event holds bytes: {note}"))
    } else if !after.trusted().is_superset(&before.trusted()) {
        Some(format!("what was trusted is no longer: {before:?}, {after:?}"))
    } else {
        let waiting_for = replica.identity.status().waiting_for;
        waiting_for.map(|what| format!("the replica is not ready any more: {what}"))
    };
    failure.map(|failure| format!("{}: {failure}", case.name))
}

/// Whether the note quotes a piece of the Secret.
fn leaks(note: &str, secret: &Secret) -> bool {
    const PIECE: usize = 20;
    let values =
        secret.data.iter().flatten().map(|(_, bytes)| String::from_utf8_lossy(&bytes.0).into_owned());
    values.flat_map(|text| text.lines().map(ToOwned::to_owned).collect::<Vec<_>>()).any(|line| {
        line.is_ascii()
            && !line.starts_with('{')
            && !line.starts_with("-----")
            && line.len() >= PIECE
            && note.contains(&line[..PIECE])
    })
}
