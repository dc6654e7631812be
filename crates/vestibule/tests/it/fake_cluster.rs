//! A fake API server behind a `kube::Client` that answers reads; tests can hold each answer back.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::sync::{Arc, Mutex, MutexGuard};

use bytes::Bytes;
use futures_util::StreamExt;
use futures_util::stream::{self, BoxStream};
use http::{Request, Response};
use http_body_util::StreamBody;
use http_body_util::combinators::UnsyncBoxBody;
use hyper::body::Frame;
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::sync::Semaphore;
use tokio::sync::mpsc::{self, UnboundedReceiver, UnboundedSender};

type AnswerBody = UnsyncBoxBody<Bytes, Infallible>;

/// Cheap to clone; clones are the same cluster.
#[derive(Clone)]
pub(crate) struct FakeCluster(Arc<Inner>);

struct Inner {
    state: Mutex<State>,
    lists: Semaphore,
    gets: Semaphore,
}

#[derive(Default)]
struct State {
    /// By their paths.
    objects: BTreeMap<String, Value>,
    /// All requests: `GET PATH?QUERY ACCEPT`.
    asked: Vec<String>,
    refusal: Option<Value>,
    watches: Vec<UnboundedSender<Bytes>>,
}

impl FakeCluster {
    pub(crate) fn new() -> Self {
        let (lists, gets) = (Semaphore::new(0), Semaphore::new(0));
        Self(Arc::new(Inner { state: Mutex::default(), lists, gets }))
    }

    /// A cluster that answers at once.
    pub(crate) fn open() -> Self {
        let cluster = Self::new();
        cluster.answer_lists();
        cluster.answer_gets();
        cluster
    }

    pub(crate) fn client(&self) -> Client {
        let cluster = self.clone();
        let answer = move |request: Request<Body>| {
            let cluster = cluster.clone();
            async move { Ok::<_, Infallible>(cluster.answer(request.map(drop)).await) }
        };
        Client::new(tower::service_fn(answer), "default")
    }

    pub(crate) fn answer_lists(&self) {
        self.0.lists.add_permits(1_000);
    }

    pub(crate) fn answer_gets(&self) {
        self.0.gets.add_permits(1_000);
    }

    /// Refuses lists and watches with this Status; [`None`] ends that.
    pub(crate) fn refuse(&self, status: Option<Value>) {
        self.state().refusal = status;
    }

    /// Ends every watch, as the API server does after a minute.
    pub(crate) fn cut_watches(&self) {
        self.state().watches.clear();
    }

    /// The object at this path, such as `/api/v1/namespaces/shop/pods/web`; watches are not told.
    pub(crate) fn put(&self, path: &str, mut object: Value) {
        let (place, name) = path.rsplit_once('/').unwrap();
        object["metadata"]["name"] = json!(name);
        if let Some((_, rest)) = place.split_once("/namespaces/") {
            object["metadata"]["namespace"] = json!(rest.split('/').next().unwrap());
        }
        object["metadata"]["resourceVersion"] = json!("7");
        self.state().objects.insert(path.to_owned(), object);
    }

    pub(crate) fn delete(&self, path: &str) {
        self.state().objects.remove(path);
    }

    /// Sends an event to the open watches: `ADDED`, `MODIFIED`, `DELETED`.
    pub(crate) fn tell(&self, what: &str, path: &str) {
        let object = self.state().objects[path].clone();
        self.send(format!("{{\"type\":\"{what}\",\"object\":{object}}}\n"));
    }

    /// Makes all watches list again.
    pub(crate) fn forget(&self) {
        let gone = status(410, "Expired", "too old resource version");
        self.send(format!("{{\"type\":\"ERROR\",\"object\":{gone}}}\n"));
        self.cut_watches();
    }

    /// The requests that contain this text.
    pub(crate) fn asked(&self, words: &str) -> Vec<String> {
        self.state().asked.iter().filter(|asked| asked.contains(words)).cloned().collect()
    }

    /// Returns after this many requests that contain this text.
    pub(crate) async fn until_asked(&self, words: &str, times: usize) {
        while self.asked(words).len() < times {
            tokio::task::yield_now().await;
        }
    }

    /// Returns when no watch is open.
    pub(crate) async fn until_no_watch_is_open(&self) {
        let watches = self.state().watches.clone();
        for watch in watches {
            watch.closed().await;
        }
    }

    pub(crate) fn is_watched(&self) -> bool {
        self.state().watches.iter().any(|watch| !watch.is_closed())
    }

    async fn answer(&self, request: Request<()>) -> Response<AnswerBody> {
        let target = request.uri().path_and_query().unwrap().as_str().to_owned();
        let path = request.uri().path();
        let accept = request.headers().get(http::header::ACCEPT).map(|accept| accept.to_str().unwrap());
        // The answer is computed when the request arrives, even if it is sent late.
        let answer = {
            let mut state = self.state();
            state.asked.push(format!("{} {target} {}", request.method(), accept.unwrap_or_default()));
            state.objects.get(path).cloned()
        };
        let is_one = path.rsplit('/').next().is_some_and(|last| !last.ends_with('s') || answer.is_some());
        if is_one {
            self.0.gets.acquire().await.unwrap().forget();
            return match answer {
                Some(object) => whole(200, &object),
                None => whole(404, &status(404, "NotFound", "not found")),
            };
        }
        self.0.lists.acquire().await.unwrap().forget();
        let refusal = self.state().refusal.clone();
        if let Some(refusal) = refusal {
            return whole(403, &refusal);
        }
        if target.contains("sendInitialEvents=true") {
            return whole(422, &status(422, "Invalid", "sendInitialEvents: Forbidden"));
        }
        if target.contains("watch=") { self.watch() } else { whole(200, &self.list(path)) }
    }

    fn list(&self, path: &str) -> Value {
        let (place, resource) = path.rsplit_once('/').unwrap();
        let state = self.state();
        let inside = state
            .objects
            .iter()
            .filter(|(path, _)| path.starts_with(place) && path.rsplit('/').nth(1) == Some(resource));
        let items: Vec<_> = inside.map(|(_, object)| object.clone()).collect();
        json!({"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": "7"}, "items": items})
    }

    fn watch(&self) -> Response<AnswerBody> {
        let (sender, events) = mpsc::unbounded_channel();
        self.state().watches.push(sender);
        answered(200, lines(events))
    }

    fn send(&self, line: String) {
        let line = Bytes::from(line);
        self.state().watches.retain(|watch| watch.send(line.clone()).is_ok());
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock().unwrap()
    }
}

pub(crate) fn status(code: u16, reason: &str, message: &str) -> Value {
    json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code, "reason": reason, "message": message})
}

fn whole(code: u16, body: &Value) -> Response<AnswerBody> {
    answered(code, stream::iter([Bytes::from(body.to_string())]).boxed())
}

fn answered(code: u16, body: BoxStream<'static, Bytes>) -> Response<AnswerBody> {
    let frames = body.map(|bytes| Ok(Frame::data(bytes)));
    Response::builder().status(code).body(UnsyncBoxBody::new(StreamBody::new(frames))).unwrap()
}

fn lines(events: UnboundedReceiver<Bytes>) -> BoxStream<'static, Bytes> {
    stream::unfold(events, async |mut events| Some((events.recv().await?, events))).boxed()
}
