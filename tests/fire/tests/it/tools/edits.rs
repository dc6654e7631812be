//! Programs that overwrite the configuration repeatedly.

use std::time::{Duration, Instant};

use k8s_openapi::ByteString;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use vestibule_testenv::Environment;

use super::fixture::{AT_ONCE, PATIENCE, ToolFixture, Version, until};
use crate::fixture::shared_or_skip;

const MANAGER: &str = "gitops";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bundle_that_is_reset_every_second_is_repaired_each_time() {
    let Some(env) = shared_or_skip().await else { return };
    let fixture = installed(&env).await;
    reset_every_second(&fixture, async || {
        let reset = json!([bundle_at(0, b""), bundle_at(1, b"\n")]);
        edit(&fixture, reset).await;
    })
    .await;
}

/// The reset removes the annotations too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_configuration_that_is_replaced_every_second_is_repaired_each_time() {
    let Some(env) = shared_or_skip().await else { return };
    let fixture = installed(&env).await;
    reset_every_second(&fixture, async || {
        let parameters = PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
        let mut object = fixture.manifest(Version::First);
        // A conflict is retried.
        object["metadata"]["resourceVersion"] = json!(fixture.version().await);
        let object = serde_json::from_value(object).unwrap();
        match fixture.configurations().replace(&fixture.registration, &parameters, &object).await {
            Err(kube::Error::Api(status)) if status.code == 409 => {}
            outcome => drop(outcome.unwrap()),
        }
    })
    .await;
}

/// Resets the configuration every second, 20 times, and checks the repairs.
async fn reset_every_second(fixture: &ToolFixture<'_>, mut reset: impl AsyncFnMut()) {
    const ROUNDS: usize = 20;
    const PERIOD: Duration = Duration::from_secs(1);
    /// The limit of repairs per minute.
    const MOST: usize = 15;
    /// The longest pause of 5 s, and 5 s for the repair on a busy machine.
    const LONGEST: Duration = Duration::from_secs(10);
    let bundle = fixture.ready().await;
    let start = fixture.versions().await;
    let mut ticks = tokio::time::interval(PERIOD);
    for _ in 0..ROUNDS {
        ticks.tick().await;
        reset().await;
    }
    let over = Instant::now();
    until("the last reset is repaired", LONGEST, async || holds(fixture, &bundle).await).await;
    until("the history has the last repair", LONGEST, async || {
        let gaps = fixture.history.gaps(start, &bundle);
        gaps.last().is_some_and(|(_, took)| *took < over.elapsed() + LONGEST)
            && fixture.history.repairs(start, &bundle) == gaps.len()
    })
    .await;
    let (gaps, repairs) = (fixture.history.gaps(start, &bundle), fixture.history.repairs(start, &bundle));
    assert!(gaps.iter().all(|(_, took)| *took < LONGEST), "{gaps:?}");
    let mut took: Vec<_> = gaps.iter().map(|(_, took)| *took).collect();
    took.sort_unstable();
    // The median, because a busy machine delays some repairs.
    assert!(took[took.len() / 2] <= Duration::from_secs(5) + PERIOD, "{took:?}");
    // After the first repairs, there is one every 5 s.
    assert!((ROUNDS / 5..=MOST).contains(&repairs), "{repairs} repairs: {gaps:?}");
    assert!(fixture.versions().await - start <= ROUNDS + repairs, "one write for each repair");
    fixture.wait_for_repair_event(MANAGER).await;
    fixture.wait_for_answers().await;
    assert_eq!(fixture.errors(), [""; 0]);
}

/// Some cloud providers add selectors that exclude their own namespaces.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn selectors_edited_by_an_enforcer_stay() {
    let Some(env) = shared_or_skip().await else { return };
    let fixture = installed(&env).await;
    let bundle = fixture.ready().await;
    let load = fixture.load();
    let start = fixture.versions().await;
    const EDITS: usize = 20;
    for number in 0..EDITS {
        let expressions = if number % 2 == 0 {
            json!([{ "key": "control-plane", "operator": "DoesNotExist" }])
        } else {
            json!([])
        };
        let path = |entry: usize| format!("/webhooks/{entry}/namespaceSelector/matchExpressions");
        let edits: Vec<_> =
            (0..2).map(|entry| json!({ "op": "add", "path": path(entry), "value": expressions })).collect();
        edit(&fixture, Value::Array(edits)).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    // The replica would repair within this time.
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(fixture.versions().await - start, EDITS, "every write was the enforcer's");
    assert_eq!(fixture.history.gaps(start, &bundle), []);
    load.stop().await;
    assert_eq!(fixture.failures(), [].into());
}

/// The old bundle already trusts the next CA, so calls succeed after the reset.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reset_to_the_bundle_before_a_rotation_fails_no_call() {
    let Some(env) = shared_or_skip().await else { return };
    let fixture = installed(&env).await;
    let before = fixture.ready().await;
    let load = fixture.load();
    until("calls are made", PATIENCE, async || fixture.calls() > 0).await;
    fixture.rotate().await;
    until("a client met the next CA", PATIENCE, async || fixture.issuers().len() == 2).await;
    let after = fixture.ring_bundle().await;
    assert_ne!(before, after);
    until("the new bundle is there", PATIENCE, async || holds(&fixture, &after).await).await;

    let start = fixture.versions().await;
    let restored: Vec<_> = (0..2).map(|entry| bundle_at(entry, before.as_bytes())).collect();
    edit(&fixture, Value::Array(restored)).await;
    until("it is repaired", PATIENCE, async || fixture.history.repairs(start, &after) == 1).await;
    let gaps = fixture.history.gaps(start, &after);
    assert!(gaps.len() == 1 && gaps[0].1 < AT_ONCE, "{gaps:?}");
    let calls = fixture.calls();
    until("calls are made", PATIENCE, async || fixture.calls() > calls + 40).await;
    load.stop().await;
    assert_eq!(fixture.failures(), [].into());
}

async fn installed(env: &Environment) -> ToolFixture<'_> {
    let fixture = ToolFixture::new(env).await;
    install(&fixture).await;
    fixture
}

async fn install(fixture: &ToolFixture<'_>) {
    let parameters = PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
    let object = serde_json::from_value(fixture.manifest(Version::First)).unwrap();
    fixture.configurations().create(&parameters, &object).await.unwrap();
}

async fn holds(fixture: &ToolFixture<'_>, bundle: &str) -> bool {
    fixture.bundles().await.values().all(|held| held == bundle)
}

fn bundle_at(entry: usize, bundle: &[u8]) -> Value {
    let path = format!("/webhooks/{entry}/clientConfig/caBundle");
    json!({ "op": "add", "path": path, "value": ByteString(bundle.to_vec()) })
}

async fn edit(fixture: &ToolFixture<'_>, operations: Value) {
    let parameters = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
    let operations = serde_json::from_value(operations).unwrap();
    let patch = Patch::Json::<()>(operations);
    fixture.configurations().patch(&fixture.registration, &parameters, &patch).await.unwrap();
}
