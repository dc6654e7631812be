//! An API server that forgets, and a client that lost the way to it for a while.

use http::Request;
use http_body_util::BodyExt;
use kube::Client;
use kube::client::Body;
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::timeout;
use vestibule_testenv::{Options, Proxy, start_or_skip};

use crate::cluster::{Cluster, Reply};
use crate::reload::PATIENCE;

/// An API server that forgets what was some seconds ago, and a way to it that can be cut.
pub(super) struct Stage {
    pub(super) cluster: Cluster,
    proxy: Proxy,
    /// By this way, and noting what happens to lists and watches.
    pub(super) client: Client,
    notes: watch::Receiver<Vec<Note>>,
}

/// A list or a watch that is asked for; or the error that the watch is answered with.
#[derive(Clone, Debug)]
struct Note {
    uri: String,
    error: Option<u64>,
}

impl Stage {
    pub(super) async fn new() -> Option<Self> {
        let flags = ["--watch-cache=false", "--etcd-compaction-interval=2s"];
        let options = flags.into_iter().fold(Options::default(), Options::api_server_flag);
        let cluster = Cluster::of(start_or_skip(&options).await?).await;
        let (proxy, way) = cluster.environment.api_server().proxied().unwrap();
        let (client, notes) = noting(way.admin().unwrap());
        Some(Self { cluster, proxy, client, notes })
    }

    /// Cuts the way while something `happens`, until what the watches would go on from is forgotten. Returns when each
    /// was told so, and began anew.
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
            timeout(PATIENCE, forgotten).await.expect("nothing is forgotten");
            refused.push(asked);
        }
        self.proxy.resume();

        for asked in refused {
            let since = |notes: &[Note]| {
                let gone = |note: &Note| note.uri == asked.uri && note.error == Some(410);
                let told = notes.iter().skip(before).position(gone).map(|told| before + told + 1);
                let later = notes.iter().skip(told.unwrap_or(notes.len()));
                later.filter(|note| note.path() == asked.path()).cloned().collect::<Vec<_>>()
            };
            let notes = self.noted(|notes| since(notes).len() >= 2).await;
            let later = since(&notes);
            assert_eq!((later[0].version(), later[0].error), (None, None), "no list: {later:?}");
            assert!(later[1].version() > asked.version(), "{asked:?}, then {later:?}");
        }
    }

    async fn noted(&mut self, is_so: impl Fn(&[Note]) -> bool) -> Vec<Note> {
        let noted = self.notes.wait_for(|notes| is_so(notes));
        timeout(PATIENCE, noted).await.expect("nothing happens").unwrap().clone()
    }

    /// The code of the error that the same watch is answered with by the plain way.
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

    /// From which a watch goes on.
    fn version(&self) -> Option<u64> {
        let version = self.uri.split('&').find_map(|pair| pair.strip_prefix("resourceVersion="));
        version.map(|version| version.parse().unwrap())
    }
}

/// The code in an event of a watch, when that is an error.
fn error(event: &[u8]) -> Option<u64> {
    let event: Value = serde_json::from_slice(event).unwrap();
    (event["type"] == "ERROR").then(|| event["object"]["code"].as_u64().unwrap())
}

/// The same client, and what it notes.
fn noting(client: Client) -> (Client, watch::Receiver<Vec<Note>>) {
    let (notes, noted) = watch::channel(Vec::new());
    let between = tower::service_fn(move |request: Request<Body>| {
        let (client, notes, uri) = (client.clone(), notes.clone(), request.uri().to_string());
        let note = move |error| notes.send_modify(|notes| notes.push(Note { uri: uri.clone(), error }));
        let query = request.uri().query().unwrap_or_default();
        let is_watch = query.contains("watch=true");
        // Lists and watches have one here, and nothing else has.
        if query.contains("Selector=") {
            note(None);
        }
        let mut said = Vec::new();
        let mut hear = move |data: &[u8]| {
            said.extend(data);
            while let Some(end) = said.iter().position(|byte| *byte == b'\n') {
                let event: Vec<u8> = said.drain(..=end).collect();
                error(&event).into_iter().for_each(|code| note(Some(code)));
            }
        };
        async move {
            let response = client.send(request).await?;
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
