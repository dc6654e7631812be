//! Webhook servers as child processes.

use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde_json::Value;
use tempfile::TempDir;
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};
use vestibule_caller::Caller;

use super::{Memory, metric};

/// The DNS name in the certificates.
pub const NAME: &str = "webhook.fire.svc";

/// The limit of a start.
const START: Duration = Duration::from_secs(30);
/// No line per call, because writing it would be measured too.
const LOG: &str = "warn,vestibule::serve=info";
/// The number of log lines that are kept.
const KEPT: usize = 200;

/// The server program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// The webhook built with Vestibule.
    Webhook,
    /// The same webhook on hyper alone, with hyper's own `graceful_shutdown`.
    Baseline,
}

/// A running server, which is killed on drop.
pub struct Process {
    child: Child,
    answers: Mutex<BufReader<ChildStdout>>,
    address: SocketAddr,
    probes: Option<SocketAddr>,
    folder: Arc<TempDir>,
    log: Arc<Mutex<Vec<String>>>,
}

impl Process {
    /// Starts the program with these flags and waits until it listens. Processes with the same `folder` share a CA.
    ///
    /// # Errors
    /// The program was not built, or does not listen.
    pub async fn start(program: Program, folder: &Arc<TempDir>, flags: &[&str]) -> anyhow::Result<Self> {
        Self::spawn(program, program.command(folder.path())?, folder, flags).await
    }

    /// The same on one processor, where all its work is done by one thread.
    ///
    /// # Errors
    /// As [`start`](Self::start), or there is no `taskset`.
    pub async fn start_on_one_processor(
        program: Program,
        folder: &Arc<TempDir>,
        flags: &[&str],
    ) -> anyhow::Result<Self> {
        let alone = program.command(folder.path())?;
        let mut command = Command::new("taskset");
        command.args(["--cpu-list", "0"]).arg(alone.get_program()).args(alone.get_args());
        Self::spawn(program, command, folder, flags).await
    }

    async fn spawn(
        program: Program,
        mut command: Command,
        folder: &Arc<TempDir>,
        flags: &[&str],
    ) -> anyhow::Result<Self> {
        command.args(flags).env("RUST_LOG", LOG);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().with_context(|| format!("cannot start {program:?}"))?;
        let answers = Mutex::new(BufReader::new(child.stdout.take().context("its output")?));
        let log = Arc::<Mutex<Vec<String>>>::default();
        let (serving, served) = oneshot::channel();
        if let Some(stderr) = child.stderr.take() {
            let log = Arc::clone(&log);
            std::thread::spawn(move || read(stderr, &log, serving));
        }
        let line = timeout(START, served).await.ok().and_then(Result::ok);
        let Some((address, probes)) = line else {
            let _ = (child.kill(), child.wait());
            bail!("{program:?} does not serve:\n{}", tail(&log));
        };
        Ok(Self { child, answers, address, probes, folder: Arc::clone(folder), log })
    }

    /// The HTTPS address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// An API server that calls this process directly.
    ///
    /// # Errors
    /// The CA cannot be read.
    pub fn caller(&self) -> anyhow::Result<Arc<Caller>> {
        Ok(Arc::new(self.caller_by(self.address)?))
    }

    /// An API server that calls this process through `address`.
    ///
    /// # Errors
    /// The CA cannot be read.
    pub fn caller_by(&self, address: SocketAddr) -> anyhow::Result<Caller> {
        Ok(Caller::new(address, NAME, &self.ca()?)?)
    }

