//! CustomResourceDefinitions with a conversion webhook. Tools merge their fields differently from webhook entries.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::Api;
use serde_json::{Value, json};
use vestibule_identity::{Identity, NamespacedName, SelfManaged, Settings};
use vestibule_pki::ring::Policy;
use vestibule_testenv::{Environment, Tools, tools_or_skip};

use super::fixture::succeed;
use super::owner::write_chart;
use crate::fixture::shared_or_skip;

/// The ring's Secret of a Service `hooks`.
const RING: &str = "hooks-ring";

const OWNERS: [&str; 4] = ["kubectl", "server-side", "helm3", "helm4"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_crd_keeps_its_bundle_with_every_tool() {
    let Some(tools) = tools_or_skip().await else { return };
    let Some(env) = shared_or_skip().await else { return };
    let namespace = env.namespace(&[]).await.unwrap().name().to_owned();
    let service = NamespacedName { namespace: namespace.clone(), name: "hooks".to_owned() };
    let mut settings = Settings::for_service(service);
    let names = OWNERS.map(|owner| format!("widgets.{owner}.{namespace}.example.dev"));
    settings.registrations = names.iter().map(|name| format!("crd/{name}").parse().unwrap()).collect();
    settings.policy = policy();
    let definitions = Api::<CustomResourceDefinition>::all(env.admin().unwrap());
    let live = async |name: &str| {
        let live = definitions.get(name).await.unwrap();
        let client = live.spec.conversion.unwrap().webhook.unwrap().client_config.unwrap();
        let bundle = client.ca_bundle.map(|bundle| String::from_utf8(bundle.0).unwrap());
        (bundle, live.metadata.generation.unwrap())
    };

    for owner in OWNERS {
        apply((&env, &tools), owner, &manifest(owner, &namespace, "first"));
    }
    fire::grant(&env, &namespace, RING, &settings.registrations).await.unwrap();
    let client = env.service_account(&namespace, fire::ACCOUNT).await.unwrap();
    let replica = SelfManaged::start(client, settings).unwrap();
    tokio::time::timeout(Duration::from_secs(20), replica.ready()).await.unwrap();
    let bundle = replica.ca_bundle().map(|bundle| bundle.to_string());
    for (owner, name) in OWNERS.into_iter().zip(&names) {
        let before = live(name).await;
        assert_eq!(before.0, bundle);
        apply((&env, &tools), owner, &manifest(owner, &namespace, "first"));
        assert_eq!(live(name).await, before, "{owner} had nothing to write");
        apply((&env, &tools), owner, &manifest(owner, &namespace, "second"));
        assert_eq!(
            live(name).await,
            (bundle.clone(), before.1 + 1),
            "{owner} wrote once, and no other writer after it"
        );
    }
}

fn apply((env, tools): (&Environment, &Tools), owner: &str, manifest: &Value) {
    let name = manifest["metadata"]["name"].as_str().unwrap();
    let folder = env.folder().join(name);
    write_chart(&folder, manifest);
    let helm = |program: &Path| {
        let mut helm = env.command(program);
        helm.args(["upgrade", "--install", owner]).arg(&folder);
        helm
    };
    let kubectl = |flags: &[&str]| -> Command {
        let mut kubectl = env.command(&tools.kubectl);
        kubectl.arg("apply").args(flags).arg("-f").arg(folder.join("templates/hooks.yaml"));
        kubectl
    };
    succeed(&mut match owner {
        "kubectl" => kubectl(&[]),
        "server-side" => kubectl(&["--server-side"]),
        "helm3" => helm(&tools.helm3),
        _ => helm(&tools.helm4),
    });
}

/// Versions of the manifest differ in `description`.
fn manifest(owner: &str, namespace: &str, description: &str) -> Value {
    let group = format!("{owner}.{namespace}.example.dev");
    let version = |name: &str| {
        json!({
            "name": name, "served": true, "storage": name == "v1",
            "schema": { "openAPIV3Schema": { "type": "object", "description": description } },
        })
    };
    let service = json!({ "namespace": namespace, "name": "hooks", "path": "/convert" });
    let conversion = json!({
        "strategy": "Webhook",
        "webhook": { "clientConfig": { "service": service }, "conversionReviewVersions": ["v1"] },
    });
    json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("widgets.{group}") },
        "spec": {
            "group": group, "scope": "Namespaced", "conversion": conversion,
            "names": { "plural": "widgets", "singular": "widget", "kind": "Widget" },
            "versions": [version("v1"), version("v2")],
        },
    })
}

fn policy() -> Policy {
    let mut policy = Policy::default();
    (policy.hold_cold, policy.recheck) = (Duration::from_secs(2), Duration::from_secs(1));
    policy
}
