//! One watch for each object that matters, and none for anything else.

use futures_util::StreamExt;
use k8s_openapi::api::core::v1::Secret;
use kube::api::{DynamicObject, PartialObjectMeta};
use kube::runtime::WatchStreamExt;
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client, ResourceExt};
use tokio::sync::mpsc;

use crate::{NamespacedName, RegistrationName};

/// What a watch tells.
pub(super) enum News {
    /// The ring's Secret is at this version now; [`None`] if there is none. Its data never comes this way.
    Ring(Option<String>),
    /// A configuration is like this now.
    Configuration {
        position: usize,
        /// Whether events before this one may have been missed.
        listed: bool,
        object: Change,
    },
}

/// What became of an object.
pub(super) enum Change {
    Is(Box<DynamicObject>),
    /// Deleted, at this version if it is known.
    Gone(Option<String>),
}

/// Reports every version of the ring's Secret, by its metadata alone, until the receiver is gone.
pub(super) async fn watch_ring(client: Client, name: NamespacedName, inbox: mpsc::Sender<News>) {
    let api = Api::<PartialObjectMeta<Secret>>::namespaced(client, &name.namespace);
    let mut events = std::pin::pin!(watcher::watcher(api, only(&name.name)).default_backoff());
    let mut listed = None;
    while let Some(event) = events.next().await {
        let version = match event {
            Ok(Event::Init) => {
                listed = None;
                continue;
            }
            Ok(Event::InitApply(object)) => {
                listed = object.resource_version();
                continue;
            }
            Ok(Event::InitDone) => listed.take(),
            Ok(Event::Apply(object)) => object.resource_version(),
            Ok(Event::Delete(_)) => None,
            // The watch goes on by itself after a while; periodic reads do not depend on it.
            Err(_) => continue,
        };
        if inbox.send(News::Ring(version)).await.is_err() {
            return;
        }
    }
}

/// Reports every version of a configuration until the receiver is gone.
pub(super) async fn watch_configuration(
    client: Client,
    (position, name): (usize, RegistrationName),
    inbox: mpsc::Sender<News>,
) {
    let api = Api::<DynamicObject>::all_with(client, &name.kind.resource());
    let mut events = std::pin::pin!(watcher::watcher(api, only(&name.name)).default_backoff());
    let mut listed = Change::Gone(None);
    while let Some(event) = events.next().await {
        let (is_listed, object) = match event {
            Ok(Event::Init) => {
                listed = Change::Gone(None);
                continue;
            }
            Ok(Event::InitApply(object)) => {
                listed = Change::Is(Box::new(object));
                continue;
            }
            Ok(Event::InitDone) => (true, std::mem::replace(&mut listed, Change::Gone(None))),
            Ok(Event::Apply(object)) => (false, Change::Is(Box::new(object))),
            Ok(Event::Delete(object)) => (false, Change::Gone(object.resource_version())),
            Err(_) => continue,
        };
        if inbox.send(News::Configuration { position, listed: is_listed, object }).await.is_err() {
            return;
        }
    }
}

fn only(name: &str) -> watcher::Config {
    watcher::Config::default().fields(&format!("metadata.name={name}"))
}
