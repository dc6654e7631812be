//! The binary under test as a process of its own.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, LazyLock, Mutex, PoisonError};
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use vestibule_caller::{Caller, Hook, Outcome, Review, judge};

/// The name that the certificate is for.
pub(crate) const NAME: &str = "contract.demo.svc";
/// Far longer than anything here takes, on a crowded machine too.
const PATIENCE: Duration = Duration::from_secs(60);

/// A webhook that serves.
pub(crate) struct Process {
    child: Mutex<Child>,
    log: Arc<Log>,
    folder: TempDir,
    pub(crate) address: SocketAddr,
    pub(crate) probes: SocketAddr,
}

/// The one that most tests share: started once, and gone with this process.
pub(crate) fn shared() -> &'static Process {
    static SHARED: LazyLock<Process> = LazyLock::new(|| Process::start(&[], &[]));
    &SHARED
}

impl Process {
    /// With these flags and variables besides.
    pub(crate) fn start(flags: &[&str], variables: &[(&str, &str)]) -> Self {
        Self::of(env!("CARGO_BIN_EXE_contract"), flags, variables)
    }

    /// The same of another program.
    pub(crate) fn of(program: &str, flags: &[&str], variables: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let identity = format!("local:{}", folder.path().join("identity").display());
        let mut child = Command::new(program)
            .args(["serve", "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0", "--dns", NAME])
            .args(["--identity", &identity])
            .args(flags)
            .env("RUST_LOG", "info")
            .envs(variables.iter().copied())
            .stdin(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let log = Log::read(child.stderr.take().unwrap());
        let start: Value = serde_json::from_str(&log.line(r#""message":"serving""#)).unwrap();
        let address = |which: &str| start[which].as_str().unwrap().parse().unwrap();
        let (address, probes) = (address("address"), address("probes"));
        Self { child: Mutex::new(child), log, folder, address, probes }
    }

    /// What its callers trust, as PEM.
    pub(crate) fn ca(&self) -> Vec<u8> {
        std::fs::read(self.folder.path().join("identity/ca.crt")).unwrap()
    }

    /// kube-apiserver's side.
    pub(crate) fn caller(&self) -> Caller {
        Caller::new(self.address, NAME, &self.ca()).unwrap()
    }

    /// What kube-apiserver makes of the answer.
    pub(crate) async fn outcome(&self, review: &Review, hook: &Hook) -> Outcome {
        judge(review, hook, &self.caller().call(review, hook).await.unwrap())
    }

    /// Status line and body of the plain port.
    pub(crate) fn probe(&self, path: &str) -> (String, String) {
        let mut stream = TcpStream::connect(self.probes).unwrap();
        write!(stream, "GET {path} HTTP/1.1\r\nhost: probes\r\nconnection: close\r\n\r\n").unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        let (head, body) = answer.split_once("\r\n\r\n").unwrap();
        (head.lines().next().unwrap().to_owned(), body.to_owned())
    }

    /// The sum of the samples whose line begins so.
    pub(crate) fn metric(&self, begins: &str) -> f64 {
        let (_, metrics) = self.probe("/metrics");
        let samples = metrics.lines().filter(|line| line.starts_with(begins));
        samples.map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()).sum()
    }

    /// Waits for the first line of the log with these words.
    pub(crate) fn said(&self, words: &str) -> String {
        self.log.line(words)
    }

    /// Everything it has logged so far.
    pub(crate) fn log(&self) -> String {
        self.log.lines().join("\n")
    }

    pub(crate) fn signal(&self, name: &str) {
        assert!(Command::new("kill").args([name, &self.id()]).status().unwrap().success());
    }

    /// The largest part of its memory that was ever resident, in KiB.
    pub(crate) fn peak_memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    /// Waits for its end, without holding up the runtime.
    pub(crate) async fn ended(&self) -> ExitStatus {
        loop {
            if let Some(status) = self.child().try_wait().unwrap() {
                return status;
            }
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    fn id(&self) -> String {
        self.child().id().to_string()
    }

    fn child(&self) -> std::sync::MutexGuard<'_, Child> {
        self.child.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let mut child = self.child();
        let _ended = child.kill().and_then(|()| child.wait());
    }
}

/// Lines as they come.
#[derive(Default)]
struct Log {
    lines: Mutex<(Vec<String>, bool)>,
    more: Condvar,
}

impl Log {
    fn read(stderr: ChildStderr) -> Arc<Self> {
        let log = Arc::new(Self::default());
        let kept = Arc::clone(&log);
        std::thread::spawn(move || {
            for line in BufReader::new(stderr).lines() {
                kept.lines.lock().unwrap().0.push(line.unwrap());
                kept.more.notify_all();
            }
            kept.lines.lock().unwrap().1 = true;
            kept.more.notify_all();
        });
        log
    }

    fn line(&self, words: &str) -> String {
        let find = |lines: &[String]| lines.iter().find(|line| line.contains(words)).cloned();
        let lines = self.lines.lock().unwrap();
        let (lines, _) = self
            .more
            .wait_timeout_while(lines, PATIENCE, |(lines, ended)| !*ended && find(lines).is_none())
            .unwrap();
        find(&lines.0).unwrap_or_else(|| panic!("nobody said `{words}`:\n{}", lines.0.join("\n")))
    }

    fn lines(&self) -> Vec<String> {
        self.lines.lock().unwrap().0.clone()
    }
}
