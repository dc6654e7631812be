//! Rules in ConfigMaps: watched, validated at apply, with the last good rules kept, under the printed rights.

mod watches;

use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::api::events::v1::Event;
use kube::api::ListParams;
use kube::{Api, Client};
use serde_json::{Value, json};
use vestibule::Target;
use vestibule_injector::{Configuration, Namespaces, Snapshot, SnapshotState, app, compile};

use crate::cluster::{Cluster, Namespace};
use crate::samples::pod;
use vestibule_manifests::Installation;
use vestibule_testenv::until;

/// Longer than any wait takes on a busy machine.
pub(crate) const TIMEOUT: Duration = Duration::from_secs(60);
const HOW_TO: &str = include_str!("../../../../docs/how-to/change-rules.md");

/// The rule of the page.
pub(crate) fn cache(version: &str) -> String {
    block("rules.yaml").replace("redis:8.2", version)
}

/// The block with the title `file` on the page.
fn block(file: &str) -> String {
    let (_, rest) = HOW_TO.split_once(&format!("```yaml {file}\n")).unwrap();
    rest.split_once("```").unwrap().0.to_owned()
}

pub(crate) fn config_map(name: &str, text: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap",
           "metadata": {"name": name, "labels": {"vestibule.dev/config": "true"}},
           "data": {"rules.yaml": text}})
}

/// A client with only the rights of the injector's printed manifests.
pub(crate) async fn as_printed(cluster: &Cluster) -> Client {
    let (home, environment) = (cluster.home.name(), &cluster.environment);
    let installed = Configuration::installed(compile([]).ok().unwrap(), home);
    let app = app(installed, Namespaces::unknown()).unwrap();
    let mut installation = Installation::of(&app, Target::service(&format!("{home}/injector")).unwrap());
    installation.name = format!("{home}-injector");
    let mut objects = installation.manifests(&app).unwrap();
    objects.retain(|object| object["kind"].as_str().is_some_and(|kind| kind.contains("Role")));
    environment.apply(objects.clone()).await.unwrap();
    let account = installation.service_account().unwrap();
    environment.wait_until_granted(&account.namespace, &account.name, &objects).await.unwrap();
    environment.service_account(&account.namespace, &account.name).await.unwrap()
}

/// Waits until the snapshot is as `expected` says.
async fn becomes(configuration: &Configuration, expected: impl Fn(&Snapshot) -> bool) -> Arc<Snapshot> {
    let mut configuration = configuration.clone();
    let told = async {
        let mut snapshot = configuration.current();
        while !expected(&snapshot) {
            snapshot = configuration.changed().await;
        }
        snapshot
    };
    tokio::time::timeout(TIMEOUT, told).await.expect("the rules never became so")
}

/// Returns when the first objects with rules are read too.
async fn is_ready(configuration: &Configuration) {
    until("ready", TIMEOUT, async || configuration.ready().is_ok()).await.unwrap();
}

/// Returns when just the rule with this image is in force.
pub(crate) async fn in_force(configuration: &Configuration, image: &str) {
    let rules = compile([("rules.yaml", &*cache(image))]).ok().unwrap();
    becomes(configuration, |snapshot| snapshot.rules().hash() == rules.hash()).await;
}

/// The image of the sidecar that a pod gets now.
async fn sidecar(namespace: &Namespace) -> Option<String> {
    let created = namespace.create_dry_run(&pod("web", &[("app", "app:1")])).await.object();
    let containers = created["spec"]["containers"].as_array().unwrap().clone();
    let sidecar = containers.into_iter().find(|container| container["name"] == "cache")?;
    Some(sidecar["image"].as_str().unwrap().to_owned())
}

