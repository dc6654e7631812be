//! Hooks that look up objects on a cluster.

use std::collections::BTreeMap;

use k8s_openapi::api::core::v1::{ConfigMap, Pod, Secret};
use kube::Resource;
use kube::api::ObjectMeta;
use serde::Deserialize;
use vestibule::Operation::Create;
use vestibule::{App, Context, FailurePolicy, Reject, Watch, deny, on};

/// The name of the objects that they look up, in the namespace of the pod.
const NAME: &str = "credentials";

/// A type that no ConfigMap can be read as.
#[derive(Clone, Resource, Deserialize)]
#[resource(inherit = ConfigMap)]
struct Undecodable {
    metadata: ObjectMeta,
    data: BTreeMap<String, u8>,
}

pub(crate) fn hooks(app: App) -> App {
    let pods = || on::<Pod>([Create]).failure_policy(FailurePolicy::Fail).timeout_seconds(30);
    app.watch(Watch::<Secret>::new())
        .watch(Watch::<Undecodable>::new())
        .mutate("lookup", pods(), looks)
        .mutate("lookup-odd", pods(), look_up_undecodable)
        .mutate("lookup-odd-fresh", pods(), look_up_undecodable_live)
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

async fn look_up_undecodable(_: Pod, context: Context) -> Result<Pod, Reject> {
    let found = context.lookup::<Undecodable>().get(NAME).await?;
    Err(deny(format!("found with {} fields", found.map_or(0, |odd| odd.data.len()))))
}

async fn look_up_undecodable_live(_: Pod, context: Context) -> Result<Pod, Reject> {
    let found = context.lookup::<Undecodable>().fresh(NAME).await?;
    Err(deny(format!("found with {} fields", found.map_or(0, |odd| odd.data.len()))))
}
