//! Hooks that look objects up, on a cluster.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};
use kube::Resource;
use kube::api::ObjectMeta;
use serde::Deserialize;
use vestibule::Operation::Create;
use vestibule::{App, Context, FailurePolicy, Reject, deny, on};

/// The objects that they look for, in the namespace of the pod.
const NAME: &str = "credentials";

/// A ConfigMap as it is not.
#[derive(Clone, Resource, Deserialize)]
#[resource(inherit = ConfigMap)]
struct Odd {
    metadata: ObjectMeta,
    data: BTreeMap<String, u8>,
}

pub(crate) fn hooks(app: App) -> App {
    let pods = || on::<Pod>([Create]).failure_policy(FailurePolicy::Fail).timeout_seconds(30);
    app.watch::<Secret>()
        .watch::<Odd>()
        .mutate("lookup", pods(), looks)
        .mutate("lookup-odd", pods(), looks_odd)
        .mutate("lookup-odd-fresh", pods(), looks_odd_fresh)
}

async fn looks(mut pod: Pod, context: Context) -> Result<Pod, Reject> {
    let secrets = context.lookup::<Secret>();
    let secret = secrets.get(NAME).await?.ok_or_else(|| deny("there is no such Secret"))?;
    let fresh = secrets.fresh(NAME).await?.is_some();
    let keys = secret.data.iter().flatten().map(|(key, _)| key.as_str()).collect::<Vec<_>>().join(",");
    let note = format!("{keys} {fresh}");
    pod.metadata.annotations.get_or_insert_default().insert("keys".to_owned(), note);
    Ok(pod)
}

async fn looks_odd(_: Pod, context: Context) -> Result<Pod, Reject> {
    let found = context.lookup::<Odd>().get(NAME).await?;
    Err(deny(format!("found with {} fields", found.map_or(0, |odd| odd.data.len()))))
}

async fn looks_odd_fresh(_: Pod, context: Context) -> Result<Pod, Reject> {
    let found = context.lookup::<Odd>().fresh(NAME).await?;
    Err(deny(format!("found with {} fields", found.map_or(0, |odd| odd.data.len()))))
}
