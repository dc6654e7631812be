//! An API server with namespaces and Events, over plain HTTP.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use kube::Client;
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::{Mutex, Semaphore};

/// It answers lists after [`FakeCluster::open`]. The first list has the namespace `listed`, later ones have `late`; `fresh` is
/// in no list and can be read.
pub(crate) struct FakeCluster {
    client: Client,
    lists_open: Arc<Semaphore>,
    events: UnboundedSender<Value>,
    posted: Mutex<UnboundedReceiver<(String, Value)>>,
}

/// The state that all connections share.
struct State {
    lists_open: Arc<Semaphore>,
    lists: AtomicUsize,
    events: Mutex<UnboundedReceiver<Value>>,
    posted: UnboundedSender<(String, Value)>,
}

impl FakeCluster {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let lists_open = Arc::new(Semaphore::new(0));
        let (events, told) = unbounded_channel();
        let (posting, posted) = unbounded_channel();
        let lists = AtomicUsize::new(0);
        let state =
            State { lists_open: Arc::clone(&lists_open), lists, events: Mutex::new(told), posted: posting };
        let state = Arc::new(state);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&state)));
            }
        });
        let config = kube::Config::new(format!("http://{address}").parse().unwrap());
        let client = vestibule::identity::client(config).unwrap();
        Self { client, lists_open, events, posted: Mutex::new(posted) }
    }

    pub(crate) fn client(&self) -> Client {
        self.client.clone()
    }

    pub(crate) fn open(&self) {
        self.lists_open.add_permits(1_000);
    }

    /// Sends an event, `ADDED`, `MODIFIED` or `DELETED`, to the watch.
    pub(crate) fn send(&self, what: &str, name: &str, team: &str) {
        self.events.send(json!({"type": what, "object": namespace(name, team)})).unwrap();
    }

    /// Sends half of an event to the watch and closes the connection.
    pub(crate) fn cut(&self, name: &str) {
        self.events.send(json!({"type": "CUT", "object": namespace(name, "red")})).unwrap();
    }

    /// The path and the object of the next write.
    pub(crate) async fn posted(&self) -> (String, Value) {
        self.posted.lock().await.recv().await.unwrap()
    }

    /// Ends the watch with 410 Expired, after which the client must list again.
    pub(crate) fn expire(&self) {
        let gone = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "Expired",
                          "message": "too old resource version", "code": 410});
        self.events.send(json!({"type": "ERROR", "object": gone})).unwrap();
    }
}

async fn serve(stream: TcpStream, state: Arc<State>) {
    let mut stream = BufReader::new(stream);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if stream.read_line(&mut head).await.unwrap_or_default() == 0 {
                return;
            }
        }
        if head.starts_with("POST ") {
            let length = head.to_ascii_lowercase();
            let (_, length) = length.split_once("content-length: ").unwrap();
            let mut body = vec![0; length.split_once("\r\n").unwrap().0.parse().unwrap()];
            stream.read_exact(&mut body).await.unwrap();
            let path = head.split(' ').nth(1).unwrap().split('?').next().unwrap().to_owned();
            state.posted.send((path, serde_json::from_slice(&body).unwrap())).unwrap();
            let head = "HTTP/1.1 201 -\r\ncontent-type: application/json\r\ncontent-length: ";
            stream.write_all(format!("{head}{}\r\n\r\n", body.len()).as_bytes()).await.unwrap();
            stream.write_all(&body).await.unwrap();
            continue;
        }
        assert!(
            head.to_ascii_lowercase().contains("partialobjectmetadata"),
            "asks for more than metadata: {head}"
        );
        let target = head.split(' ').nth(1).unwrap();
        let path = target.split('?').next().unwrap();
        if target.contains("watch=") {
            let head =
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
            stream.write_all(head.as_bytes()).await.unwrap();
            let mut events = state.events.lock().await;
            while let Some(event) = events.recv().await {
                let is_cut = event["type"] == "CUT";
                let what = if is_cut { &json!("MODIFIED") } else { &event["type"] };
                // In the order of kube-apiserver, on which a client may rely that decodes while it reads.
                let mut line = format!("{{\"type\":{what},\"object\":{}}}\n", event["object"]);
                if is_cut {
                    line.truncate(line.len() / 2);
                }
                stream.write_all(format!("{:x}\r\n{line}\r\n", line.len()).as_bytes()).await.unwrap();
                // The client closes the watch after this event.
                if event["type"] == "ERROR" || event["type"] == "CUT" {
                    return;
                }
            }
            return;
        }
        let (status, body) = match path {
            "/api/v1/namespaces" => {
                state.lists_open.acquire().await.unwrap().forget();
                let first = state.lists.fetch_add(1, Ordering::Relaxed) == 0;
                let known = namespace(if first { "listed" } else { "late" }, "blue");
                let list = json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadataList",
                                  "metadata": {"resourceVersion": "7"}, "items": [known]});
                (200, list)
            }
            "/api/v1/namespaces/fresh" => (200, namespace("fresh", "blue")),
            _ => (
                404,
                json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404}),
            ),
        };
        let body = body.to_string();
        let head = format!(
            "HTTP/1.1 {status} -\r\ncontent-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        );
        stream.write_all(head.as_bytes()).await.unwrap();
    }
}

fn namespace(name: &str, team: &str) -> Value {
    json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata",
           "metadata": {"name": name, "resourceVersion": "7", "labels": {"team": team}}})
}
