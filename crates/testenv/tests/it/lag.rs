//! An API server whose watches lag.

use std::time::{Duration, Instant};

use k8s_openapi::ByteString;
use kube::Api;
use kube::api::{DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use serde_json::json;
use vestibule_testenv::{Answer, ApiServer, Options, Recorder, start_or_skip};

use crate::objects::{configuration, create};

const LAG: Duration = Duration::from_secs(6);

#[tokio::test]
async fn the_second_api_server_calls_with_the_old_bundle_while_it_lags() {
    let Some(env) = start_or_skip(&Options::default().second_api_server()).await else { return };
    let (first, second) = (env.api_server(), env.second().unwrap());
    let watches = env.second_watches().unwrap();
    assert!(watches.connections() > 50, "each resource has a connection of its own");
    let namespace = env.namespace(&[]).await.unwrap();
    let recorder = Recorder::start(&[], |_| Answer::Deny("reached".to_owned())).unwrap();
    let other = Recorder::allowing(&[]).unwrap();
    let client_config = json!({ "url": recorder.url("/"), "caBundle": recorder.ca_bundle() });
    let name = format!("{namespace}-lag");
    let kind = "ValidatingWebhookConfiguration";
    let _installed =
        env.install([configuration(kind, &name, namespace.name(), &client_config)]).await.unwrap();
    let write = async |bundle: ByteString| write_bundle(first, &name, &bundle).await;
    let reached = async |server: &ApiServer| reached(server, namespace.name()).await;
    let until = async |server: &ApiServer, state: bool| {
        let start = Instant::now();
        while reached(server).await != state {
            assert!(start.elapsed() < Duration::from_secs(60), "it stays as it was");
        }
    };
    assert!(reached(second).await);

    // Without a lag, each server acts on a change at once.
    write(other.ca_bundle()).await;
    until(first, false).await;
    until(second, false).await;

    // With a lag, the second server acts later.
    watches.delay(LAG);
    let written = Instant::now();
    write(recorder.ca_bundle()).await;
    until(first, true).await;
    assert!(written.elapsed() < LAG / 2);
    assert!(!reached(second).await);
    until(second, true).await;
    let lag = written.elapsed();
    println!("second API server acted after {lag:?}");
    assert!(lag >= LAG && lag < LAG * 2, "{lag:?}");

    // Reads are not delayed, also of the same objects.
    write(other.ca_bundle()).await;
    let asked = Instant::now();
    let read = configurations(second).get(&name).await.unwrap();
    assert_eq!(read.data["webhooks"][1]["clientConfig"]["caBundle"], json!(other.ca_bundle()));
    assert!(asked.elapsed() < LAG / 2, "{:?}", asked.elapsed());

    // The lag ends, also for changes that are already in the proxy.
    watches.delay(Duration::ZERO);
    until(second, false).await;

    // With cut watches it acts on the last known state, and catches up afterwards.
    watches.cut();
    write(recorder.ca_bundle()).await;
    until(first, true).await;
    let start = Instant::now();
    while start.elapsed() < LAG {
        assert!(!reached(second).await);
    }
    watches.resume();
    let resumed = Instant::now();
    until(second, true).await;
    println!("second API server acted {:?} after its watch was back", resumed.elapsed());
}

async fn write_bundle(server: &ApiServer, name: &str, bundle: &ByteString) {
    let hook =
        json!({ "name": format!("{name}.testenv.example.dev"), "clientConfig": { "caBundle": bundle } });
    let patch = Patch::Strategic(json!({ "webhooks": [hook] }));
    configurations(server).patch(name, &PatchParams::default(), &patch).await.expect("it is written");
}

fn configurations(server: &ApiServer) -> Api<DynamicObject> {
    let kind = GroupVersionKind::gvk("admissionregistration.k8s.io", "v1", "ValidatingWebhookConfiguration");
    Api::all_with(server.admin().unwrap(), &ApiResource::from_gvk(&kind))
}

/// Whether the hook is reached: its certificate fits the bundle that the server has.
async fn reached(server: &ApiServer, namespace: &str) -> bool {
    let refusal = create(server.admin().unwrap(), namespace).await.expect_err("refused either way");
    let refusal = refusal.to_string();
    assert!(refusal.contains("reached") || refusal.contains("unknown authority"), "{refusal}");
    refusal.contains("reached")
}
