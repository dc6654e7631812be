//! Others that write into the configuration again and again.

use std::time::{Duration, Instant};

use k8s_openapi::ByteString;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::{Value, json};
use vestibule_testenv as testenv;

use super::scene::{Scene, Version, until};

const MANAGER: &str = "gitops";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_bundle_that_is_reset_every_two_seconds_is_repaired_each_time() {
    let Some(env) = testenv::shared_or_skip().await else { return };
    let scene = installed(&env).await;
    war(&scene, async || {
        let reset = json!([
            { "op": "replace", "path": "/webhooks/0/clientConfig/caBundle", "value": "" },
            { "op": "replace", "path": "/webhooks/1/clientConfig/caBundle", "value": ByteString(b"\n".to_vec()) },
        ]);
        edit(&scene, reset).await;
    })
    .await;
}

/// The annotations go with the bundle.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_configuration_that_is_replaced_every_two_seconds_is_repaired_each_time() {
    let Some(env) = testenv::shared_or_skip().await else { return };
    let scene = installed(&env).await;
    war(&scene, async || {
        let parameters = PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
        let mut object = scene.manifest(Version::First);
        // Whoever sees a conflict tries again.
        object["metadata"]["resourceVersion"] = json!(scene.version().await);
        let object = serde_json::from_value(object).unwrap();
        match scene.configurations().replace(&scene.registration, &parameters, &object).await {
            Err(kube::Error::Api(status)) if status.code == 409 => {}
            outcome => drop(outcome.unwrap()),
        }
    })
    .await;
}

/// Twenty seconds of it.
async fn war(scene: &Scene<'_>, mut reset: impl AsyncFnMut()) {
    const ROUNDS: usize = 10;
    const PERIOD: Duration = Duration::from_secs(2);
    /// The longest pause, and a second to repair.
    const PATIENCE: Duration = Duration::from_secs(6);
    let bundle = scene.ready().await;
    let start = scene.history.len();
    let mut ticks = tokio::time::interval(PERIOD);
    for _ in 0..ROUNDS {
        ticks.tick().await;
        reset().await;
    }
    let over = Instant::now();
    until("the last reset is repaired", PATIENCE, async || {
        scene.bundles().await.values().all(|held| *held == bundle)
    })
    .await;
    until("that is seen", Duration::from_secs(1), async || {
        let gaps = scene.history.gaps(start, &bundle);
        gaps.last().is_some_and(|(_, took)| *took < over.elapsed() + PATIENCE)
            && scene.history.repairs(start, &bundle) == gaps.len()
    })
    .await;
    let (gaps, repairs) = (scene.history.gaps(start, &bundle), scene.history.repairs(start, &bundle));
    assert!(gaps.iter().all(|(_, took)| *took < PATIENCE), "{gaps:?}");
    assert!((ROUNDS / 2..=ROUNDS).contains(&repairs), "{repairs} repairs: {gaps:?}");
    assert!(scene.history.len() - start <= 2 * ROUNDS, "one write for each reset at most");
    scene.repair_is_told(MANAGER).await;
    scene.answers().await;
    assert_eq!(scene.errors(), [""; 0]);
}

/// As some providers do, who keep webhooks away from their own namespaces.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn selectors_that_an_enforcer_edits_are_none_of_our_business() {
    let Some(env) = testenv::shared_or_skip().await else { return };
    let scene = installed(&env).await;
    let bundle = scene.ready().await;
    let load = scene.load();
    let start = scene.history.len();
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
        edit(&scene, Value::Array(edits)).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    // A write of ours would come within this time.
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(scene.history.len() - start, EDITS, "every write was the enforcer's");
    assert_eq!(scene.history.gaps(start, &bundle), []);
    load.stop().await;
    assert_eq!(scene.failures(), [].into());
}

async fn installed<'e>(env: &'e testenv::Session) -> Scene<'e> {
    let scene = Scene::new(env).await;
    let parameters = PostParams { field_manager: Some(MANAGER.to_owned()), ..PostParams::default() };
    let object = serde_json::from_value(scene.manifest(Version::First)).unwrap();
    scene.configurations().create(&parameters, &object).await.unwrap();
    scene
}

async fn edit(scene: &Scene<'_>, operations: Value) {
    let parameters = PatchParams { field_manager: Some(MANAGER.to_owned()), ..PatchParams::default() };
    let operations = serde_json::from_value(operations).unwrap();
    let patch = Patch::Json::<()>(operations);
    scene.configurations().patch(&scene.registration, &parameters, &patch).await.unwrap();
}