#[tokio::test]
async fn rules_in_config_maps_are_watched_and_validated_and_the_last_good_ones_stay() {
    let Some(cluster) = Cluster::shared().await else { return };
    let (home, client) = (cluster.home.clone(), as_printed(&cluster).await);
    let namespace = cluster.namespace(&[("cache", "enabled")]).await;
    let start = || Configuration::from_cluster(client.clone(), home.name());
    let hash = |texts: &[&str]| {
        let rules = compile(texts.iter().map(|text| ("rules.yaml", *text)));
        rules.ok().unwrap().hash().to_owned()
    };
    let in_force = |image: &str, state: SnapshotState| {
        let hash = hash(&[&cache(image)]);
        move |snapshot: &Snapshot| snapshot.rules().hash() == hash && snapshot.state() == state
    };

    home.create(&config_map("cache", &cache("redis:8.2"))).await.object();
    let configuration = start();
    becomes(&configuration, in_force("redis:8.2", SnapshotState::Current)).await;
    let app = app(configuration.clone(), Namespaces::watched(client.clone())).unwrap();
    let webhook = cluster.serve(app).await;
    assert_eq!(sidecar(&namespace).await.as_deref(), Some("redis:8.2"));

    // A change is in force a moment later, in pods too.
    home.replace(&config_map("cache", &cache("redis:8.3"))).await.object();
    becomes(&configuration, in_force("redis:8.3", SnapshotState::Current)).await;
    assert_eq!(sidecar(&namespace).await.as_deref(), Some("redis:8.3"));

    refusals(&home).await;
    assert_eq!(sidecar(&namespace).await.as_deref(), Some("redis:8.3"));

    // A rule is switched off without delay.
    let settings = |mode: &str| {
        format!(
            "apiVersion: vestibule.dev/v1alpha1\nkind: InjectorSettings\nmetadata: {{name: all}}\nspec: {{mode: {mode}}}\n"
        )
    };
    for mode in ["off", "observe"] {
        let settings = settings(mode);
        home.apply(&config_map("settings", &settings), "test").await.object();
        let both = hash(&[&cache("redis:8.3"), &settings]);
        becomes(&configuration, |snapshot| snapshot.rules().hash() == both).await;
        assert_eq!(sidecar(&namespace).await, None);
    }
    home.delete(&config_map("settings", "")).await.object();
    becomes(&configuration, in_force("redis:8.3", SnapshotState::Current)).await;

    // A second replica finds the stored rules unchanged.
    let stored = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "injector-last-good"}});
    let stored_holds = async |image: &str| {
        let image = format!("image: {image}");
        let told = async {
            loop {
                let found = home.read(&stored).await;
                let holds = |text: &str| found.text.contains(text);
                if found.status == 200 && holds(&image) && !holds("InjectorSettings") {
                    return found.object()["metadata"]["resourceVersion"].clone();
                }
            }
        };
        tokio::time::timeout(TIMEOUT, told).await.expect("it is not stored")
    };
    let before = stored_holds("redis:8.3").await;
    let second = start();
    becomes(&second, in_force("redis:8.3", SnapshotState::Current)).await;

    // Without the validating hook a broken ConfigMap is stored: the last good rules stay, also after restarts.
    drop(webhook);
    let broken = cache("redis:8.4").replace("volumeMounts", "volumeMount");
    home.replace(&config_map("cache", &broken)).await.object();
    for replica in [&configuration, &second] {
        let snapshot = becomes(replica, in_force("redis:8.3", SnapshotState::LastGood)).await;
        assert_eq!(snapshot.findings()[0].code(), "VST0110");
    }
    told_on_the_config_map(&cluster).await;
    assert_eq!(stored_holds("redis:8.3").await, before);
    drop((configuration, second));
    let restarted = start();
    becomes(&restarted, in_force("redis:8.3", SnapshotState::LastGood)).await;
    is_ready(&restarted).await;

    // Deleted rules are removed, also from the stored ones.
    home.delete(&config_map("cache", "")).await.object();
    let gone = becomes(&restarted, |snapshot| snapshot.rules().rules().is_empty()).await;
    assert_eq!(gone.state(), SnapshotState::Current);
    // The replica has stored the rules before the right to do so is removed.
    let emptied = async { while home.read(&stored).await.text.contains("cache") {} };
    tokio::time::timeout(TIMEOUT, emptied).await.expect("the rules are still stored");
    drop(restarted);
    let restarted = start();
    let gone = becomes(&restarted, |snapshot| snapshot.state() == SnapshotState::Current).await;
    assert_eq!(gone.rules().rules().len(), 0);
    is_ready(&restarted).await;
    drop(restarted);

    // Without valid rules the injector is not ready, and gives the reason.
    home.create(&config_map("cache", &broken)).await.object();
    home.delete(&stored).await;
    let first = start();
    let waiting = becomes(&first, |snapshot| snapshot.findings()[0].code() == "VST0110").await;
    assert_eq!(waiting.state(), SnapshotState::Waiting);
    let why = first.ready().unwrap_err();
    assert!(why.contains("key rules.yaml:") && why.contains("VST0110"), "{why}");
}

