//! `vestibule explain pod/NAME` on a real API server.

use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::api::{Patch, PatchParams, PostParams};
use kube::{Api, Client};
use serde_json::{Value, json};
use vestibule_testenv::shared_or_skip;

use crate::fixture::{Folder, TARGET};

async fn create(config_maps: &Api<ConfigMap>, config_map: Value) {
    let config_map = serde_json::from_value(config_map).unwrap();
    config_maps.create(&PostParams::default(), &config_map).await.unwrap();
}

/// Creates the pod `web` with this label.
async fn create_pod(client: Client, namespace: &str, app: &str) {
    let pod = json!({"metadata": {"name": "web", "labels": {"app": app}}, "spec": {"containers": [{"name": "app", "image": "app"}]}});
    let pods: Api<Pod> = Api::namespaced(client, namespace);
    pods.create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await.unwrap();
}

/// A ConfigMap with rules.
fn with_rules(name: &str, key: &str, rules: &str) -> Value {
    json!({"metadata": {"name": name, "labels": {"vestibule.dev/config": "true"}}, "data": {key: rules}})
}

/// The ConfigMap in which the injector stores the rule `target` of this source.
fn last_good(source: &str, text: &str) -> Value {
    let document = json!({"source": source, "document": "Injection/target", "linesBefore": 0, "text": text});
    let documents = json!({"version": 1, "documents": [document]}).to_string();
    json!({"metadata": {"name": "injector-last-good"}, "data": {"documents.json": documents}})
}

#[tokio::test]
async fn a_pod_is_explained_by_the_rules_of_its_cluster() {
    let Some(env) = shared_or_skip().await else { return };
    let (home, shop) = (env.namespace(&[]).await.unwrap(), env.namespace(&[("team", "blue")]).await.unwrap());
    let rules = TARGET.replace("match: {", "match: {namespaceSelector: {matchLabels: {team: blue}}, ");
    let config_maps: Api<ConfigMap> = Api::namespaced(env.admin().unwrap(), home.name());
    create(&config_maps, with_rules("rules", "target.yaml", &rules)).await;
    create_pod(env.admin().unwrap(), shop.name(), "other").await;

    let folder = Folder::with(&[("rules.yaml", TARGET)]);
    let explain = |arguments: &str| {
        let kubeconfig = env.kubeconfig();
        folder.run(&format!("explain {arguments} -n {shop} --kubeconfig {}", kubeconfig.display()))
    };
    let out = explain(&format!("pod/web --injector-namespace {home}")).stdout();
    assert!(out.starts_with(&format!("Pod {shop}/web")), "{out}");
    assert!(out.contains("rule target  left out: labels_not_matched"), "{out}");
    assert!(out.contains(&format!("ConfigMap {home}/rules, key target.yaml:4")), "{out}");
    assert!(out.contains("meets `team=blue`"), "{out}");
    assert!(out.contains("the object has no label app=web"), "{out}");

    // A broken document is explained by its last good version, and binary data is reported.
    create(&config_maps, last_good(&format!("ConfigMap {home}/rules, key target.yaml"), &rules)).await;
    let broken = json!({"data": {"target.yaml": rules.replace("match:", "matches:")}, "binaryData": {"binary.yaml": "/w=="}});
    config_maps.patch("rules", &PatchParams::default(), &Patch::Merge(broken)).await.unwrap();
    let told = explain(&format!("pod/web --injector-namespace {home}"));
    let key = format!("ConfigMap {home}/rules, key");
    for said in [
        "unknown field `matches`".to_owned(),
        format!("{key} binary.yaml: error: it is no text"),
        "note: a document with errors is not in force: its last good version is".to_owned(),
    ] {
        told.tells(&said);
    }
    assert_eq!(told.stdout(), out);

    explain("pod/web --rules rules.yaml").exits(0).shows("rules.yaml:4");
    explain("pod/absent --rules rules.yaml")
        .fails(2, format!("pod {shop}/absent: pods \"absent\" not found"));
    explain(&format!("pod/web --injector-namespace {shop}"))
        .fails(2, "no ConfigMap labelled vestibule.dev/config=true in namespace");
}

/// Regression: a second ConfigMap with a rule of the same name ended everything with VST0116.
#[tokio::test]
async fn a_doubled_rule_name_is_reported_and_the_rules_in_force_are_explained() {
    let Some(env) = shared_or_skip().await else { return };
    let (home, shop) = (env.namespace(&[]).await.unwrap(), env.namespace(&[]).await.unwrap());
    let config_maps: Api<ConfigMap> = Api::namespaced(env.admin().unwrap(), home.name());
    create(&config_maps, with_rules("first", "rules.yaml", TARGET)).await;
    create(&config_maps, with_rules("second", "rules.yaml", &TARGET.replace("TARGET", "OTHER"))).await;
    create_pod(env.admin().unwrap(), shop.name(), "web").await;

    let folder = Folder::with(&[]);
    let explain = || {
        let kubeconfig = env.kubeconfig();
        folder.run(&format!(
            "explain pod/web -n {shop} --injector-namespace {home} --kubeconfig {}",
            kubeconfig.display()
        ))
    };
    // Without good rules an injector that starts is not ready; a note says so.
    let done = explain();
    done.tells("VST0116").tells("note: nothing is in force");
    let out = done.stdout();
    assert!(
        out.contains("rule target  applied") && out.contains("env[TARGET]") && !out.contains("OTHER"),
        "{out}"
    );

    // The stored last good documents decide.
    let good = TARGET.replace("TARGET", "KEPT");
    create(&config_maps, last_good(&format!("ConfigMap {home}/first, key rules.yaml"), &good)).await;
    let done = explain();
    done.tells("VST0116").tells("the last good version of every document is");
    let out = done.stdout();
    assert!(out.contains("env[KEPT]") && !out.contains("env[TARGET]"), "{out}");
}
