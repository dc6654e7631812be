//! The binary as a server with a CA ring.

use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

use crate::fixture::{Folder, pod_environment};

pub(super) struct Server {
    child: Child,
    start: Value,
    lines: Arc<Mutex<Vec<String>>>,
    reader: Option<std::thread::JoinHandle<()>>,
}

impl Server {
    pub(super) fn start(folder: &Folder, kubeconfig: &Path, service: &str) -> Self {
        let mut command = folder.command(&format!(
            "serve --listen 127.0.0.1:0 --metrics-listen 127.0.0.1:0 --identity self \
             --service {service} --hold-cold 10s --hold 10s"
        ));
        command.arg("--kubeconfig").arg(kubeconfig).envs(pod_environment(kubeconfig));
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
        let mut before = Vec::new();
        let start = loop {
            let line = log.next().unwrap_or_else(|| panic!("it ended: {before:#?}"));
            before.push(line.clone());
            if let Ok(line) = serde_json::from_str::<Value>(&line)
                && line["message"] == "serving"
            {
                break line;
            }
        };
        let lines = Arc::new(Mutex::new(before));
        let kept = Arc::clone(&lines);
        let reader = std::thread::spawn(move || log.for_each(|line| kept.lock().unwrap().push(line)));
        Self { child, start, lines, reader: Some(reader) }
    }

    pub(super) fn address(&self, which: &str) -> SocketAddr {
        self.start[which].as_str().unwrap().parse().unwrap()
    }

    pub(super) fn log(&self) -> Vec<String> {
        self.lines.lock().unwrap().clone()
    }

    /// Does not block this thread, on which creates run at the same time.
    pub(super) async fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(self.address("probes")).await.unwrap();
        let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n");
        stream.write_all(request.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    pub(super) async fn shows(&self, metric: &str) -> bool {
        self.get("/metrics").await.lines().any(|line| line.starts_with(metric))
    }

    pub(super) async fn assert_shown(&self, metric: &str) {
        let page = self.get("/metrics").await;
        assert!(page.lines().any(|line| line.starts_with(metric)), "{metric} is not in {page}");
    }

    pub(super) async fn wait_until_shown(&self, metric: &str) {
        let end = Instant::now() + Duration::from_secs(60);
        while !self.shows(metric).await {
            let log = self.log();
            assert!(Instant::now() < end, "{metric} is not in {}\n{log:#?}", self.get("/metrics").await);
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ended = self.child.kill().and_then(|()| self.child.wait());
        let _read = self.reader.take().map(std::thread::JoinHandle::join);
    }
}
