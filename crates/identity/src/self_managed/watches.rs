//! Watches the ring's Secret and each registered configuration, one watch for each object.

use std::fmt;
use std::time::Instant;

use futures_util::StreamExt;
use k8s_openapi::api::core::v1::Secret;
use k8s_openapi::serde::de::DeserializeOwned;
use kube::api::{DynamicObject, PartialObjectMeta};
use kube::runtime::watcher::{self, Event};
use kube::{Api, Client, Resource, ResourceExt};
use tokio::sync::{mpsc, watch};

use super::backoff::{Backoff, random_fraction};
use crate::client::short_watch;
use crate::{Desired, NamespacedName, RegistrationName};

/// An event of a watch.
pub(super) enum WatchEvent {
    /// The version of the ring's Secret; [`None`] if it is absent. The watch gets metadata only.
    Ring(Option<String>),
    /// A version of a configuration.
    Configuration {
        position: usize,
        /// Whether events before this one may have been missed.
        listed: bool,
        object: Change<DynamicObject>,
    },
    /// New desired entries.
    Desired(Vec<Desired>),
    /// A refused watch of a configuration, with the reason.
    Unwatched { position: usize, why: String },
}

/// A version of a watched object.
pub(super) enum Change<K> {
    Stored(Box<K>),
    /// Deleted, at this version if it is known.
    Deleted(Option<String>),
}

/// Reports every version of the ring's Secret, by its metadata alone, until the receiver is gone.
pub(super) async fn watch_ring(client: Client, name: NamespacedName, inbox: mpsc::Sender<WatchEvent>) {
    let api = Api::<PartialObjectMeta<Secret>>::namespaced(client, &name.namespace);
    let event = |seen: Result<Seen<PartialObjectMeta<Secret>>, watcher::Error>| match seen {
        Ok((_, Change::Stored(secret))) => Some(WatchEvent::Ring(secret.resource_version())),
        Ok((_, Change::Deleted(_))) => Some(WatchEvent::Ring(None)),
        // Periodic reads do not depend on the watch.
        Err(_) => None,
    };
    watch_object(api, &name.name, inbox, event).await;
}

/// Reports every version of a configuration until the receiver is gone.
pub(super) async fn watch_configuration(
    client: Client,
    (position, name): (usize, RegistrationName),
    inbox: mpsc::Sender<WatchEvent>,
) {
    let api = Api::<DynamicObject>::all_with(client, &name.kind.resource());
    let event = |seen: Result<Seen<DynamicObject>, watcher::Error>| match seen {
        Ok((listed, object)) => Some(WatchEvent::Configuration { position, listed, object }),
        Err(error) => forbidden(&error).map(|why| WatchEvent::Unwatched { position, why }),
    };
    watch_object(api, &name.name, inbox, event).await;
}

/// A version of an object, and whether it was listed, so that events before it may have been missed.
type Seen<K> = (bool, Change<K>);

/// Watches one object until the receiver is gone. `event_of` makes the events of versions and errors.
async fn watch_object<K>(
    api: Api<K>,
    name: &str,
    inbox: mpsc::Sender<WatchEvent>,
    event_of: impl Fn(Result<Seen<K>, watcher::Error>) -> Option<WatchEvent> + Send,
) where
    K: Resource + Clone + DeserializeOwned + fmt::Debug + Send + 'static,
{
    let selection = short_watch().fields(&format!("metadata.name={name}"));
    let mut events = std::pin::pin!(watcher::watcher(api, selection));
    let (mut backoff, mut listed) = (Backoff::default(), Change::Deleted(None));
    while let Some(event) = events.next().await {
        let seen = match event {
            Ok(Event::Init) => {
                listed = Change::Deleted(None);
                continue;
            }
            Ok(Event::InitApply(object)) => {
                listed = Change::Stored(Box::new(object));
                continue;
            }
            Ok(Event::InitDone) => Ok((true, std::mem::replace(&mut listed, Change::Deleted(None)))),
            Ok(Event::Apply(object)) => Ok((false, Change::Stored(Box::new(object)))),
            Ok(Event::Delete(object)) => Ok((false, Change::Deleted(object.meta().resource_version.clone()))),
            Err(error) => Err(error),
        };
        let is_error = seen.is_err();
        if let Some(event) = event_of(seen)
            && inbox.send(event).await.is_err()
        {
            return;
        }
        if is_error {
            pause_after_error(&mut backoff).await;
        } else {
            backoff.clear();
        }
    }
}

/// Reports the latest desired entries until the sender is dropped.
pub(super) async fn follow_desired(
    mut updates: watch::Receiver<Option<Vec<Desired>>>,
    inbox: mpsc::Sender<WatchEvent>,
) {
    while updates.changed().await.is_ok() {
        let latest = updates.borrow_and_update().clone();
        if let Some(desired) = latest
            && inbox.send(WatchEvent::Desired(desired)).await.is_err()
        {
            return;
        }
    }
}

