//! `conversion`: mirrors are written and read in any of their versions.

use conversion::{v1, v2, v3};
use kube::api::{DynamicObject, Patch, PatchParams};
use kube::core::{ApiResource, GroupVersionKind};
use kube::{Api, Resource, ResourceExt};
use serde_json::value::{RawValue, to_raw_value};
use serde_json::{Value, json};
use vestibule::admission::Unconvertible;
use vestibule::{App, Conversion};
use vestibule_test::Cluster;

use crate::cluster::{api, object, refusal};

const TLS: &str = "example.dev/tls";

fn v1_mirror(name: &str, url: &str) -> v1::Mirror {
    let metadata = json!({ "name": name, "labels": { "team": "shop" }, "annotations": { "note": "mine" },
                           "finalizers": ["example.dev/kept"] });
    object(
        json!({ "apiVersion": "example.dev/v1", "kind": "Mirror", "metadata": metadata, "spec": { "url": url } }),
    )
}

fn spec<T: serde::Serialize>(object: &T) -> Value {
    serde_json::to_value(object).unwrap()["spec"].clone()
}

/// The fields that must be equal in all versions.
fn identity<T: Resource<DynamicType = ()>>(object: &T) -> Value {
    let metadata = object.meta();
    json!([
        metadata.name,
        metadata.namespace,
        metadata.uid,
        metadata.generation,
        metadata.creation_timestamp,
        metadata.resource_version,
        metadata.labels,
        metadata.finalizers
    ])
}

#[tokio::test]
async fn mirrors_are_written_and_read_in_every_version() {
    let Some(cluster) = Cluster::shared_or_skip().await else { return };
    let _installed = cluster.install(conversion::app()).await;
    let namespace = cluster.namespace(&[]).await;
    let (first, second, third): (Api<v1::Mirror>, Api<v2::Mirror>, Api<v3::Mirror>) =
        (api(&cluster, &namespace), api(&cluster, &namespace), api(&cluster, &namespace));

    // Written in the oldest version, stored in the newest, read in all three.
    let created = first.create(&<_>::default(), &v1_mirror("a", "https://example.org:443")).await.unwrap();
    assert_eq!(spec(&created), json!({ "url": "https://example.org:443" }));
    let in_v2 = second.get("a").await.unwrap();
    assert_eq!(spec(&in_v2), json!({ "host": "example.org", "port": 443 }));
    let in_v3 = third.get("a").await.unwrap();
    assert_eq!(spec(&in_v3), json!({ "host": "example.org", "port": 443, "tls": true }));
    assert_eq!([identity(&in_v2), identity(&in_v3)], [identity(&created), identity(&created)]);
    // The annotation of the converter is in the one version that needs it.
    assert_eq!(in_v2.annotations().get(TLS).map(String::as_str), Some("true"));
    assert_eq!(in_v2.annotations().get("note").map(String::as_str), Some("mine"));
    assert!(!in_v3.annotations().contains_key(TLS) && !created.annotations().contains_key(TLS));

    // A change in one version is visible in the others, also by the annotation.
    let patch = Patch::Merge(json!({ "metadata": { "annotations": { TLS: null } }, "spec": { "port": 80 } }));
    second.patch("a", &PatchParams::default(), &patch).await.unwrap();
    assert_eq!(spec(&first.get("a").await.unwrap()), json!({ "url": "http://example.org:80" }));

    // A list of objects that were written in different versions, in order.
    let other = json!({ "apiVersion": "example.dev/v3", "kind": "Mirror", "metadata": { "name": "b" },
                        "spec": { "host": "b.example.org", "port": 8080, "tls": false } });
    third.create(&<_>::default(), &object(other)).await.unwrap();
    let names = |urls: &[v1::Mirror]| urls.iter().map(|mirror| mirror.spec.url.clone()).collect::<Vec<_>>();
    let list = first.list(&<_>::default()).await.unwrap().items;
    assert_eq!(names(&list), ["http://example.org:80", "http://b.example.org:8080"]);

    // The reason reaches the user, with the name of the object.
    let words = refusal(first.create(&<_>::default(), &v1_mirror("c", "ftp://example.org:21")).await, 500);
    let reason = format!("Mirror {namespace}/c to example.dev/v3: spec.url is neither http nor https");
    assert!(words.contains("conversion webhook for") && words.ends_with(&reason), "{words}");
    apply_in_two_versions(first, third).await;
}

