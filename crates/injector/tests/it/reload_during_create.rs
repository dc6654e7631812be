//! Rules that change between two calls of one create.

use std::path::Path;

use serde_json::{Value, json};
use tempfile::TempDir;
use vestibule_caller::Review;
use vestibule_injector::{Configuration, Namespaces};
use vestibule_rules::Mode;

use crate::fixture::{self, TestInjector, from_folder, pod};

fn write(folder: &Path, version: &str) {
    let text = format!(
        "\
apiVersion: vestibule.dev/v1alpha1
kind: Injection
metadata: {{name: meter}}
spec:
  required: true
  match: {{namespaceSelector: {{matchLabels: {{kubernetes.io/metadata.name: shop}}}}}}
  sidecars: [{{name: meter, image: 'meter:{version}', mode: regular}}]
  volumes: [{{name: meter, configMap: {{name: meter-{version}}}}}]
"
    );
    std::fs::write(folder.join("rules.yaml"), text).unwrap();
}

async fn injector(configuration: &Configuration) -> TestInjector {
    fixture::injector(configuration.clone(), Namespaces::unknown()).await
}

/// Two replicas with a folder each. The first does not have the rules of the second yet.
fn replicas_with_different_rules() -> ([TempDir; 2], [Configuration; 2]) {
    let folders = ["v1", "v2"].map(|version| {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), version);
        folder
    });
    let configurations = folders.each_ref().map(|folder| from_folder(folder.path()).unwrap());
    (folders, configurations)
}

fn switch(folder: &Path, mode: &str) {
    let head = "apiVersion: vestibule.dev/v1alpha1, kind: InjectorSettings, metadata: {name: all}";
    std::fs::write(folder.join("settings.yaml"), format!("{{{head}, spec: {{mode: {mode}}}}}")).unwrap();
}

/// The object after a call of the hook, and whether it was changed.
async fn call(injector: &TestInjector, hook: &str, object: &Value) -> (Value, bool) {
    let review = Review::create(pod("shop")).build().unwrap().with_object(object.clone()).unwrap();
    let allowed = injector.allowed(hook, &review).await;
    let changed = allowed.patch.is_some();
    (allowed.object.unwrap_or_else(|| object.clone()), changed)
}

/// By the new rules the second call would find a volume of another version and refuse the pod.
#[tokio::test]
async fn a_create_ends_with_the_rules_that_it_started_with() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "v1");
    let mut configuration = from_folder(folder.path()).unwrap();
    let injector = injector(&configuration).await;
    let (made, _) = call(&injector, "required", &pod("shop")).await;
    assert_eq!(made["spec"]["volumes"], json!([{"name": "meter", "configMap": {"name": "meter-v1"}}]));

    write(folder.path(), "v2");
    configuration.changed().await;
    for hook in ["best-effort", "required"] {
        assert_eq!(call(&injector, hook, &made).await, (made.clone(), false));
    }
    let (fresh, _) = call(&injector, "required", &pod("shop")).await;
    assert_eq!(fresh["spec"]["volumes"][0]["configMap"]["name"], "meter-v2");

    // The status annotation proves nothing: the missing volume is added.
    let mut forged = made.clone();
    forged["spec"]["volumes"] = json!([]);
    assert_eq!(call(&injector, "required", &forged).await.0["spec"]["volumes"], made["spec"]["volumes"]);
}

/// In the mode `observe` such a pod was still changed by the former rules, which had another mode.
#[tokio::test]
async fn the_mode_observe_switches_former_rules_off() {
    let folder = tempfile::tempdir().unwrap();
    write(folder.path(), "v1");
    let mut configuration = from_folder(folder.path()).unwrap();
    let injector = injector(&configuration).await;
    let (mut made, _) = call(&injector, "required", &pod("shop")).await;
    made["spec"]["volumes"] = json!([]);

    switch(folder.path(), "observe");
    configuration.changed().await;
    assert_eq!(call(&injector, "required", &made).await, (made.clone(), false));

    std::fs::remove_file(folder.path().join("settings.yaml")).unwrap();
    configuration.changed().await;
    assert!(call(&injector, "required", &made).await.1);
}

#[tokio::test]
async fn a_call_waits_for_rules_that_another_replica_has() {
    let ([behind, _ahead], [behind_by, ahead_by]) = replicas_with_different_rules();
    let (made, _) = call(&injector(&ahead_by).await, "required", &pod("shop")).await;
    write(behind.path(), "v2");
    assert_ne!(behind_by.current().rules().hash(), ahead_by.current().rules().hash());
    assert_eq!(call(&injector(&behind_by).await, "best-effort", &made).await, (made, false));
}

/// The call was decided by the rules from before its wait.
#[tokio::test]
async fn a_call_that_waits_for_rules_uses_a_mode_that_is_set_meanwhile() {
    let ([behind, _ahead], [behind_by, ahead_by]) = replicas_with_different_rules();
    let (made, _) = call(&injector(&ahead_by).await, "required", &pod("shop")).await;
    switch(behind.path(), "off");
    assert_eq!(behind_by.current().rules().settings().mode, Mode::On);
    assert_eq!(call(&injector(&behind_by).await, "required", &made).await, (made, false));
}
