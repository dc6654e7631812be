//! Rows 31 and 34: other names for the same webhook.

use kube::api::{Patch, PatchParams};
use serde_json::{Value, json};
use vestibule_pki::{describe, ring::read_bundle};

use super::fixture::{Fixture, shared_or_skip, until};

/// Row 31: the API server calls a URL with an IP address.
#[tokio::test]
async fn a_url_with_an_address_is_served() {
    let Some(env) = shared_or_skip().await else { return };
    let fixture = Fixture::new(&env, &[]).await;
    let address = fixture.cluster.service().address();
    point(&fixture, |path| json!({ "url": format!("https://{address}{path}") })).await;
    let name = format!("--name={}", address.ip());
    let mut replicas = Vec::new();
    for _ in 0..2 {
        let replica = fixture.cluster.start_unrouted(|command| {
            command.arg(&name);
        });
        let replica = replica.await.unwrap();
        fixture.cluster.route(&replica).unwrap();
        replicas.push(replica);
    }
    fixture.all_ready(&replicas).await;
    let load = fixture.load();
    fixture.steady().await;
    let before = fixture.active().await;
    fixture.annotate(fire::ROTATE, "once").await;
    until("another CA signs", 20, async || fixture.active().await != before).await;
    fixture.steady().await;
    let bundle = fixture.bundles().await.remove(0);
    let constraints = read_bundle(&bundle).into_values().map(|ca| describe(&ca).unwrap().permitted_domains);
    assert!(constraints.flatten().next().is_none(), "addresses only: no DNS name is permitted or forbidden");
    fixture.nothing_failed(load).await;
}

/// Row 34. The chart's next version renames the Service; its replicas start before the configuration changes.
#[tokio::test]
async fn a_renamed_service_is_served_under_the_same_authority() {
    let Some(env) = shared_or_skip().await else { return };
    let fixture = Fixture::new(&env, &[]).await;
    let old = fixture.serve(2).await;
    let load = fixture.load();
    let before = fixture.steady().await;

    let renamed = env.two_port_service(fixture.cluster.home(), "renamed").await.unwrap();
    let mut new = Vec::new();
    for _ in 0..2 {
        let replica = fixture.cluster.start_unrouted(|command| {
            command.arg("--service=renamed");
        });
        let replica = replica.await.unwrap();
        renamed.add_two_port_replica(replica.hooks(), Some(replica.probes())).unwrap();
        new.push(replica);
    }
    renamed.wait_for_replicas(2).await.unwrap();
    point(&fixture, |path| json!({ "service": fire::hook::reference(&renamed, path) })).await;
    let counts = || fixture.cluster.counters().read();
    let has = |replica: &fire::Replica| counts().replicas.contains_key(&replica.number());
    until("the new ones are called", 20, async || new.iter().all(has)).await;
    let calls = counts().calls + 100;
    until("calls go on", 30, async || counts().calls > calls).await;
    for replica in old {
        replica.kill().await.unwrap();
    }
    let calls = counts().calls + 100;
    until("calls go on without the old ones", 30, async || counts().calls > calls).await;
    assert_eq!(fixture.active().await, before.active().map(|ca| ca.id), "the same CA");
    assert_eq!(fixture.trusted().await, before.trusted());
    fixture.nothing_failed(load).await;
}

/// Changes the `clientConfig` of this webhook's entries without the caBundle.
async fn point(fixture: &Fixture<'_>, client_config: impl Fn(&str) -> Value) {
    let all = fixture.cluster.configurations().unwrap();
    let name = fixture.cluster.registration();
    let object = all.get(name).await.unwrap();
    let mut operations = Vec::new();
    for (position, entry) in object.webhooks.iter().flatten().enumerate() {
        let path = match entry.name.as_str() {
            "close.fire.vestibule.dev" => fire::hook::CLOSE,
            "keep.fire.vestibule.dev" => fire::hook::KEEP,
            _ => continue,
        };
        let mut value = client_config(path);
        if let Some(bundle) = &entry.client_config.ca_bundle {
            value["caBundle"] = json!(bundle);
        }
        let path = format!("/webhooks/{position}/clientConfig");
        operations.push(json!({ "op": "replace", "path": path, "value": value }));
    }
    assert_eq!(operations.len(), 2);
    let patch = Patch::Json::<()>(serde_json::from_value(Value::Array(operations)).unwrap());
    all.patch(name, &PatchParams::default(), &patch).await.unwrap();
}
