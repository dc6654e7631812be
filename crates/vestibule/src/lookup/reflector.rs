//! Lists and watches the objects of one type, and writes them into a store.

use std::sync::Arc;
use std::time::Duration;

use futures_util::StreamExt;
use kube::runtime::watcher::{self, DefaultBackoff, Event, InitialListStrategy};
use kube::{Api, Client};
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::kind::Kind;
use super::live::Failure;
use super::looked_up::LookedUp;
use super::store::Store;
use super::watch::{Slim, Watch};
use super::watched_object::WatchedObject;
use crate::lookup::watch_state::WatchState;

const LONGEST_PAUSE: Duration = Duration::from_secs(30);

/// The timeout of one page of a list. kube-apiserver gives up after a minute itself: a page that takes longer was lost on a dead
/// connection, for which the client would wait for ever.
const PAGE_TIMEOUT: Duration = Duration::from_secs(90);

/// Starts a task that watches until the set that is returned is dropped.
pub(super) fn start<T: LookedUp>(
    client: &Client,
    kind: Kind,
    watch: Watch<T>,
    store: Arc<Store<T>>,
    state: WatchState,
) -> JoinSet<()> {
    let client = state.begin(client);
    let mut task = JoinSet::new();
    task.spawn(watch_objects(client, kind, watch, AbandonOnDrop(store), state));
    task
}

/// Marks the store as unusable when the watch ends, as after a panic in an author's `slim` or index function.
struct AbandonOnDrop<T: LookedUp>(Arc<Store<T>>);

impl<T: LookedUp> Drop for AbandonOnDrop<T> {
    fn drop(&mut self) {
        self.0.abandon("its watch has ended");
    }
}

async fn watch_objects<T: LookedUp>(
    client: Client,
    kind: Kind,
    watch: Watch<T>,
    abandoned: AbandonOnDrop<T>,
    state: WatchState,
) {
    let Watch { namespace, mut selection, slim, .. } = watch;
    let objects: Api<WatchedObject<T>> = match &namespace {
        Some(namespace) => Api::namespaced_with(client, namespace, &()),
        None => Api::all_with(client, &()),
    };
    let store = &abandoned.0;
    let listed = |selection: &watcher::Config| watcher::watcher(objects.clone(), selection.clone()).boxed();
    let mut events = listed(&selection);
    // The stream's own backoff would be reset by the start of a list, and a list may succeed while each watch fails. The pauses of
    // this one grow until there was no error for two minutes.
    let mut backoff = DefaultBackoff::default();
    let mut is_listing = true;
    loop {
        let limit = if is_listing { PAGE_TIMEOUT } else { Duration::MAX };
        let Ok(event) = timeout(limit, events.next()).await else {
            report(store, &state, &kind, "the API server does not answer");
            events = listed(&selection);
            continue;
        };
        let Some(event) = event else { return };
        match event {
            Ok(Event::Init) => {
                is_listing = true;
                store.begin_list();
            }
            Ok(Event::InitApply(mut seen)) => {
                if let Some(object) = slimmed(&mut seen, &slim, &kind) {
                    store.listed(object);
                }
            }
            Ok(Event::InitDone) => {
                is_listing = false;
                store.end_list();
                state.listed();
            }
            Ok(Event::Apply(mut seen)) => match slimmed(&mut seen, &slim, &kind) {
                Some(object) => store.put(object),
                None => store.remove(&seen.metadata),
            },
            Ok(Event::Delete(seen)) => store.remove(&seen.metadata),
            Err(error)
                if selection.initial_list_strategy == InitialListStrategy::StreamingList
                    && does_not_stream_lists(&error) =>
            {
                selection.initial_list_strategy = InitialListStrategy::ListWatch;
                events = listed(&selection);
            }
            Err(error) => {
                let was_unanswered = is_unanswered(&error);
                report(store, &state, &kind, &words(error));
                tokio::time::sleep(backoff.next().unwrap_or(LONGEST_PAUSE)).await;
                if was_unanswered {
                    events = listed(&selection);
                }
            }
        }
    }
}

/// Logs an error once until a recovery. `/readyz` shows it until the first list is read; later the objects in memory stay in use,
/// and only `/readyz?verbose` and `vestibule_watch_broken_seconds` show it.
fn report<T: LookedUp>(store: &Store<T>, state: &WatchState, kind: &Kind, why: &str) {
    store.set_trouble(why);
    if state.failed(why) {
        tracing::warn!(kind = kind.title, why, "cannot be watched; trying again");
    }
}

/// Whether the API server does not support streaming lists: the feature is off or unknown, or its etcd is too old, which it says in
/// the stream.
fn does_not_stream_lists(error: &watcher::Error) -> bool {
    match error {
        watcher::Error::WatchStartFailed(kube::Error::Api(status)) => matches!(status.code, 400 | 422),
        watcher::Error::WatchError(status) => status.code != 410,
        _ => false,
    }
}

