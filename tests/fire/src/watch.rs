//! Every write of an object, as it is watched.

use std::fmt::Debug;
use std::time::Duration;

use futures_util::TryStreamExt;
use kube::api::{WatchEvent, WatchParams};
use kube::core::Resource;
use kube::{Api, ResourceExt};
use serde::de::DeserializeOwned;
use tokio::time::sleep;

/// Calls `seen` with each state of the object `name`, from now on, and never ends.
///
/// It watches all objects of its kind: replicas are to be the only ones that watch one.
pub(crate) async fn each<K>(api: Api<K>, name: String, mut seen: impl FnMut(&K))
where
    K: Resource + Clone + Debug + DeserializeOwned,
{
    let mut version = "0".to_owned();
    let mut last = String::new();
    let mut seen = |object: &K| {
        // After a break, objects are told of again.
        let now = object.resource_version().unwrap_or_default();
        if last != now {
            seen(object);
            last = now;
        }
    };
    loop {
        if let Err(error) = watch(&api, &name, &mut version, &mut seen).await {
            tracing::warn!("a watch of {name}: {error:#}");
            sleep(Duration::from_millis(200)).await;
        }
    }
}

async fn watch<K>(
    api: &Api<K>,
    name: &str,
    version: &mut String,
    seen: &mut impl FnMut(&K),
) -> anyhow::Result<()>
where
    K: Resource + Clone + Debug + DeserializeOwned,
{
    let mut events = std::pin::pin!(api.watch(&WatchParams::default(), version).await?);
    while let Some(event) = events.try_next().await? {
        match event {
            WatchEvent::Added(object) | WatchEvent::Modified(object) => {
                if object.name_any() == name {
                    seen(&object);
                }
                object.resource_version().unwrap_or_default().clone_into(version);
            }
            WatchEvent::Deleted(object) => {
                object.resource_version().unwrap_or_default().clone_into(version);
            }
            WatchEvent::Bookmark(_) => {}
            WatchEvent::Error(status) => {
                "0".clone_into(version);
                anyhow::bail!("{status:?}");
            }
        }
    }
    Ok(())
}
