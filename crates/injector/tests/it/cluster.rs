//! A few answers of an API server about namespaces, over plain HTTP.

use std::sync::Arc;

use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::Semaphore;

/// Answers lists once [`FakeCluster::open`] was called; knows `listed` from the list, `fresh` only when asked for it.
pub(crate) struct FakeCluster {
    folder: TempDir,
    gate: Arc<Semaphore>,
}

impl FakeCluster {
    pub(crate) async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let gate = Arc::new(Semaphore::new(0));
        let opened = Arc::clone(&gate);
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                tokio::spawn(serve(stream, Arc::clone(&opened)));
            }
        });
        let folder = tempfile::tempdir().unwrap();
        let config = json!({"apiVersion": "v1", "kind": "Config", "current-context": "fake",
            "clusters": [{"name": "fake", "cluster": {"server": format!("http://{address}")}}],
            "users": [{"name": "fake", "user": {}}],
            "contexts": [{"name": "fake", "context": {"cluster": "fake", "user": "fake"}}]});
        std::fs::write(folder.path().join("config"), config.to_string()).unwrap();
        Self { folder, gate }
    }

    pub(crate) fn kubeconfig(&self) -> std::path::PathBuf {
        self.folder.path().join("config")
    }

    pub(crate) fn open(&self) {
        self.gate.add_permits(1_000);
    }
}

async fn serve(stream: TcpStream, gate: Arc<Semaphore>) {
    let mut stream = BufReader::new(stream);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if stream.read_line(&mut head).await.unwrap_or_default() == 0 {
                return;
            }
        }
        assert!(
            head.to_ascii_lowercase().contains("partialobjectmetadata"),
            "asks for more than metadata: {head}"
        );
        let target = head.split(' ').nth(1).unwrap();
        let path = target.split('?').next().unwrap();
        if target.contains("watch=") {
            // Nothing ever happens.
            let head =
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ntransfer-encoding: chunked\r\n\r\n";
            stream.write_all(head.as_bytes()).await.unwrap();
            return std::future::pending().await;
        }
        let (status, body) = match path {
            "/api/v1/namespaces" => {
                gate.acquire().await.unwrap().forget();
                let list = json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadataList",
                                  "metadata": {"resourceVersion": "7"}, "items": [namespace("listed")]});
                (200, list)
            }
            "/api/v1/namespaces/fresh" => (200, namespace("fresh")),
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

fn namespace(name: &str) -> Value {
    json!({"apiVersion": "meta.k8s.io/v1", "kind": "PartialObjectMetadata",
           "metadata": {"name": name, "resourceVersion": "7", "labels": {"team": "blue"}}})
}
