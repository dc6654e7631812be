//! The namespaces of a cluster, kept up to date by a watch of their metadata.

use std::error::Error;
use std::future::ready;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use futures_util::StreamExt;
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{Api, ObjectMeta, PartialObjectMeta};
use kube::runtime::reflector::{ObjectRef, Store, store};
use kube::runtime::watcher::Event;
use kube::runtime::{WatchStreamExt, watcher};
use kube::{Client, Resource};
use vestibule::tooling::WatchState;
use vestibule_rules::NamespaceFacts;

use super::NotReady;
use crate::task::AbortOnDrop;

type Metadata = PartialObjectMeta<Namespace>;

pub(super) struct Watched {
    namespaces: Api<Metadata>,
    seen: Store<Metadata>,
    ready: Arc<AtomicBool>,
    state: WatchState,
    _watch: AbortOnDrop,
}

impl Watched {
    pub(super) fn start(client: Client) -> Self {
        let (watch_client, state) = WatchState::listening(&client);
        let [namespaces, watched] = [client, watch_client].map(Api::<Metadata>::all);
        let (seen, writer) = store();
        let ready = Arc::new(AtomicBool::new(false));
        let synced = Arc::clone(&ready);
        let watch_state = state.clone();
        let events = watcher(watched, vestibule::identity::short_watch())
            // `managedFields` is most of the metadata, and no rule reads it.
            .modify(|namespace| namespace.metadata.managed_fields = None)
            .default_backoff()
            .reflect(writer);
        let watch = AbortOnDrop::spawn(events.for_each(move |event| {
            match event {
                Ok(Event::InitDone) => synced.store(true, Ordering::Release),
                Ok(_) => {}
                Err(error) => {
                    watch_state.failed(&error.to_string());
                    tracing::warn!(%error, "the namespaces cannot be watched; trying again");
                }
            }
            self::ready(())
        }));
        Self { namespaces, seen, ready, state, _watch: watch }
    }

    pub(super) fn client(&self) -> Client {
        self.namespaces.clone().into_client()
    }

    pub(super) fn state(&self) -> WatchState {
        self.state.clone()
    }

    pub(super) fn is_ready(&self) -> bool {
        self.ready.load(Ordering::Acquire)
    }

    /// [`None`] where the cluster has no such namespace.
    pub(super) async fn facts(
        &self,
        namespace: &str,
        until: Instant,
    ) -> Result<Option<NamespaceFacts>, NotReady> {
        if !self.is_ready() {
            return Err(NotReady("namespaces are being read".to_owned()));
        }
        if !is_name(namespace) {
            return Ok(None);
        }
        if let Some(seen) = self.seen.get(&ObjectRef::new(namespace)) {
            return Ok(Some(facts(seen.meta())));
        }
        // A pod may be created before the watch has reported its new namespace.
        let read = tokio::time::timeout_at(until.into(), self.namespaces.get_opt(namespace)).await;
        let error: Box<dyn Error + Send + Sync> = match read {
            Ok(Ok(found)) => return Ok(found.map(|found| facts(found.meta()))),
            Ok(Err(refused)) => refused.into(),
            Err(late) => late.into(),
        };
        tracing::warn!(namespace, %error, "a namespace that the watch has not seen cannot be read");
        Err(NotReady(format!("namespace {namespace} cannot be read")))
    }
}

/// Whether it is a DNS label (RFC 1123). No namespace has another name, and another name in the path of a request would
/// address another object.
fn is_name(namespace: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    (1..=63).contains(&namespace.len()) && namespace.bytes().all(inner)
}

fn facts(metadata: &ObjectMeta) -> NamespaceFacts {
    NamespaceFacts {
        labels: metadata.labels.clone().unwrap_or_default(),
        annotations: metadata.annotations.clone().unwrap_or_default(),
    }
}
