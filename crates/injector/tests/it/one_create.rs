//! A create is several calls, and rules may change between two of them.

use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;
use vestibule_caller::{Outcome, Review};
use vestibule_injector::{Configuration, Namespaces, app};
use vestibule_rules::Mode;

use crate::road::{Road, pod};

fn write(folder: &Path, version: &str) {
    let text = format!(
        "\
apiVersion: vestibule.dev/v1alpha1
kind: Injection
metadata: {{name: meter}}
spec:
  required: true
  match: {{namespaces: {{names: [shop]}}}}
  sidecars: [{{name: meter, image: 'meter:{version}', mode: regular}}]
  volumes: [{{name: meter, configMap: {{name: meter-{version}}}}}]
"
    );
    std::fs::write(folder.join("rules.yaml"), text).unwrap();
}

async fn road(configuration: &Configuration) -> Road {
    Road::to(app(configuration.clone(), Namespaces::unknown()).unwrap_or_else(|error| panic!("{error}")))
        .await
}

/// Two replicas with their folders: the first has not heard of what the second has.
fn one_is_behind() -> ([TempDir; 2], [Configuration; 2]) {
    let folders = ["v1", "v2"].map(|version| {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), version);
        folder
    });
    let configurations =
        folders.each_ref().map(|folder| Configuration::from_path(folder.path(), None).unwrap());
    (folders, configurations)
}

fn switch(folder: &Path, mode: &str) {
    let head = "apiVersion: vestibule.dev/v1alpha1, kind: InjectorSettings, metadata: {name: all}";
    std::fs::write(folder.join("settings.yaml"), format!("{{{head}, spec: {{mode: {mode}}}}}")).unwrap();
}

/// What becomes of `object` at a hook, and whether it was changed.
async fn called(road: &Road, hook: &str, object: &Value) -> (Value, bool) {
    let review = Review::create(pod("shop")).build().unwrap().with_object(object.clone()).unwrap();
    match road.judged(hook, &review).await {
        Outcome::Allowed(allowed) => {
            let changed = allowed.patch.is_some();
            (allowed.object.unwrap_or_else(|| object.clone()), changed)
        }
        _ => panic!("a create was refused"),
    }
}

/// The second call would find volumes that exist already and differ, and refuse the pod.
#[tokio::test]
async fn a_create_ends_by_the_rules_that_it_began_by() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "v1");
    let mut configuration = Configuration::from_path(folder.path(), None).unwrap();
    let road = road(&configuration).await;
    let (made, _) = called(&road, "required", &pod("shop")).await;
    assert_eq!(made["spec"]["volumes"], json!([{"name": "meter", "configMap": {"name": "meter-v1"}}]));

    write(folder.path(), "v2");
    configuration.changed().await;
    for hook in ["best-effort", "required"] {
        assert_eq!(called(&road, hook, &made).await, (made.clone(), false));
    }
    let (fresh, _) = called(&road, "required", &pod("shop")).await;
    assert_eq!(fresh["spec"]["volumes"][0]["configMap"]["name"], "meter-v2");

    // What it says of itself is not believed: what is missing by those rules is done.
    let mut forged = made.clone();
    forged["spec"]["volumes"] = json!([]);
    assert_eq!(called(&road, "required", &forged).await.0["spec"]["volumes"], made["spec"]["volumes"]);
}

/// It was patched by former rules, whose mode was another, for as long as those were known.
#[tokio::test]
async fn what_is_observed_is_not_changed_by_the_rules_of_before() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "v1");
    let mut configuration = Configuration::from_path(folder.path(), None).unwrap();
    let road = road(&configuration).await;
    let (mut made, _) = called(&road, "required", &pod("shop")).await;
    made["spec"]["volumes"] = json!([]);

    switch(folder.path(), "observe");
    configuration.changed().await;
    assert_eq!(called(&road, "required", &made).await, (made.clone(), false));

    std::fs::remove_file(folder.path().join("settings.yaml")).unwrap();
    configuration.changed().await;
    assert!(called(&road, "required", &made).await.1);
}

#[tokio::test]
async fn rules_that_another_replica_has_already_are_waited_for() {
    let ([behind, _ahead], [behind_by, ahead_by]) = one_is_behind();
    let (made, _) = called(&road(&ahead_by).await, "required", &pod("shop")).await;
    write(behind.path(), "v2");
    assert_ne!(behind_by.current().rules().hash(), ahead_by.current().rules().hash());
    assert_eq!(called(&road(&behind_by).await, "best-effort", &made).await, (made, false));
}

/// It decided by the rules from before it waited.
#[tokio::test]
async fn whoever_waits_for_rules_hears_of_the_switch() {
    let ([behind, _ahead], [behind_by, ahead_by]) = one_is_behind();
    let (made, _) = called(&road(&ahead_by).await, "required", &pod("shop")).await;
    switch(behind.path(), "off");
    assert_eq!(behind_by.current().rules().settings().mode(), Mode::On);
    assert_eq!(called(&road(&behind_by).await, "required", &made).await, (made, false));
}