    /// The CA in PEM.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn ca(&self) -> anyhow::Result<Vec<u8>> {
        std::fs::read(self.folder.path().join("ca.crt")).context("the CA that the webhook made")
    }

    /// The sum of the samples whose line starts with `begins`.
    ///
    /// # Errors
    /// The process does not answer.
    pub async fn metric(&self, begins: &str) -> anyhow::Result<f64> {
        metric(self.probes.context("no plain port")?, begins, &[]).await
    }

    /// The memory and descriptors of the process.
    ///
    /// # Errors
    /// The process has ended.
    pub fn memory(&self) -> anyhow::Result<Memory> {
        Memory::of(self.child.id()).with_context(|| format!("the server has gone:\n{}", tail(&self.log)))
    }

    /// Bytes that the process has allocated and not freed, by its own allocator's count.
    ///
    /// # Errors
    /// The process has ended, or is not a [`Program::Webhook`].
    pub fn allocated(&self) -> anyhow::Result<usize> {
        self.child.stdin.as_ref().context("its input")?.write_all(b"\n")?;
        let mut answer = String::new();
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).read_line(&mut answer)?;
        answer
            .trim()
            .parse()
            .with_context(|| format!("no allocation count in the answer:\n{}", tail(&self.log)))
    }

    /// Resets the peak of its memory.
    pub fn forget_peak(&self) {
        Memory::forget_peak(self.child.id());
    }

    /// Sends a signal, named as for kill(1): `-TERM`, `-KILL`.
    ///
    /// # Errors
    /// The process has ended.
    pub fn signal(&self, name: &str) -> anyhow::Result<()> {
        let status = Command::new("kill").args([name, &self.child.id().to_string()]).status()?;
        if status.success() { Ok(()) } else { bail!("kill {name} ended with {status}") }
    }

    /// Waits until the process has ended.
    ///
    /// # Errors
    /// The process does not end within `patience`.
    pub async fn ended(&mut self, patience: Duration) -> anyhow::Result<ExitStatus> {
        let began = Instant::now();
        loop {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            if began.elapsed() > patience {
                bail!("it has not ended after {patience:?}:\n{}", tail(&self.log));
            }
            sleep(Duration::from_millis(20)).await;
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let _ended = self.child.kill().and_then(|()| self.child.wait());
    }
}

impl Program {
    fn command(self, folder: &Path) -> anyhow::Result<Command> {
        let name = match self {
            Self::Webhook => "webhook",
            Self::Baseline => "baseline",
        };
        let mut command = Command::new(beside(name)?);
        let folder = folder.display().to_string();
        match self {
            Self::Webhook => command
                .args(["serve", "--listen", "127.0.0.1:0", "--metrics-listen", "127.0.0.1:0", "--dns", NAME])
                .args(["--identity", &format!("local:{folder}")]),
            Self::Baseline => command.arg(folder),
        };
        Ok(command)
    }
}

/// The path of the program `name` in the folder of the current program.
///
/// # Errors
/// The program was not built.
pub fn beside(name: &str) -> anyhow::Result<PathBuf> {
    let program = std::env::current_exe()?.with_file_name(name);
    if !program.exists() {
        bail!("no program `{name}` beside this one: cargo build --bins -p fire -p vestibule-cli");
    }
    Ok(program)
}

/// Ends this process when its standard input ends, so that it does not outlive a killed parent. Every program of the rig
/// calls this first.
pub fn end_with_stdin() {
    answer_stdin(String::new);
}

/// The same, and answers each line of input with `answer`; see [`Process::allocated`].
pub fn answer_stdin(answer: fn() -> String) {
    std::thread::spawn(move || {
        for _line in std::io::stdin().lines().map_while(Result::ok) {
            // The parent may have ended.
            let _ = writeln!(std::io::stdout(), "{}", answer());
        }
        #[expect(
            clippy::disallowed_methods,
            reason = "the parent has ended, and there is nothing to clean up"
        )]
        std::process::exit(0);
    });
}

type Addresses = (SocketAddr, Option<SocketAddr>);

fn read(stderr: ChildStderr, log: &Mutex<Vec<String>>, serving: oneshot::Sender<Addresses>) {
    let mut serving = Some(serving);
    for line in BufReader::new(stderr).lines().map_while(Result::ok) {
        if serving.is_some()
            && let Some(addresses) = addresses(&line)
            && let Some(serving) = serving.take()
        {
            // The receiver is gone if the start timed out.
            let _ = serving.send(addresses);
        }
        let mut log = log.lock().unwrap_or_else(PoisonError::into_inner);
        if log.len() == KEPT {
            log.remove(0);
        }
        log.push(line);
    }
}

fn addresses(line: &str) -> Option<Addresses> {
    let line: Value = serde_json::from_str(line).ok()?;
    if line["message"] != "serving" {
        return None;
    }
    let address = |name: &str| line[name].as_str()?.parse().ok();
    Some((address("address")?, address("probes")))
}

fn tail(log: &Mutex<Vec<String>>) -> String {
    let log = log.lock().unwrap_or_else(PoisonError::into_inner);
    log.get(log.len().saturating_sub(12)..).unwrap_or_default().join("\n")
}
