//! Watched objects for code outside of handlers.

use std::sync::Arc;
use std::time::Instant;

use kube::Client;
use tokio::sync::watch;

use super::declaration::{KindObjects, StoreState};
use super::kind::Kind;
use super::looked_up::LookedUp;
use super::watch::Watch;
use super::watch_state::WatchState;
use super::{Lookup, Namespaces};

/// The objects of a [`Watch`], for code that is no handler with a [`Context`](crate::Context): a [`Handler`](crate::admission::Handler), or
/// a task. Cheap to clone; the watch ends with the last clone.
///
/// The app does not know of it: [`App::reports_watch`](crate::App::reports_watch) reports its state, [`App::ready_when`](crate::App::ready_when)
/// may wait for its first list, and [`App::rights`](crate::App::rights) declares its rights.
///
/// ```
/// # use k8s_openapi::api::core::v1::ConfigMap;
/// # use std::time::Instant;
/// use vestibule::{Watch, Watched};
///
/// async fn follow(client: &kube::Client) {
///     let mut prices = Watched::start(client, Watch::<ConfigMap>::new().namespace("shop"));
///     loop {
///         prices.changed().await;
///         let all = prices.lookup(Instant::now()).everywhere().list();
/// #       drop(all);
///     }
/// }
/// ```
pub struct Watched<T: LookedUp> {
    objects: Arc<KindObjects<T>>,
    state: WatchState,
    changes: watch::Receiver<()>,
}

impl<T: LookedUp> Watched<T> {
    /// Starts the watch. Needs a Tokio runtime.
    #[must_use]
    pub fn start(client: &Client, watch: Watch<T>) -> Self {
        Self::start_as(client, watch, WatchState::idle())
    }

    /// Starts the watch with a state that the app reports already ([`WatchState::idle`]). Needs a Tokio runtime.
    #[must_use]
    pub fn start_as(client: &Client, watch: Watch<T>, state: WatchState) -> Self {
        let (objects, changes) = KindObjects::start(client, Kind::of::<T>(), watch, state.clone());
        Self { objects: Arc::new(objects), state, changes }
    }

    /// A query. Reads from the API server are answered before `deadline`, or fail.
    pub fn lookup(&self, deadline: Instant) -> Lookup<T> {
        Lookup { objects: Some(Arc::clone(&self.objects)), namespaces: Namespaces::One(None), deadline }
    }

    /// Whether the first list was read.
    #[must_use]
    pub fn is_synced(&self) -> bool {
        self.objects.missing().is_none()
    }

    /// When the API server last answered the watch.
    #[must_use]
    pub fn state(&self) -> WatchState {
        self.state.clone()
    }

    /// Waits until objects changed that this clone has not reported; not while a list is being read.
    pub async fn changed(&mut self) {
        // The sender is in the store that `objects` holds.
        if self.changes.changed().await.is_err() {
            std::future::pending::<()>().await;
        }
    }
}

impl<T: LookedUp> Clone for Watched<T> {
    fn clone(&self) -> Self {
        Self { objects: Arc::clone(&self.objects), state: self.state.clone(), changes: self.changes.clone() }
    }
}

#[cfg(test)]
mod tests {
    use std::convert::Infallible;
    use std::sync::atomic::{AtomicUsize, Ordering};
    use std::time::Duration;

    use bytes::Bytes;
    use futures_util::{Stream, StreamExt, stream};
    use http::{Request, Response};
    use http_body_util::StreamBody;
    use hyper::body::Frame;
    use k8s_openapi::api::core::v1::Pod;
    use kube::client::Body;

    use super::*;

    fn whole(text: &'static str) -> impl Stream<Item = Result<Frame<Bytes>, Infallible>> {
        stream::iter([Ok(Frame::data(Bytes::from_static(text.as_bytes())))])
    }

    fn number(pods: &Watched<Pod>) -> Option<usize> {
        pods.lookup(Instant::now()).everywhere().list().map(|all| all.len()).ok()
    }

    #[tokio::test(start_paused = true)]
    async fn watched_objects_are_looked_up_and_changes_are_reported() {
        const LIST: &str = r#"{"kind":"PodList","metadata":{"resourceVersion":"7"},"items":[{"metadata":{"namespace":"shop","name":"web"}}]}"#;
        const GONE: &str = "{\"type\":\"DELETED\",\"object\":{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\
                            \"metadata\":{\"namespace\":\"shop\",\"name\":\"web\",\"resourceVersion\":\"8\"}}}\n";
        let answer = tower::service_fn(|request: Request<Body>| async move {
            let body = match request.uri().query().unwrap_or_default().contains("watch=true") {
                false => whole(LIST).boxed(),
                true => {
                    tokio::time::sleep(Duration::from_secs(1)).await;
                    whole(GONE).chain(stream::pending()).boxed()
                }
            };
            Ok::<_, Infallible>(Response::new(StreamBody::new(body)))
        });
        let mut pods = Watched::start(&Client::new(answer, "shop"), Watch::<Pod>::new());
        assert_eq!((pods.is_synced(), number(&pods)), (false, None));
        for expected in [1, 0] {
            pods.changed().await;
            assert_eq!((pods.is_synced(), number(&pods)), (true, Some(expected)));
        }
        assert_eq!(pods.state().broken(), None);
    }

    /// The connection is open, and nothing comes: no event, no bookmark, no end.
    #[tokio::test(start_paused = true)]
    async fn a_silent_watch_of_objects_is_restarted_within_a_minute() {
        const LIST: &str = r#"{"kind":"PodList","metadata":{"resourceVersion":"7"},"items":[]}"#;
        const NEW: &str = "{\"type\":\"ADDED\",\"object\":{\"kind\":\"Pod\",\"apiVersion\":\"v1\",\
                           \"metadata\":{\"namespace\":\"shop\",\"name\":\"web\",\"resourceVersion\":\"8\"}}}\n";
        let watches = AtomicUsize::new(0);
        let answer = tower::service_fn(move |request: Request<Body>| {
            let is_watch = request.uri().query().unwrap_or_default().contains("watch=true");
            let body = match is_watch.then(|| watches.fetch_add(1, Ordering::Relaxed)) {
                None => whole(LIST).boxed(),
                Some(0) => stream::pending().boxed(),
                Some(_) => whole(NEW).chain(stream::pending()).boxed(),
            };
            async { Ok::<_, Infallible>(Response::new(StreamBody::new(body))) }
        });
        let mut pods = Watched::start(&Client::new(answer, "shop"), Watch::<Pod>::new());
        pods.changed().await;
        assert_eq!(number(&pods), Some(0));
        tokio::time::timeout(Duration::from_secs(61), pods.changed()).await.unwrap();
        assert_eq!(number(&pods), Some(1));
    }
}