fn forbidden(error: &watcher::Error) -> Option<String> {
    match error {
        watcher::Error::InitialListFailed(kube::Error::Api(status))
        | watcher::Error::WatchStartFailed(kube::Error::Api(status))
        | watcher::Error::WatchError(status) => status.is_forbidden().then(|| status.message.clone()),
        _ => None,
    }
}

/// Waits after an error. The pauses of `kube::runtime` do not grow without a server, because it counts the begin of a list as
/// success.
async fn pause_after_error(backoff: &mut Backoff) {
    let now = Instant::now();
    backoff.forget_after_quiet(now);
    backoff.failed(now);
    let longest = backoff.until.map(|end| end - now).unwrap_or_default();
    tokio::time::sleep(longest.mul_f64(0.5 + random_fraction() / 2.0)).await;
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use futures_util::stream;
    use http_body_util::{BodyStream, StreamBody};
    use kube::client::Body;
    use serde_json::json;

    use super::*;

    /// The connection is open, and nothing comes: no event, no bookmark, no end.
    #[tokio::test(start_paused = true)]
    async fn a_silent_watch_is_restarted_within_a_minute() {
        let watched = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&watched);
        let silent = tower::service_fn(move |request: http::Request<Body>| {
            let is_watch = request.uri().query().is_some_and(|query| query.contains("watch=true"));
            count.fetch_add(usize::from(is_watch), Ordering::SeqCst);
            let list = json!({ "apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadataList",
                               "metadata": { "resourceVersion": "1" }, "items": [] });
            let content = if is_watch { String::new() } else { list.to_string() };
            let content = BodyStream::new(Body::from(content.into_bytes()));
            let body = if is_watch {
                content.chain(stream::pending()).left_stream()
            } else {
                content.right_stream()
            };
            async { Ok::<_, std::io::Error>(http::Response::new(StreamBody::new(body))) }
        });
        let (events, _inbox) = mpsc::channel(1);
        let watch = watch_ring(Client::new(silent, "default"), "demo/ring".parse().unwrap(), events);
        assert!(tokio::time::timeout(Duration::from_secs(61), watch).await.is_err(), "it never gives up");
        assert_eq!(watched.load(Ordering::SeqCst), 2);
    }

    /// The first watch ends within an object, the second goes on from where the first was.
    #[tokio::test(start_paused = true)]
    async fn a_watch_that_is_cut_within_an_object_is_restarted() {
        let watched = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&watched);
        let cutting = tower::service_fn(move |request: http::Request<Body>| {
            let query = request.uri().query().unwrap_or_default();
            let event = json!({ "type": "MODIFIED", "object": { "apiVersion": "meta.k8s.io/v1",
                "kind": "PartialObjectMetadata", "metadata": { "name": "ring", "resourceVersion": "9" } } });
            let event = format!("{event}\n");
            let content = match query.contains("watch=true").then(|| count.fetch_add(1, Ordering::SeqCst)) {
                None => json!({ "apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadataList",
                                "metadata": { "resourceVersion": "7" }, "items": [] })
                .to_string(),
                Some(0) => event[..event.len() / 2].to_owned(),
                Some(_) => event,
            };
            async { Ok::<_, std::io::Error>(http::Response::new(Body::from(content.into_bytes()))) }
        });
        let (events, mut inbox) = mpsc::channel(1);
        let name = "demo/ring".parse().unwrap();
        let watch = tokio::spawn(watch_ring(Client::new(cutting, "default"), name, events));
        let WatchEvent::Ring(None) = inbox.recv().await.unwrap() else { panic!("there is none at first") };
        let WatchEvent::Ring(Some(version)) = inbox.recv().await.unwrap() else { panic!("then there is") };
        assert_eq!((version.as_str(), watched.load(Ordering::SeqCst) >= 2), ("9", true));
        watch.abort();
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_is_not_there_is_asked_less_and_less() {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        let absent = tower::service_fn(move |_: http::Request<Body>| {
            count.fetch_add(1, Ordering::SeqCst);
            async { Err::<http::Response<Body>, _>(std::io::Error::other("no server")) }
        });
        let (events, _inbox) = mpsc::channel(1);
        let watch = watch_ring(Client::new(absent, "default"), "demo/ring".parse().unwrap(), events);
        let time = Duration::from_secs(10 * 60);
        assert!(tokio::time::timeout(time, watch).await.is_err(), "it never gives up");
        let asked = asked.load(Ordering::SeqCst);
        assert!((20..60).contains(&asked), "{asked} times in ten minutes");
    }
}
