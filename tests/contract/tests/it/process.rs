//! The process under test: its addresses, log and metrics.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::{Arc, Condvar, LazyLock, Mutex, PoisonError};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use vestibule_caller::{Caller, Hook, Outcome, Review, judge};

/// The name that the certificate is for.
pub(crate) const NAME: &str = "contract.demo.svc";
/// Longer than any wait takes on a busy machine.
const TIMEOUT: Duration = Duration::from_secs(60);

/// A running webhook.
pub(crate) struct Process {
    child: Mutex<Child>,
    log: Arc<Log>,
    folder: TempDir,
    pub(crate) address: SocketAddr,
    pub(crate) probes: SocketAddr,
}

/// The process that most tests share: started once, ends with this process.
pub(crate) fn shared() -> &'static Process {
    static SHARED: LazyLock<Process> = LazyLock::new(|| Process::start(&[], &[]));
    &SHARED
}

impl Process {
    /// Starts a webhook with additional flags and variables.
    pub(crate) fn start(flags: &[&str], variables: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut arguments = arguments(&folder);
        if flags.contains(&"--identity") {
            arguments.truncate(arguments.len() - 2);
        }
        let mut command = Command::new(env!("CARGO_BIN_EXE_contract"));
        command.args(arguments).args(flags).stderr(Stdio::piped());
        let mut child = spawn(command, variables);
        let stderr = child.stderr.take().unwrap();
        Self::of(child, stderr, folder)
    }

    /// Starts a webhook on a terminal, which `script` provides.
    pub(crate) fn on_a_terminal(variables: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let mut command = Command::new("script");
        let line = [env!("CARGO_BIN_EXE_contract").to_owned()].into_iter().chain(arguments(&folder));
        let line = line.collect::<Vec<_>>().join(" ");
        command.args(["--quiet", "--command", &line, "/dev/null"]).stdout(Stdio::piped());
        let mut child = spawn(command, variables);
        let stdout = child.stdout.take().unwrap();
        Self::of(child, stdout, folder)
    }

    fn of(child: Child, output: impl Read + Send + 'static, folder: TempDir) -> Self {
        let log = Log::read(output);
        let start = log.line(|line| line.contains("serving") && line.contains("address"));
        let (address, probes) = (field(&start, "address"), field(&start, "probes"));
        Self { child: Mutex::new(child), log, folder, address, probes }
    }

    /// The CA of its certificate, as PEM.
    pub(crate) fn ca(&self) -> Vec<u8> {
        std::fs::read(self.folder.path().join("identity/ca.crt")).unwrap()
    }

    /// A caller that behaves as kube-apiserver.
    pub(crate) fn caller(&self) -> Caller {
        Caller::new(self.address, NAME, &self.ca()).unwrap()
    }

    /// The result of the answer in kube-apiserver.
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

    /// The sum of the samples whose line begins with `begins`.
    pub(crate) fn metric(&self, begins: &str) -> f64 {
        let (_, metrics) = self.probe("/metrics");
        let samples = metrics.lines().filter(|line| line.starts_with(begins));
        samples.map(|line| line.rsplit(' ').next().unwrap().parse::<f64>().unwrap()).sum()
    }

    /// Waits for the first line of the log with these words.
    pub(crate) fn said(&self, words: &str) -> String {
        self.log.line(|line| line.contains(words))
    }

    /// The log so far.
    pub(crate) fn log(&self) -> String {
        self.log.all()
    }

    /// Ends the process and returns its whole log.
    pub(crate) fn whole_log(&self) -> String {
        drop(self.child().stdin.take());
        self.log.whole()
    }

    pub(crate) fn signal(&self, name: &str) {
        assert!(Command::new("kill").args([name, &self.id()]).status().unwrap().success());
    }

    /// The peak of its resident memory in KiB.
    pub(crate) fn peak_memory(&self) -> u64 {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.id())).unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
        line.trim().trim_end_matches(" kB").parse().unwrap()
    }

    /// Waits until the sum has reached `count`.
    pub(crate) async fn counted(&self, begins: &str, count: f64) {
        until(begins, || (self.metric(begins) >= count).then_some(())).await;
    }

    /// Waits for its end.
    pub(crate) async fn ended(&self) -> ExitStatus {
        until("its end", || self.child().try_wait().unwrap()).await
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

fn arguments(folder: &TempDir) -> Vec<String> {
    let identity = format!("local:{}", folder.path().join("identity").display());
    let words =
        ["serve", "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0", "--dns", NAME, "--identity"];
    words.map(str::to_owned).into_iter().chain([identity]).collect()
}

fn spawn(mut command: Command, variables: &[(&str, &str)]) -> Child {
    command.env("RUST_LOG", "info").envs(variables.iter().copied()).stdin(Stdio::piped()).spawn().unwrap()
}

/// Polls without blocking the runtime.
async fn until<T>(what: &str, mut ask: impl FnMut() -> Option<T>) -> T {
    let began = Instant::now();
    loop {
        if let Some(found) = ask() {
            return found;
        }
        assert!(began.elapsed() < TIMEOUT, "{what} did not happen in time");
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
}

/// An address in the first log line, in JSON or in the text format.
fn field(line: &str, name: &str) -> SocketAddr {
    let (_, after) = line.split_once(name).unwrap();
    let address = after.trim_start_matches(|character: char| !character.is_ascii_digit());
    address.split(['"', ' ']).next().unwrap().parse().unwrap()
}

/// The lines of the log as they arrive.
#[derive(Default)]
struct Log {
    lines: Mutex<(Vec<String>, bool)>,
    more: Condvar,
}

impl Log {
    fn read(output: impl Read + Send + 'static) -> Arc<Self> {
        let log = Arc::new(Self::default());
        let kept = Arc::clone(&log);
        std::thread::spawn(move || {
            // Reading from a closed terminal is an error, which ends the log.
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                kept.lines.lock().unwrap().0.push(line);
                kept.more.notify_all();
            }
            kept.lines.lock().unwrap().1 = true;
            kept.more.notify_all();
        });
        log
    }

    fn line(&self, is_it: impl Fn(&str) -> bool) -> String {
        let find = |lines: &[String]| lines.iter().find(|line| is_it(line)).cloned();
        let lines = self.lines.lock().unwrap();
        let (lines, _) = self
            .more
            .wait_timeout_while(lines, TIMEOUT, |(lines, ended)| !*ended && find(lines).is_none())
            .unwrap();
        find(&lines.0).unwrap_or_else(|| panic!("no such line in the log:\n{}", lines.0.join("\n")))
    }

    fn all(&self) -> String {
        self.lines.lock().unwrap().0.join("\n")
    }

    /// The whole log, once the process has ended.
    fn whole(&self) -> String {
        let lines = self.lines.lock().unwrap();
        let (lines, _) = self.more.wait_timeout_while(lines, TIMEOUT, |(_, ended)| !*ended).unwrap();
        assert!(lines.1, "it does not end");
        lines.0.join("\n")
    }
}