/// `kubectl describe` of the ConfigMap shows the error and its location, without the content.
async fn told_on_the_config_map(cluster: &Cluster) {
    let home = cluster.home.name();
    let config_maps = Api::<ConfigMap>::namespaced(cluster.client(), home);
    let uid = config_maps.get("cache").await.unwrap().metadata.uid;
    let events = Api::<Event>::namespaced(cluster.client(), home);
    let told = async {
        loop {
            let found = events.list(&ListParams::default()).await.unwrap().items;
            let found = found.into_iter().find(|event| event.reason.as_deref() == Some("RulesNotInForce"));
            if let Some(event) = found {
                return event;
            }
        }
    };
    let event = tokio::time::timeout(TIMEOUT, told).await.expect("no event arrived");
    assert_eq!(event.type_.as_deref(), Some("Warning"));
    let regarding = event.regarding.unwrap();
    assert_eq!((regarding.kind.as_deref(), regarding.name.as_deref()), (Some("ConfigMap"), Some("cache")));
    assert_eq!(regarding.uid, uid);
    let note = event.note.unwrap();
    assert!(note.contains("key rules.yaml:") && note.contains("VST0110"), "{note}");
    assert!(!note.contains("redis:8.4"), "{note}");
}

/// Changes that are refused at apply, and changes that must not be.
async fn refusals(home: &Namespace) {
    // Row 35 of the table of cases: line and column inside the value, and a suggestion.
    let typo = cache("redis:8.3").replace("volumeMounts", "volumeMount");
    let refused = home.replace(&config_map("cache", &typo)).await;
    let message = refused.refusal(403).replace(home.name(), "webhooks");
    let (_, quoted) = HOW_TO.split_once("Error from server (Forbidden): ").unwrap();
    let quoted = quoted.split_once("```").unwrap().0.trim_end();
    assert!(quoted.ends_with(&message), "{message}");
    let cause = &refused.json()["details"]["causes"][0];
    assert_eq!(cause["field"], "data[rules.yaml]");
    assert!(cause["message"].as_str().unwrap().contains("VST0110"), "{cause}");

    // Many rules with an error in the last one: after ten seconds the API server would store them without validation.
    let one = |n| {
        format!(
            "---\napiVersion: vestibule.dev/v1alpha1\nkind: Injection\nmetadata: {{name: many-{n}}}\nspec:\n  optIn: pod\n  \
             sidecars: [{{name: side-{n}, image: 'side:1'}}]\n  pod: {{labels: {{many-{n}: x}}}}\n"
        )
    };
    let many = (0..500).map(one).collect::<String>().replace("side-499, image", "side-499, imgae");
    let refused = home.create(&config_map("many", &many)).await.refusal(403);
    assert!(
        refused.contains("error[VST0110]") && refused.contains("many, key rules.yaml:3999:31"),
        "{refused}"
    );

    // An error that only exists together with the other ConfigMaps.
    let twice = home.create(&config_map("another", &cache("redis:8.3"))).await.refusal(403);
    assert!(twice.contains("error[VST0116]") && twice.contains("another, key rules.yaml:"), "{twice}");

    // Changes without an effect on rules, and deletions, are not refused.
    let plain = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "draft"},
                       "data": {"rules.yaml": typo}});
    home.create(&plain).await.object();
    let labelled = json!({"metadata": {"labels": {"vestibule.dev/config": "true"}}});
    assert!(home.merge(&plain, &labelled).await.refusal(403).contains("VST0110"));
    home.delete(&plain).await.object();
    let note = json!({"metadata": {"annotations": {"note": "mine"}}});
    home.merge(&config_map("cache", ""), &note).await.object();
}
