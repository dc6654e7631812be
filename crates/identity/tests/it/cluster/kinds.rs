//! Every kind of object that holds a `caBundle`.

use k8s_openapi::api::admissionregistration::v1::{
    MutatingWebhookConfiguration, ValidatingWebhookConfiguration,
};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use k8s_openapi::kube_aggregator::pkg::apis::apiregistration::v1::APIService;
use kube::Api;
use kube::api::PostParams;
use serde_json::{Value, json};
use vestibule_identity::{Identity, SelfManaged};
use vestibule_testenv as testenv;

use super::fixture::{Fixture, within};

#[tokio::test]
async fn each_kind_is_kept_and_one_without_entries_is_marked() {
    let Some(env) = testenv::shared_or_skip().await else { return };
    let fixture = Fixture::new(&env).await;
    let namespace = fixture.namespace.as_str();
    let (plural, group) = ("widgets", format!("{namespace}.example.dev"));
    let config = json!({ "service": { "namespace": namespace, "name": "hooks", "path": "/convert" } });

    let version = |name: &str, storage: bool| {
        let schema =
            json!({ "openAPIV3Schema": { "type": "object", "x-kubernetes-preserve-unknown-fields": true } });
        json!({ "name": name, "served": true, "storage": storage, "schema": schema })
    };
    let crd = json!({
        "metadata": { "name": format!("{plural}.{group}") },
        "spec": {
            "group": group, "scope": "Namespaced", "names": { "plural": plural, "singular": "widget", "kind": "Widget", "listKind": "WidgetList" },
            "versions": [version("v1", true), version("v1beta1", false)],
            "conversion": { "strategy": "Webhook", "webhook": { "conversionReviewVersions": ["v1"], "clientConfig": config } },
        },
    });
    let api_service = json!({
        "metadata": { "name": format!("v1.api.{group}") },
        "spec": {
            "group": format!("api.{group}"), "version": "v1", "groupPriorityMinimum": 10, "versionPriority": 10,
            "service": { "namespace": namespace, "name": "hooks" },
        },
    });
    let validating = json!({
        "metadata": { "name": format!("{namespace}-hooks") },
        "webhooks": [{ "name": "a.example.dev", "clientConfig": config, "sideEffects": "None", "admissionReviewVersions": ["v1"] }],
    });
    let empty = json!({ "metadata": { "name": format!("{namespace}-empty"), "labels": { "app": "hooks" } } });
    make::<CustomResourceDefinition>(&fixture, crd).await;
    make::<APIService>(&fixture, api_service).await;
    make::<ValidatingWebhookConfiguration>(&fixture, validating).await;
    make::<MutatingWebhookConfiguration>(&fixture, empty).await;

    let mut settings = fixture.settings();
    let names = [
        format!("crd/{plural}.{group}"),
        format!("apiservice/v1.api.{group}"),
        format!("validating/{namespace}-hooks"),
        format!("mutating/{namespace}-empty"),
    ];
    settings.registrations.extend(names.iter().map(|name| name.parse().unwrap()));
    let replica = SelfManaged::start(fixture.admin.clone(), settings.clone()).unwrap();
    within(10, &replica).await;
    assert!(replica.status().registrations.iter().all(|registration| registration.in_sync));

    let bundle = json!(k8s_openapi::ByteString(fixture.bundles().await[1].clone().into_bytes()));
    let crd = look::<CustomResourceDefinition>(&fixture, &format!("{plural}.{group}")).await;
    assert_eq!(crd["spec"]["conversion"]["webhook"]["clientConfig"]["caBundle"], bundle);
    let api = look::<APIService>(&fixture, &format!("v1.api.{group}")).await;
    assert_eq!(api["spec"]["caBundle"], bundle);
    let validating = look::<ValidatingWebhookConfiguration>(&fixture, &format!("{namespace}-hooks")).await;
    assert_eq!(validating["webhooks"][0]["clientConfig"]["caBundle"], bundle);
    let empty = look::<MutatingWebhookConfiguration>(&fixture, &format!("{namespace}-empty")).await;
    assert_eq!(empty["metadata"]["annotations"]["vestibule.dev/ca-generation"], "1");
    assert!(empty.get("webhooks").is_none());

    // One that begins later knows what the mark stands for by the ring alone.
    drop(replica);
    let replica = SelfManaged::start(fixture.admin.clone(), settings).unwrap();
    within(2, &replica).await;
    let again = look::<MutatingWebhookConfiguration>(&fixture, &format!("{namespace}-empty")).await;
    assert_eq!(
        again["metadata"]["resourceVersion"], empty["metadata"]["resourceVersion"],
        "nothing to write"
    );
}

async fn make<K>(fixture: &Fixture, object: Value)
where
    K: kube::Resource<DynamicType = ()>
        + Clone
        + serde::Serialize
        + serde::de::DeserializeOwned
        + std::fmt::Debug,
{
    let object: K = serde_json::from_value(object).unwrap();
    Api::<K>::all(fixture.admin.clone()).create(&PostParams::default(), &object).await.unwrap();
}

async fn look<K>(fixture: &Fixture, name: &str) -> Value
where
    K: kube::Resource<DynamicType = ()>
        + Clone
        + serde::Serialize
        + serde::de::DeserializeOwned
        + std::fmt::Debug,
{
    serde_json::to_value(Api::<K>::all(fixture.admin.clone()).get(name).await.unwrap()).unwrap()
}
