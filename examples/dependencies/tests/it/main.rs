//! The required dependencies, with a simulated cluster.

use dependencies::app;
use serde_json::{Value, json};
use vestibule::{App, Objects};
use vestibule_test::call;

fn with(objects: &[(&str, &str)]) -> App {
    let named = |objects: Objects, (kind, name): &(&str, &str)| {
        let metadata = json!({ "name": name, "namespace": "shop" });
        objects.with(json!({ "apiVersion": "v1", "kind": kind, "metadata": metadata }))
    };
    app().lookups_from(objects.iter().fold(Objects::new(), named))
}

/// A deployment with every kind of reference.
fn deployment() -> Value {
    let env = json!([
        { "name": "A", "valueFrom": { "configMapKeyRef": { "name": "settings", "key": "a" } } },
        { "name": "B", "valueFrom": { "secretKeyRef": { "name": "token", "key": "b", "optional": false } } },
        { "name": "C", "valueFrom": { "secretKeyRef": { "name": "perhaps", "key": "c", "optional": true } } },
        { "name": "D", "valueFrom": { "fieldRef": { "fieldPath": "metadata.name" } } },
        { "name": "E", "value": "secret" },
    ]);
    let pod = json!({
        "imagePullSecrets": [{ "name": "registry" }],
        "initContainers": [{ "name": "init", "image": "init:1", "envFrom": [{ "secretRef": { "name": "token" } }] }],
        "containers": [{
            "name": "web", "image": "web:1", "env": env,
            "envFrom": [{ "configMapRef": { "name": "more" } }, { "configMapRef": { "name": "or-not", "optional": true } }],
        }],
        "volumes": [
            { "name": "pages", "configMap": { "name": "pages" } },
            { "name": "key", "secret": { "secretName": "key" } },
            { "name": "scratch", "emptyDir": {} },
            { "name": "all", "projected": { "sources": [
                { "secret": { "name": "projected" } },
                { "configMap": { "name": "projected" } },
                { "configMap": { "name": "not-projected", "optional": true } },
                { "serviceAccountToken": { "path": "token" } },
            ] } },
            { "name": "driver", "csi": { "driver": "d", "nodePublishSecretRef": { "name": "publish" } } },
        ],
    });
    json!({
        "apiVersion": "apps/v1", "kind": "Deployment", "metadata": { "name": "web", "namespace": "shop" },
        "spec": {
            "selector": { "matchLabels": { "app": "web" } },
            "template": { "metadata": { "labels": { "app": "web" } }, "spec": pod },
        },
    })
}

#[tokio::test]
async fn all_missing_objects_are_reported_at_once_with_their_fields() {
    let outcome = call(&with(&[]), "deployments").create(deployment()).await;
    outcome.assert_denied(
        "ConfigMap more does not exist, ConfigMap pages does not exist, ConfigMap projected does not exist, \
         ConfigMap settings does not exist, Secret key does not exist, Secret projected does not exist, \
         Secret publish does not exist, Secret registry does not exist, Secret token does not exist",
    );
    let at = |field: &str| format!("spec.template.spec.{field}");
    for (field, what) in [
        ("containers[0].envFrom[0].configMapRef", "ConfigMap more"),
        ("containers[0].env[0].valueFrom.configMapKeyRef", "ConfigMap settings"),
        ("containers[0].env[1].valueFrom.secretKeyRef", "Secret token"),
        ("initContainers[0].envFrom[0].secretRef", "Secret token"),
        ("imagePullSecrets[0]", "Secret registry"),
        ("volumes[1].secret", "Secret key"),
        ("volumes[3].projected.sources[1].configMap", "ConfigMap projected"),
    ] {
        outcome.assert_cause(&at(field), &format!("{what} does not exist"));
    }
}

#[tokio::test]
async fn existing_and_optional_objects_are_not_waited_for() {
    let (config_maps, secrets) =
        (["more", "pages", "projected", "settings"], ["key", "projected", "publish", "token"]);
    let there =
        config_maps.map(|name| ("ConfigMap", name)).into_iter().chain(secrets.map(|name| ("Secret", name)));
    let mut there: Vec<_> = there.collect();
    call(&with(&there), "deployments")
        .create(deployment())
        .await
        .assert_denied("Secret registry does not exist");
    there.push(("Secret", "registry"));
    call(&with(&there), "deployments").create(deployment()).await.assert_allowed();
}

#[tokio::test]
async fn an_update_may_keep_an_earlier_reference() {
    let app = with(&[]);
    let mut new = deployment();
    new["spec"]["replicas"] = json!(3);
    call(&app, "deployments").update(deployment(), &new).await.assert_allowed();
    new["spec"]["template"]["spec"]["imagePullSecrets"] = json!([{ "name": "another" }]);
    call(&app, "deployments").update(deployment(), &new).await.assert_denied("Secret another does not exist");
}
