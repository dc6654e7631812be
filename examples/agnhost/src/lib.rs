//! A webhook with every path of `agnhost webhook` and the same answers; start at [`app`].

mod convert;
mod data;
mod pods;

use std::time::Duration;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use serde::{Deserialize, Serialize};
use vestibule::Operation::{Connect, Create, Delete, Update};
use vestibule::{
    App, Change, Context, Conversion, FailurePolicy, On, RawObject, Reject, ReviewVersion, Rule, deny,
    on_rules,
};

/// The webhook; without a `sidecar_image`, the path that adds sidecars denies.
pub fn app(sidecar_image: Option<String>) -> App {
    let anything = |path| rules::<RawObject>("*/*", "*/*").path(path);
    let labelled = rules::<Labelled>("*/*", "*/*").path("/add-label");
    let config_maps = |path| rules::<data::WithData>("v1", "configmaps").path(path);
    let custom = |path| rules::<data::WithData>("*/*", "*").path(path);
    let pods = |path| rules("v1", "pods").path(path);
    let definitions = rules::<Labelled>("apiextensions.k8s.io/*", "customresourcedefinitions").path("/crd");
    App::new("agnhost")
        .validate("always-deny", anything("/always-deny"), always_deny)
        .validate("always-allow-delay-5s", anything("/always-allow-delay-5s"), always_allow_delay_5s)
        .mutate("add-label", labelled, add_label)
        .validate("pods", pods("/pods"), pods::admit)
        .validate("pods-attach", rules("v1", "pods/attach").path("/pods/attach"), pods::attach)
        .mutate("mutating-pods", pods("/mutating-pods"), pods::mutate)
        .mutate("mutating-pods-sidecar", pods("/mutating-pods-sidecar"), pods::Sidecar(sidecar_image))
        .validate("configmaps", config_maps("/configmaps"), data::CONFIG_MAPS)
        .mutate("mutating-configmaps", config_maps("/mutating-configmaps"), data::mutate)
        .validate("custom-resource", custom("/custom-resource"), data::CUSTOM_RESOURCES)
        .mutate("mutating-custom-resource", custom("/mutating-custom-resource"), data::mutate)
        .validate("crd", definitions, definition)
        .convert(
            "crdconvert",
            Conversion::raw("crds.stable.example.com", convert::convert).path("/crdconvert"),
        )
}

/// The settings of every path.
fn all<T>(on: On<T>) -> On<T> {
    let on = on.review_versions([ReviewVersion::V1, ReviewVersion::V1beta1]);
    on.timeout_seconds(30).failure_policy(FailurePolicy::Fail)
}

fn rules<T>(api_version: &str, resource: &str) -> On<T> {
    all(on_rules([Rule::new(api_version, resource, [Create, Update, Delete, Connect])]))
}

/// The metadata of any object.
#[derive(Deserialize, Serialize)]
struct Labelled {
    #[serde(default)]
    metadata: ObjectMeta,
}

async fn always_deny(_: Change<RawObject>, _: Context) -> Result<(), Reject> {
    Err(deny("this webhook denies all requests"))
}

async fn always_allow_delay_5s(_: Change<RawObject>, _: Context) -> Result<(), Reject> {
    tokio::time::sleep(Duration::from_secs(5)).await;
    Ok(())
}

async fn add_label(mut object: Labelled, _: Context) -> Result<Labelled, Reject> {
    object.metadata.labels.get_or_insert_default().insert("added-label".to_owned(), "yes".to_owned());
    Ok(object)
}

async fn definition(change: Change<Labelled>, _: Context) -> Result<(), Reject> {
    match change.object().and_then(|definition| definition.metadata.labels.as_ref()?.get("webhook-e2e-test"))
    {
        Some(value) if value == "webhook-disallow" => Err(deny("the crd contains unwanted label")),
        _ => Ok(()),
    }
}