/// A manager may apply another version than before.
async fn apply_in_two_versions(first: Api<v1::Mirror>, third: Api<v3::Mirror>) {
    let mirror = |version: &str, member: &str, value: Value| {
        let mut object = json!({ "apiVersion": format!("example.dev/{version}"), "kind": "Mirror" });
        object["metadata"]["name"] = "applied".into();
        object[member] = value;
        Patch::Apply(object)
    };
    let in_v1 = mirror("v1", "spec", json!({ "url": "https://example.org:443" }));
    let in_v3 = mirror("v3", "spec", json!({ "host": "example.org", "port": 80, "tls": true }));
    let note = mirror("v3", "metadata", json!({ "name": "applied", "annotations": { "note": "mine" } }));
    let flux = PatchParams::apply("flux");

    first.patch("applied", &flux, &in_v1).await.unwrap();
    third.patch("applied", &flux, &in_v3).await.unwrap();
    third.patch("applied", &PatchParams::apply("alice"), &note).await.unwrap();
    let applied = first.patch("applied", &flux, &in_v1).await.unwrap();
    assert_eq!(spec(&applied), json!({ "url": "https://example.org:443" }));
    assert_eq!(applied.annotations().get("note").map(String::as_str), Some("mine"));
}

/// Changes every field of the object.
fn change_everything(object: &RawValue, desired: &str) -> Result<Box<RawValue>, Unconvertible> {
    let mut object: Value = serde_json::from_str(object.get()).map_err(Unconvertible::new)?;
    assert_ne!(object["spec"]["wish"], "panic", "s3cret");
    if object["spec"]["wish"] == "rename" {
        object["metadata"]["name"] = "other".into();
    }
    object["apiVersion"] = desired.into();
    object["metadata"]["labels"] = json!({ "converted": "yes" });
    object["metadata"]["annotations"] = json!({ "converted": "yes" });
    object["metadata"]["finalizers"] = json!(["example.dev/mine"]);
    object["metadata"]["generation"] = 99.into();
    to_raw_value(&object).map_err(Unconvertible::new)
}

#[tokio::test]
async fn a_converter_can_change_only_labels_and_annotations_of_metadata() {
    let Some(cluster) = Cluster::shared_or_skip().await else { return };
    let schema = json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true });
    let version = |name: &str| json!({ "name": name, "served": true, "storage": name == "v1", "schema": { "openAPIV3Schema": schema } });
    let definition = object(json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": "gadgets.example.dev" },
        "spec": {
            "group": "example.dev", "scope": "Namespaced", "versions": [version("v1"), version("v2")],
            "names": { "plural": "gadgets", "singular": "gadget", "kind": "Gadget" },
        },
    }));
    let gadgets = Conversion::raw("gadgets.example.dev", change_everything).definition(definition);
    let _installed = cluster.install(App::new("gadgets").convert("gadgets", gadgets)).await;
    let namespace = cluster.namespace(&[]).await;
    let api = |version: &str| -> Api<DynamicObject> {
        let kind = GroupVersionKind::gvk("example.dev", version, "Gadget");
        Api::namespaced_with(
            cluster.client(),
            &namespace,
            &ApiResource::from_gvk_with_plural(&kind, "gadgets"),
        )
    };
    let gadget = |name: &str, wish: &str| -> DynamicObject {
        let metadata = json!({ "name": name, "labels": { "a": "b" }, "finalizers": ["example.dev/kept"] });
        object(
            json!({ "apiVersion": "example.dev/v1", "kind": "Gadget", "metadata": metadata, "spec": { "wish": wish } }),
        )
    };
    let (first, second) = (api("v1"), api("v2"));
    for (name, wish) in [("a", ""), ("b", "rename"), ("c", "panic")] {
        first.create(&<_>::default(), &gadget(name, wish)).await.unwrap();
    }
    let read = second.get("a").await.unwrap().metadata;
    let converted = json!({ "converted": "yes" });
    assert_eq!((json!(read.labels), json!(read.annotations)), (converted.clone(), converted));
    assert_eq!(json!([read.finalizers, read.generation]), json!([["example.dev/kept"], 1]));

    let words = refusal(second.get("b").await, 500);
    assert!(words.contains(&format!("Gadget {namespace}/b to example.dev/v2")), "{words}");
    assert!(words.contains("another metadata.name"), "{words}");
    let words = refusal(second.get("c").await, 500);
    assert!(
        words.ends_with(&format!("Gadget {namespace}/c to example.dev/v2: the converter panicked")),
        "{words}"
    );
}
