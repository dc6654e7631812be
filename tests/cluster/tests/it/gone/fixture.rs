//! An API server that compacts its history, and a client whose connection can be cut.

use http::Request;
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::timeout;
use vestibule_testenv::{Options, Proxy, start_or_skip};

use crate::cluster::{Cluster, Reply};
use crate::reload::TIMEOUT;

/// An API server that compacts its history after some seconds, and a proxy before it that can be cut.
pub(super) struct Fixture {
    pub(super) cluster: Cluster,
    proxy: Proxy,
    /// Connects through the proxy, and notes lists and watches.
    pub(super) client: Client,
    notes: watch::Receiver<Vec<Note>>,
}

/// In place of the code of an error: the request got no answer.
const FAILED: u64 = 0;

/// A requested list or watch, or its error.
#[derive(Clone, Debug)]
struct Note {
    uri: String,
    error: Option<u64>,
}

impl Fixture {
    pub(super) async fn new() -> Option<Self> {
        let flags = ["--watch-cache=false", "--etcd-compaction-interval=2s"];
        let options = flags.into_iter().fold(Options::default(), Options::api_server_flag);
        let cluster = Cluster::of(start_or_skip(&options).await?).await;
        let (proxy, way) = cluster.environment.api_server().proxied().unwrap();
        let (client, notes) = noting(way.admin().unwrap());
        Some(Self { cluster, proxy, client, notes })
    }

    /// Cuts the proxy during `happens`, until a request for the resource has failed, and asserts that a list is the next to succeed.
    pub(super) async fn misses(&mut self, resource: &str, happens: impl AsyncFn()) {
        let of_it = |note: &&Note| note.path().ends_with(resource);
        // The first watch belongs to the time before the cut.
        let watches = |notes: &[Note]| notes.iter().filter(of_it).any(|note| note.version().is_some());
        let before = self.noted(watches).await.len();
        self.proxy.cut();
        happens().await;
        let failed =
            |notes: &[Note]| notes[before..].iter().filter(of_it).any(|note| note.error == Some(FAILED));
        let of_it = |note: &&Note| of_it(note) && note.error.is_none();
        let count = |notes: &[Note]| notes[before..].iter().filter(of_it).count();
        let tried = count(&self.noted(failed).await);
        self.proxy.resume();
        let notes = self.noted(|notes| count(notes) > tried + 1).await;
        let versions: Vec<_> = notes[before..].iter().filter(of_it).map(Note::version).collect();
        assert!(
            versions[1..versions.len() - 1].iter().all(Option::is_none),
            "a watch was continued: {versions:?}"
        );
    }

    /// Cuts the proxy during `happens`, until the resource versions of the watches are compacted. Returns when each watch was
    /// answered 410 and a new list followed.
    pub(super) async fn forgets(&mut self, resources: &[&str], happens: impl AsyncFn()) {
        let before = self.notes.borrow().len();
        self.proxy.cut();
        happens().await;
        let mut refused = Vec::new();
        for resource in resources {
            let of_it = |note: &&Note| note.path().ends_with(resource) && note.version().is_some();
            let notes = self.noted(|notes| notes[before..].iter().any(|note| of_it(&note))).await;
            let asked = notes[before..].iter().find(of_it).cloned().unwrap();
            let forgotten = async { while self.answer(&asked).await != Some(410) {} };
            timeout(TIMEOUT, forgotten).await.expect("nothing is forgotten");
            refused.push(asked);
        }
        self.proxy.resume();

        for asked in refused {
            let since = |notes: &[Note]| {
                let gone = |note: &Note| note.uri == asked.uri && note.error == Some(410);
                let told = notes.iter().skip(before).position(gone).map(|told| before + told + 1);
                let later = notes.iter().skip(told.unwrap_or(notes.len()));
                let later = later.filter(|note| note.path() == asked.path() && note.error != Some(FAILED));
                later.cloned().collect::<Vec<_>>()
            };
            let notes = self.noted(|notes| since(notes).len() >= 2).await;
            let later = since(&notes);
            assert_eq!((later[0].version(), later[0].error), (None, None), "no list: {later:?}");
            assert!(later[1].version() > asked.version(), "{asked:?}, then {later:?}");
        }
    }

    async fn noted(&mut self, is_so: impl Fn(&[Note]) -> bool) -> Vec<Note> {
        let noted = self.notes.wait_for(|notes| is_so(notes));
        timeout(TIMEOUT, noted).await.expect("nothing happens").unwrap().clone()
    }

    /// The error code in the answer to the same watch without the proxy.
    async fn answer(&self, asked: &Note) -> Option<u64> {
        let briefly = asked.uri.replace("timeoutSeconds=55", "timeoutSeconds=1");
        let request = Request::get(briefly).body(Body::empty()).unwrap();
        let reply = Reply::read(self.cluster.client().send(request).await.unwrap()).await;
        assert_eq!(reply.status, 200, "{}", reply.text);
        error(reply.text.lines().next()?.as_bytes())
    }
}

impl Note {
    fn path(&self) -> &str {
        self.uri.split('?').next().unwrap()
    }

    /// The resource version from which a watch continues.
    fn version(&self) -> Option<u64> {
        let version = self.uri.split('&').find_map(|pair| pair.strip_prefix("resourceVersion="));
        version.map(|version| version.parse().unwrap())
    }
}

/// The code of an error event of a watch.
fn error(event: &[u8]) -> Option<u64> {
    let event: Value = serde_json::from_slice(event).unwrap();
    (event["type"] == "ERROR").then(|| event["object"]["code"].as_u64().unwrap())
}

/// The same client, and the notes that it takes.
fn noting(client: Client) -> (Client, watch::Receiver<Vec<Note>>) {
    let (notes, noted) = watch::channel(Vec::new());
    let between = tower::service_fn(move |request: Request<Body>| {
        let (client, notes, uri) = (client.clone(), notes.clone(), request.uri().to_string());
        let note = move |error| notes.send_modify(|notes| notes.push(Note { uri: uri.clone(), error }));
        let query = request.uri().query().unwrap_or_default();
        let is_watch = query.contains("watch=true");
        // Only lists and watches have a query.
        if query.contains("Selector=") {
            note(None);
        }
        let fail = note.clone();
        let mut said = Vec::new();
        let mut hear = move |data: &[u8]| {
            said.extend(data);
            while let Some(end) = said.iter().position(|byte| *byte == b'\n') {
                let event: Vec<u8> = said.drain(..=end).collect();
                error(&event).into_iter().for_each(|code| note(Some(code)));
            }
        };
        async move {
            let response = client.send(request).await.inspect_err(|_| fail(Some(FAILED)))?;
            Ok::<_, kube::Error>(response.map(|body| {
                body.map_frame(move |frame| {
                    frame.data_ref().filter(|_| is_watch).into_iter().for_each(|data| hear(data));
                    frame
                })
            }))
        }
    });
    (Client::new(between, "default"), noted)
}
