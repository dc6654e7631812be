//! `vestibule explain pod/NAME` on a real API server.

use k8s_openapi::api::core::v1::{ConfigMap, Pod};
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use serde_json::json;
use vestibule_testenv::shared_or_skip;

use crate::fixture::{Folder, TARGET};

#[tokio::test]
async fn a_pod_is_explained_by_the_rules_of_its_cluster() {
    let Some(env) = shared_or_skip().await else { return };
    let (home, shop) = (env.namespace(&[]).await.unwrap(), env.namespace(&[("team", "blue")]).await.unwrap());
    let rules = TARGET.replace("match: {", "match: {namespaces: {matchLabels: {team: blue}}, ");
    let config_map = json!({
        "metadata": {"name": "rules", "labels": {"vestibule.dev/config": "true"}}, "data": {"target.yaml": rules},
    });
    let pod = json!({"metadata": {"name": "web", "labels": {"app": "other"}}, "spec": {"containers": [{"name": "app", "image": "app"}]}});
    let client = env.admin().unwrap();
    let config_maps: Api<ConfigMap> = Api::namespaced(client.clone(), home.name());
    config_maps.create(&PostParams::default(), &serde_json::from_value(config_map).unwrap()).await.unwrap();
    let pods: Api<Pod> = Api::namespaced(client, shop.name());
    pods.create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await.unwrap();

    let folder = Folder::with(&[("rules.yaml", TARGET)]);
    let explain = |arguments: &str| {
        let kubeconfig = env.kubeconfig();
        folder.run(&format!("explain {arguments} -n {shop} --kubeconfig {}", kubeconfig.display()))
    };
    let out = explain(&format!("pod/web --injector-namespace {home}")).stdout();
    assert!(out.starts_with(&format!("Pod {shop}/web")), "{out}");
    assert!(out.contains("rule target  left out: labels_not_matched"), "{out}");
    assert!(out.contains(&format!("ConfigMap {home}/rules, key target.yaml:4")), "{out}");
    assert!(out.contains("the namespace has team=blue"), "{out}");
    assert!(out.contains("the object has no label app=web"), "{out}");

    // A broken document is explained by its last good version, and binary data is reported.
    let last_good = json!({"version": 1, "documents": [{
        "source": format!("ConfigMap {home}/rules, key target.yaml"), "document": "Injection/target", "linesBefore": 0,
        "text": rules,
    }]});
    let last_good = json!({"metadata": {"name": "injector-last-good"}, "data": {"documents.json": last_good.to_string()}});
    config_maps.create(&PostParams::default(), &serde_json::from_value(last_good).unwrap()).await.unwrap();
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

/// Issue 20, point 30: a second ConfigMap with a rule of the same name ended everything with VST0116.
#[tokio::test]
async fn a_doubled_name_is_told_and_what_is_in_force_explained() {
    let Some(env) = shared_or_skip().await else { return };
    let (home, shop) = (env.namespace(&[]).await.unwrap(), env.namespace(&[]).await.unwrap());
    let client = env.admin().unwrap();
    let config_maps: Api<ConfigMap> = Api::namespaced(client.clone(), home.name());
    let config_map = |name: &str, key: &str, rules: &str| {
        let map = json!({"metadata": {"name": name, "labels": {"vestibule.dev/config": "true"}}, "data": {key: rules}});
        serde_json::from_value::<ConfigMap>(map).unwrap()
    };
    let other = TARGET.replace("TARGET", "OTHER");
    let create = async |map: ConfigMap| drop(config_maps.create(&PostParams::default(), &map).await.unwrap());
    create(config_map("first", "rules.yaml", TARGET)).await;
    create(config_map("second", "rules.yaml", &other)).await;
    let pods: Api<Pod> = Api::namespaced(client, shop.name());
    let pod = json!({"metadata": {"name": "web", "labels": {"app": "web"}}, "spec": {"containers": [{"name": "app", "image": "app"}]}});
    pods.create(&PostParams::default(), &serde_json::from_value(pod).unwrap()).await.unwrap();

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
    let documents = json!({"version": 1, "documents": [{
        "source": format!("ConfigMap {home}/first, key rules.yaml"), "document": "Injection/target", "linesBefore": 0, "text": good,
    }]});
    let kept = json!({"metadata": {"name": "injector-last-good"}, "data": {"documents.json": documents.to_string()}});
    create(serde_json::from_value(kept).unwrap()).await;
    let done = explain();
    done.tells("VST0116").tells("the last good version of every document is");
    let out = done.stdout();
    assert!(out.contains("env[KEPT]") && !out.contains("env[TARGET]"), "{out}");
}
