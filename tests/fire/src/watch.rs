//! Watches of the Secret and the configuration, which count every write.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use futures_util::TryStreamExt;
use kube::api::{WatchEvent, WatchParams};
use kube::core::Resource;
use kube::{Api, ResourceExt};
use serde::de::DeserializeOwned;
use tokio::sync::watch as channel;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::{Cluster, Options, RingView};

/// Counts writes of the Secret and the configuration, and publishes the state of the Secret, until the tasks are dropped.
pub(crate) fn both(
    cluster: &Cluster<'_>,
    options: &Options,
) -> anyhow::Result<(channel::Receiver<RingView>, JoinSet<()>)> {
    let mut watches = JoinSet::new();
    let (sender, views) = channel::channel(RingView::default());
    let (counters, order) = (Arc::clone(cluster.counters()), options.order);
    let mut settled = String::new();
    watches.spawn(each(cluster.secrets()?, cluster.secret().to_owned(), move |secret| {
        let view = RingView::of(secret, order);
        let before = sender.borrow().active.clone();
        counters.update(|counts| {
            counts.secret_writes += 1;
            counts.retired_keys += view.retired_keys;
            counts.most_keys = counts.most_keys.max(view.keys);
            if !before.is_empty() && !view.active.is_empty() && before != view.active {
                counts.promotions += 1;
            }
            if view.settled && settled != view.active {
                counts.rotations += usize::from(!settled.is_empty());
                settled.clone_from(&view.active);
            }
        });
        // An unreadable ring is ignored; the last readable state stays.
        if !view.active.is_empty() {
            sender.send_replace(view);
        }
    }));
    let counters = Arc::clone(cluster.counters());
    let name = cluster.registration().to_owned();
    let mut before = 0;
    watches.spawn(each(cluster.configurations()?, name, move |configuration| {
        let hooks = configuration.webhooks.iter().flatten();
        let ours = hooks.filter(|hook| hook.client_config.service.is_some());
        let sizes = ours.map(|hook| {
            let bundle = hook.client_config.ca_bundle.as_ref().map(|bundle| bundle.0.as_slice());
            let text = String::from_utf8_lossy(bundle.unwrap_or_default());
            text.matches("-----BEGIN CERTIFICATE-----").count()
        });
        let size = sizes.min().unwrap_or_default();
        counters.update(|counts| {
            counts.configuration_writes += 1;
            counts.emptied += usize::from(before > 0 && size == 0);
            *counts.bundle_sizes.entry(size).or_default() += 1;
        });
        before = size;
    }));
    Ok((views, watches))
}

/// Calls `seen` with each state of the object `name`, and never ends.
///
/// The watch covers all objects of the kind, because watches of a single object are counted as those of replicas.
async fn each<K>(api: Api<K>, name: String, mut seen: impl FnMut(&K))
where
    K: Resource + Clone + Debug + DeserializeOwned,
{
    let mut version = "0".to_owned();
    let mut last = String::new();
    let mut seen = |object: &K| {
        // A new watch repeats the current version.
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
