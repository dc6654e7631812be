//! The printed manifests of an app, checked by an API server with strict validation.

use http::Request;
use k8s_openapi::api::core::v1::{ConfigMap, PersistentVolumeClaim, Pod};
use kube::Client;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use vestibule::Operation::{Create, Update};
use vestibule::identity::policy_rule;
use vestibule::{
    App, Change, Context, Conversion, FailurePolicy, MatchPolicy, Reinvocation, Reject, Rule, Scope,
    SideEffects, Target, Watch, on, on_rules,
};

use crate::cluster::Cluster;
use vestibule_manifests::{Installation, RegistrationMode};

async fn label(pod: Pod, _: Context) -> Result<Pod, Reject> {
    Ok(pod)
}

async fn guard(_: Change<Value>, _: Context) -> Result<(), Reject> {
    Ok(())
}

/// An app with every field of a registration and every right that an app can need.
fn rich() -> App {
    let pods = on::<Pod>([Create, Update])
        .namespaces("injection=enabled,team in (a,b),!frozen")
        .objects("app")
        .match_condition("not-ours", "request.userInfo.username != 'system:node'")
        .match_policy(MatchPolicy::Exact)
        .reinvocation(Reinvocation::Never)
        .side_effects(SideEffects::NoneOnDryRun)
        .timeout_seconds(7)
        .path("/pods")
        .failure_policy(FailurePolicy::Fail);
    let rules = [Rule::new("apps/v1", "deployments/scale", [Update]).scope(Scope::Namespaced)];
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "gadgets.rich.example.com"},
        "spec": {
            "group": "rich.example.com",
            "names": {"plural": "gadgets", "singular": "gadget", "kind": "Gadget", "listKind": "GadgetList"},
            "scope": "Namespaced",
            "versions": [
                {"name": "v1", "served": true, "storage": false, "schema": {"openAPIV3Schema": {"type": "object"}}},
                {"name": "v2", "served": true, "storage": true, "schema": {"openAPIV3Schema": {"type": "object"}}},
            ],
        },
    });
    let as_it_is = |object: &RawValue, _: &str| Ok(object.to_owned());
    let gadgets = Conversion::raw("gadgets.rich.example.com", as_it_is)
        .definition(serde_json::from_value(definition).unwrap());
    App::new("rich")
        .mutate("label", pods, label)
        .validate("guard", on_rules::<Value>(rules).failure_policy(FailurePolicy::Ignore), guard)
        .convert("gadgets", gadgets)
        .watch(Watch::<PersistentVolumeClaim>::new())
        .watch(Watch::<ConfigMap>::new().namespace("default"))
        .rights([policy_rule("apps", "deployments", &["list"], &[])])
}

fn installation(home: &str) -> Installation {
    let mut installation = Installation::of(&rich(), Target::service(&format!("{home}/rich:8443")).unwrap());
    installation.image = Some("registry.example.com/rich:1.0".to_owned());
    installation.api_server_cidrs = vec!["10.0.0.0/28".to_owned(), "fd00::/64".to_owned()];
    installation.env = vec![("MODE".to_owned(), "strict".to_owned())];
    installation
}

#[tokio::test]
async fn a_strict_api_server_accepts_every_printed_object() {
    let Some(cluster) = Cluster::shared().await else { return };
    let mut plain = installation(cluster.home.name());
    let mut everything = Vec::new();
    for mode in [RegistrationMode::Managed, RegistrationMode::Static] {
        plain.registration_mode = Some(mode);
        everything.extend(plain.manifests(&rich()).unwrap());
    }
    let mut mounted = plain.clone();
    mounted.identity = "mounted:/certs".parse().unwrap();
    mounted.host_network = true;
    mounted.priority_class = None;
    everything.extend(mounted.manifests(&rich()).unwrap());

    let mut kinds: Vec<_> = everything.iter().map(|object| object["kind"].as_str().unwrap()).collect();
    kinds.sort_unstable();
    kinds.dedup();
    assert_eq!(kinds.len(), 12, "{kinds:?}");
    for object in &everything {
        let (kind, name) = (object["kind"].as_str().unwrap(), object["metadata"]["name"].as_str().unwrap());
        let resource = match kind.strip_suffix('y') {
            Some(stem) => format!("{stem}ies"),
            None => format!("{kind}s"),
        };
        let path =
            format!("{}/{name}?fieldManager=test&fieldValidation=Strict&dryRun=All", path(object, &resource));
        let request = Request::patch(path).header("content-type", "application/apply-patch+yaml");
        let taken = send(&cluster.client(), request, object).await;
        assert_eq!(taken["metadata"]["name"], name, "{object}: {taken}");
    }
}

/// In a namespace with the `restricted` Pod Security Standard, the pods of the Deployment are created.
#[tokio::test]
async fn the_pods_pass_the_restricted_standard() {
    let Some(cluster) = Cluster::shared().await else { return };
    let home = cluster.namespace(&[("pod-security.kubernetes.io/enforce", "restricted")]).await;
    let mut installation = installation(home.name());
    let account = json!({"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "rich"}});
    home.create(&account).await.object();

    for (host_network, taken) in [(false, true), (true, false)] {
        installation.host_network = host_network;
        let objects = installation.manifests(&rich()).unwrap();
        let deployment = objects.iter().find(|object| object["kind"] == "Deployment").unwrap();
        let mut pod = deployment["spec"]["template"].clone();
        pod["apiVersion"] = json!("v1");
        pod["kind"] = json!("Pod");
        pod["metadata"]["name"] = json!("rich");
        pod["metadata"]["namespace"] = json!(home.name());
        let request = Request::post(format!("{}?dryRun=All&fieldValidation=Strict", path(&pod, "pods")));
        let answer = send(&cluster.client(), request.header("content-type", "application/json"), &pod).await;
        assert_eq!(answer["kind"] == "Pod", taken, "{answer}");
        assert!(taken || answer["message"].as_str().unwrap().contains("hostNetwork"), "{answer}");
    }
}

fn path(object: &Value, resource: &str) -> String {
    let version = object["apiVersion"].as_str().unwrap();
    let root = if version.contains('/') { "apis" } else { "api" };
    let namespace = object["metadata"]["namespace"].as_str();
    let namespace = namespace.map(|name| format!("/namespaces/{name}")).unwrap_or_default();
    format!("/{root}/{version}{namespace}/{}", resource.to_lowercase())
}

async fn send(client: &Client, request: http::request::Builder, object: &Value) -> Value {
    let request = request.body(object.to_string().into_bytes()).unwrap();
    match client.request::<Value>(request).await {
        Ok(object) => object,
        Err(kube::Error::Api(status)) => json!({"message": status.message}),
        Err(error) => panic!("{error}"),
    }
}
