//! A new list follows on an outage, and on a watch from a resource version that a real API server has compacted: it answers 410.

mod fixture;

use std::time::Duration;

use k8s_openapi::ByteString;
use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use kube::api::{Patch, PatchParams};
use serde_json::json;
use tokio::time::timeout;
use vestibule::identity::{Identity, SelfManaged, Settings};
use vestibule_injector::Configuration;

use self::fixture::Fixture;
use crate::reload::{TIMEOUT, cache, config_map, in_force};

/// A watch that no API server has answered is not continued from its last version: objects are listed.
#[tokio::test]
async fn rules_that_change_during_an_outage_are_listed_after_it() {
    let Some(mut fixture) = Fixture::new().await else { return };
    let home = fixture.cluster.home.clone();
    home.create(&config_map("cache", &cache("redis:8.2"))).await.object();
    let configuration = Configuration::from_cluster(fixture.client.clone(), home.name());
    in_force(&configuration, "redis:8.2").await;

    let unheard = async || drop(home.replace(&config_map("cache", &cache("redis:8.3"))).await.object());
    fixture.misses("configmaps", unheard).await;
    in_force(&configuration, "redis:8.3").await;
    home.replace(&config_map("cache", &cache("redis:8.4"))).await.object();
    in_force(&configuration, "redis:8.4").await;
}

#[tokio::test]
async fn a_ring_and_a_configuration_are_listed_again_after_their_watches_are_answered_410() {
    const WATCHED: [&str; 2] = ["secrets", "mutatingwebhookconfigurations"];
    let Some(mut fixture) = Fixture::new().await else { return };
    let (home, client) = (fixture.cluster.home.name().to_owned(), fixture.cluster.client());
    let (secrets, configurations) = (Api::<Secret>::namespaced(client.clone(), &home), Api::all(client));
    let hook = json!({ "name": "hook.example.dev", "sideEffects": "None", "admissionReviewVersions": ["v1"],
                       "clientConfig": { "service": { "namespace": home, "name": "hooks" } } });
    let object = json!({ "metadata": { "name": "hooks" }, "webhooks": [hook] });
    let object: MutatingWebhookConfiguration = serde_json::from_value(object).unwrap();
    configurations.create(&Default::default(), &object).await.unwrap();

    // Without a watch event, the ring is read every ten minutes only.
    let mut settings = Settings::for_service(format!("{home}/hooks").parse().unwrap());
    settings.registrations = vec!["mutating/hooks".parse().unwrap()];
    (settings.policy.hold_cold, settings.policy.recheck) = (Duration::from_secs(2), Duration::from_secs(1));
    let identity = SelfManaged::start(fixture.client.clone(), settings).unwrap();
    timeout(TIMEOUT, identity.ready()).await.expect("it is not ready");

    let spoil_secret = async || {
        let spoilt = Patch::Merge(json!({ "stringData": { "ca.crt": "spoilt" } }));
        secrets.patch("hooks-ring", &PatchParams::default(), &spoilt).await.unwrap();
    };
    let spoil_configuration = async || {
        let spoilt =
            json!([{ "op": "replace", "path": "/webhooks/0/clientConfig/caBundle", "value": "Cg==" }]);
        let spoilt = Patch::<()>::Json(serde_json::from_value(spoilt).unwrap());
        configurations.patch("hooks", &PatchParams::default(), &spoilt).await.unwrap();
    };
    let both_repaired = async || {
        let ours = |found: Option<&ByteString>| {
            let bundle = identity.ca_bundle().unwrap();
            found.is_some_and(|found| found.0 == bundle.as_bytes())
        };
        let repaired = async {
            loop {
                let secret = secrets.get("hooks-ring").await.unwrap().data.unwrap_or_default();
                let hooks = configurations.get("hooks").await.unwrap().webhooks.unwrap_or_default();
                if ours(secret.get("ca.crt")) && ours(hooks[0].client_config.ca_bundle.as_ref()) {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
        };
        timeout(TIMEOUT, repaired).await.expect("no replica repairs it");
    };
    both_repaired().await;
    fixture.forgets(&WATCHED, &spoil_secret).await;
    both_repaired().await;
    fixture.forgets(&WATCHED, &spoil_configuration).await;
    both_repaired().await;
    spoil_secret().await;
    both_repaired().await;
}
