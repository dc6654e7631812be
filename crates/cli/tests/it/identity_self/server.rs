//! The shipped program, serving by its ring.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, Stdio};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::Value;

use crate::fixture::Folder;

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
        command.arg("--kubeconfig").arg(kubeconfig);
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

    pub(super) fn get(&self, path: &str) -> String {
        let mut stream = TcpStream::connect(self.address("probes")).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        answer
    }

    pub(super) fn shows(&self, metric: &str) -> bool {
        self.get("/metrics").lines().any(|line| line.starts_with(metric))
    }

    pub(super) fn assert_shown(&self, metric: &str) {
        assert!(self.shows(metric), "{metric} is not in {}", self.get("/metrics"));
    }

    pub(super) fn wait_until_shown(&self, metric: &str) {
        let end = Instant::now() + Duration::from_secs(60);
        while !self.shows(metric) {
            let log = self.log();
            assert!(Instant::now() < end, "{metric} is not in {}\n{log:#?}", self.get("/metrics"));
            std::thread::sleep(Duration::from_millis(100));
        }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ended = self.child.kill().and_then(|()| self.child.wait());
        let _read = self.reader.take().map(std::thread::JoinHandle::join);
    }
}
