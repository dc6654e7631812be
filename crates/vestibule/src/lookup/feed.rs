//! A watch that writes into a store.

use std::sync::Arc;

use futures_util::StreamExt;
use kube::runtime::watcher::{self, Event};
use kube::runtime::{WatchStreamExt, watcher as watch_objects};
use kube::{Api, Client};

use super::LookedUp;
use super::background::Background;
use super::kind::Kind;
use super::live::Failure;
use super::seen::Seen;
use super::store::Store;
use super::watch::{Slim, Watch};

/// Watches until the result is dropped.
pub(super) fn start<T: LookedUp>(
    client: Client,
    kind: Kind,
    watch: Watch<T>,
    store: Arc<Store<T>>,
) -> Background<()> {
    Background::start(feed(client, kind, watch, Abandoned(store)))
}

/// An author's `slim` or index that panics ends the watch: what was kept so far must not be taken for the truth.
struct Abandoned<T: LookedUp>(Arc<Store<T>>);

impl<T: LookedUp> Drop for Abandoned<T> {
    fn drop(&mut self) {
        self.0.abandon("its watch has ended");
    }
}

async fn feed<T: LookedUp>(client: Client, kind: Kind, watch: Watch<T>, abandoned: Abandoned<T>) {
    let Watch { namespace, selection, slim, .. } = watch;
    let objects: Api<Seen<T>> = match &namespace {
        Some(namespace) => Api::namespaced_with(client, namespace, &()),
        None => Api::all_with(client, &()),
    };
    let store = &abandoned.0;
    let mut events = std::pin::pin!(watch_objects(objects, selection).default_backoff());
    while let Some(event) = events.next().await {
        match event {
            Ok(Event::Init) => store.begin_list(),
            Ok(Event::InitApply(mut seen)) => {
                if let Some(object) = slimmed(&mut seen, &slim, &kind) {
                    store.listed(object);
                }
            }
            Ok(Event::InitDone) => store.end_list(),
            Ok(Event::Apply(mut seen)) => match slimmed(&mut seen, &slim, &kind) {
                Some(object) => store.put(object),
                None => store.remove(&seen.metadata),
            },
            Ok(Event::Delete(seen)) => store.remove(&seen.metadata),
            Err(error) => {
                let why = words(error);
                if store.trouble(&why) {
                    tracing::warn!(kind = kind.title, why, "cannot be watched; trying again");
                }
            }
        }
    }
}

/// An object that does not fit its type is as good as not seen: whoever asks for it by name learns why.
fn slimmed<T: LookedUp>(seen: &mut Seen<T>, slim: &Slim<T>, kind: &Kind) -> Option<Arc<T>> {
    let Some(mut object) = seen.object.take() else {
        let (namespace, name) = (&seen.metadata.namespace, &seen.metadata.name);
        tracing::warn!(kind = kind.title, namespace, name, "does not fit its type and is left out");
        return None;
    };
    slim.apply(Arc::get_mut(&mut object)?);
    Some(object)
}

/// What the API server says of it, which names the missing right where that is the reason.
fn words(error: watcher::Error) -> String {
    match error {
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => Failure::from(error).why,
        watcher::Error::WatchError(status) => status.message,
        watcher::Error::NoResourceVersion => "the list has no version: can it be watched?".to_owned(),
    }
}
