//! `vestibule serve` as a process, with its log.

use std::io::{BufRead, BufReader, Lines, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStderr, Command, Stdio};

use serde_json::Value;

use crate::fixture::Folder;

pub(crate) struct Server {
    pub(crate) child: Child,
    pub(crate) log: Lines<BufReader<ChildStderr>>,
    /// The first line of the log, with the addresses.
    pub(crate) start: Value,
}

impl Server {
    pub(crate) fn start(folder: &Folder, arguments: &str) -> Self {
        Self::spawn(&mut serve(folder, arguments))
    }

    /// Returns when the process serves.
    pub(crate) fn spawn(command: &mut Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let mut log = BufReader::new(child.stderr.take().unwrap()).lines();
        let start = said(&mut log, "serving");
        Self { child, log, start }
    }

    pub(crate) fn address(&self, which: &str) -> SocketAddr {
        self.start[which].as_str().unwrap().parse().unwrap()
    }

    pub(crate) fn signal(&self, name: &str) {
        let id = self.child.id().to_string();
        assert!(Command::new("kill").args([name, &id]).status().unwrap().success());
    }

    /// The next line of the log with `message`.
    pub(crate) fn said(&mut self, message: &str) -> Value {
        said(&mut self.log, message)
    }

    /// Ends the process with SIGINT and returns the rest of its log.
    pub(crate) fn ended(mut self) -> Vec<String> {
        self.signal("-INT");
        let rest = self.log.by_ref().map(Result::unwrap).collect();
        assert!(self.child.wait().unwrap().success());
        rest
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ended = self.child.kill().and_then(|()| self.child.wait());
    }
}

/// `serve` with the rules of `folder` on free ports.
pub(crate) fn serve(folder: &Folder, arguments: &str) -> Command {
    folder.command(&format!(
        "serve --rules rules.yaml --listen 127.0.0.1:0 --metrics-listen 127.0.0.1:0 --identity local:identity {arguments}"
    ))
}

fn said(log: &mut Lines<BufReader<ChildStderr>>, message: &str) -> Value {
    log.map(|line| serde_json::from_str::<Value>(&line.unwrap()).unwrap())
        .find(|line| line["message"] == message)
        .unwrap_or_else(|| panic!("no line says {message}"))
}

pub(crate) fn get(server: &Server, path: &str) -> String {
    page(server.address("probes"), path)
}

pub(crate) fn page(probes: SocketAddr, path: &str) -> String {
    let mut stream = TcpStream::connect(probes).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}