/// Whether a watch failed because no API server answered. It may be back with an etcd that was restored from a snapshot, whose versions
/// are older: a watch from the last version would be silent until that version is reached again, so the objects are listed.
fn is_unanswered(error: &watcher::Error) -> bool {
    match error {
        watcher::Error::WatchStartFailed(kube::Error::Api(status)) => status.code >= 500,
        watcher::Error::WatchStartFailed(_) => true,
        _ => false,
    }
}

/// An object that does not fit its type is left out. A lookup by its name reads it from the API server, and returns the error.
fn slimmed<T: LookedUp>(seen: &mut WatchedObject<T>, slim: &Slim<T>, kind: &Kind) -> Option<Arc<T>> {
    let Some(mut object) = seen.object.take() else {
        let (namespace, name) = (&seen.metadata.namespace, &seen.metadata.name);
        tracing::warn!(kind = kind.title, namespace, name, "does not fit its type and is left out");
        return None;
    };
    slim(Arc::get_mut(&mut object)?);
    Some(object)
}

/// The message of the API server, which names a missing right.
fn words(error: watcher::Error) -> String {
    match error {
        watcher::Error::InitialListFailed(error)
        | watcher::Error::WatchStartFailed(error)
        | watcher::Error::WatchFailed(error) => Failure::from(error).why,
        watcher::Error::WatchError(status) => status.message,
        watcher::Error::NoResourceVersion => "the list has no version: can it be watched?".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::convert::Infallible;
    use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

    use bytes::Bytes;
    use futures_util::stream;
    use http::{Request, Response};
    use http_body_util::StreamBody;
    use hyper::body::Frame;
    use k8s_openapi::api::core::v1::Pod;
    use kube::client::Body;

    use super::*;

    /// An empty store of pods, and its feed from the API server behind `client`.
    fn followed(client: &Client) -> (Arc<Store<Pod>>, JoinSet<()>) {
        let store = Arc::new(Store::new(BTreeMap::new()));
        let feed = start(client, Kind::of::<Pod>(), Watch::new(), Arc::clone(&store), WatchState::idle());
        (store, feed)
    }

    fn is_watch(request: &Request<Body>) -> bool {
        request.uri().query().unwrap_or_default().contains("watch=true")
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_that_is_refused_is_retried_less_and_less_often() {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        let refuse = tower::service_fn(move |_: Request<Body>| {
            count.fetch_add(1, Ordering::Relaxed);
            let status = br#"{"kind":"Status","status":"Failure","code":403,"message":"no pods for you"}"#;
            let refused = Response::builder().status(403).body(Body::from(status.to_vec()));
            async move { Ok::<_, Infallible>(refused.unwrap()) }
        });
        let (store, feed) = followed(&Client::new(refuse, "default"));
        tokio::time::sleep(Duration::from_secs(300)).await;
        let times = asked.load(Ordering::Relaxed);
        assert!((5..30).contains(&times), "{times}");
        assert_eq!(store.missing().as_deref(), Some("no pods for you"));
        drop(feed);
        tokio::task::yield_now().await;
        tokio::time::sleep(Duration::from_secs(300)).await;
        assert_eq!(asked.load(Ordering::Relaxed), times, "the watch has ended");
        assert_eq!(store.missing().as_deref(), Some("its watch has ended"));
    }

    #[tokio::test(start_paused = true)]
    async fn an_error_in_the_stream_about_streaming_lists_leads_to_a_plain_list() {
        let answer = tower::service_fn(|request: Request<Body>| async move {
            let query = request.uri().query().unwrap_or_default();
            let body = if query.contains("sendInitialEvents=true") {
                r#"{"type":"ERROR","object":{"kind":"Status","status":"Failure","reason":"InternalError","code":500,
                   "message":"the required storage feature RequestWatchProgress is disabled"}}"#
                    .replace('\n', "")
            } else if query.contains("watch=true") {
                std::future::pending().await
            } else {
                let pod = r#"{"metadata":{"namespace":"shop","name":"web"}}"#;
                format!(r#"{{"kind":"PodList","metadata":{{"resourceVersion":"7"}},"items":[{pod}]}}"#)
            };
            Ok::<_, Infallible>(Response::new(Body::from(body.into_bytes())))
        });
        let store = Arc::new(Store::<Pod>::new(BTreeMap::new()));
        let client = Client::new(answer, "default");
        let watch = Watch::new().streaming_lists(true);
        let _feed = start(&client, Kind::of::<Pod>(), watch, Arc::clone(&store), WatchState::idle());
        tokio::time::sleep(Duration::from_secs(60)).await;
        assert_eq!(store.missing(), None);
        assert!(store.get("shop", "web").is_some());
    }

    #[tokio::test(start_paused = true)]
    async fn a_watch_that_is_refused_after_its_list_is_broken_until_it_is_answered() {
        let refuses = Arc::new(AtomicBool::new(false));
        let right = Arc::clone(&refuses);
        let answer = tower::service_fn(move |request: Request<Body>| {
            let is_watch = is_watch(&request);
            let whole = |text: &'static str| {
                stream::iter([Ok::<_, Infallible>(Frame::data(Bytes::from_static(text.as_bytes())))]).boxed()
            };
            let (code, body) = if right.load(Ordering::Relaxed) {
                (403, whole(r#"{"kind":"Status","status":"Failure","code":403,"message":"no pods for you"}"#))
            } else if is_watch {
                // A silent watch, which ends after its minute.
                (200, stream::pending().boxed())
            } else {
                (200, whole(r#"{"kind":"PodList","metadata":{"resourceVersion":"7"},"items":[]}"#))
            };
            let answer = Response::builder().status(code).body(StreamBody::new(body));
            async move { Ok::<_, Infallible>(answer.unwrap()) }
        });
        let store = Arc::new(Store::<Pod>::new(BTreeMap::new()));
        let client = Client::new(answer, "default");
        let state = WatchState::idle();
        let _feed = start(&client, Kind::of::<Pod>(), Watch::new(), Arc::clone(&store), state.clone());
        let hour = Duration::from_secs(3600);
        tokio::time::sleep(hour).await;
        assert_eq!((store.missing(), state.broken()), (None, None));
        refuses.store(true, Ordering::Relaxed);
        tokio::time::sleep(hour).await;
        assert_eq!(store.missing(), None, "the objects in memory stay in use");
        let broken = state.broken().unwrap();
        assert!(broken.abs_diff(hour) < Duration::from_secs(120), "{broken:?}");
        assert!(state.line("Pod").unwrap().contains("(no pods for you)"));
        refuses.store(false, Ordering::Relaxed);
        tokio::time::sleep(2 * LONGEST_PAUSE).await;
        assert_eq!(state.broken(), None);
    }

    #[tokio::test(start_paused = true)]
    async fn a_list_without_an_answer_is_requested_again() {
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        let answer = tower::service_fn(move |_: Request<Body>| {
            let times = count.fetch_add(1, Ordering::Relaxed);
            async move {
                // The first list, and the watch after the second.
                if times != 1 {
                    std::future::pending::<()>().await;
                }
                let list = br#"{"kind":"PodList","metadata":{"resourceVersion":"7"},"items":[]}"#;
                Ok::<_, Infallible>(Response::new(Body::from(list.to_vec())))
            }
        });
        let (store, _feed) = followed(&Client::new(answer, "default"));
        tokio::time::sleep(Duration::from_secs(3600)).await;
        assert_eq!(store.missing(), None);
        assert_eq!(asked.load(Ordering::Relaxed), 3, "a silent watch is no error");
    }

    /// Lists were repeated every second if the API server, or a proxy in front of it, answered lists and no watch.
    #[tokio::test(start_paused = true)]
    async fn pauses_between_lists_grow_while_watches_fail() {
        let lists = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&lists);
        let answer = tower::service_fn(move |request: Request<Body>| {
            let is_watch = is_watch(&request);
            let (code, body) = if is_watch {
                (503, r#"{"kind":"Status","status":"Failure","code":503}"#)
            } else {
                count.fetch_add(1, Ordering::Relaxed);
                (200, r#"{"kind":"PodList","metadata":{"resourceVersion":"7"},"items":[]}"#)
            };
            let answer = Response::builder().status(code).body(Body::from(body.as_bytes().to_vec()));
            async move { Ok::<_, Infallible>(answer.unwrap()) }
        });
        let (_store, _feed) = followed(&Client::new(answer, "default"));
        tokio::time::sleep(Duration::from_secs(3600)).await;
        let lists = lists.load(Ordering::Relaxed);
        assert!((60..200).contains(&lists), "{lists} lists in an hour");
    }

    /// The API server answers a watch from a version that it has not reached, and reports nothing. The objects in memory were out of date
    /// until etcd had as many writes again.
    #[tokio::test(start_paused = true)]
    async fn objects_are_listed_again_after_a_restore_of_etcd() {
        const DOWN: usize = 1;
        const RESTORED: usize = 2;
        let phase = Arc::new(AtomicUsize::new(0));
        let now = Arc::clone(&phase);
        let answer = tower::service_fn(move |request: Request<Body>| {
            let is_watch = is_watch(&request);
            let (version, name) = match now.load(Ordering::Relaxed) {
                RESTORED => (5, "old"),
                _ => (700, "new"),
            };
            let list = format!(
                r#"{{"kind":"PodList","metadata":{{"resourceVersion":"{version}"}},"items":[{{"metadata":{{"namespace":"shop","name":"{name}"}}}}]}}"#
            );
            let body = match is_watch {
                true => stream::pending().boxed(),
                false => stream::iter([Ok::<_, Infallible>(Frame::data(Bytes::from(list)))]).boxed(),
            };
            let is_down = now.load(Ordering::Relaxed) == DOWN;
            async move {
                if is_down {
                    return Err(std::io::Error::from(std::io::ErrorKind::ConnectionRefused));
                }
                Ok(Response::new(StreamBody::new(body)))
            }
        });
        let (store, _feed) = followed(&Client::new(answer, "default"));
        for (next, name) in [(DOWN, "new"), (RESTORED, "new"), (RESTORED, "old")] {
            tokio::time::sleep(Duration::from_secs(600)).await;
            assert!(store.get("shop", name).is_some(), "{name} before phase {next}");
            phase.store(next, Ordering::Relaxed);
        }
        assert!(store.get("shop", "new").is_none());
    }
}
