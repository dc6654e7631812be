//! A server as a process of its own.

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

/// The name that certificates are for.
pub const NAME: &str = "webhook.fire.svc";

/// Far longer than a start takes.
const START: Duration = Duration::from_secs(30);
/// A line for each call would be measured too.
const LOG: &str = "warn,vestibule::serve=info";
/// How much of a log is kept, in lines.
const KEPT: usize = 200;

/// Which server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// A webhook made with Vestibule.
    Webhook,
    /// The same on hyper alone, which ends by hyper's own `graceful_shutdown`.
    Baseline,
}

/// A server that serves; killed when this is dropped.
pub struct Process {
    child: Child,
    answers: Mutex<BufReader<ChildStdout>>,
    address: SocketAddr,
    probes: Option<SocketAddr>,
    folder: Arc<TempDir>,
    log: Arc<Mutex<Vec<String>>>,
}

impl Process {
    /// Starts it with these flags, and waits until it listens. Those that share `folder` share a CA.
    ///
    /// # Errors
    /// It was not built, or does not listen.
    pub async fn start(program: Program, folder: &Arc<TempDir>, flags: &[&str]) -> anyhow::Result<Self> {
        let mut command = program.command(folder.path())?;
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

    /// Where HTTPS is served.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// An API server that calls it, without anything between them.
    ///
    /// # Errors
    /// The CA cannot be read.
    pub fn caller(&self) -> anyhow::Result<Arc<Caller>> {
        Ok(Arc::new(self.caller_by(self.address)?))
    }

    /// An API server that calls it by this address.
    ///
    /// # Errors
    /// The CA cannot be read.
    pub fn caller_by(&self, address: SocketAddr) -> anyhow::Result<Caller> {
        Ok(Caller::new(address, NAME, &self.ca()?)?)
    }

    /// What its callers trust, as PEM.
    ///
    /// # Errors
    /// It cannot be read.
    pub fn ca(&self) -> anyhow::Result<Vec<u8>> {
        std::fs::read(self.folder.path().join("ca.crt")).context("the CA that the webhook made")
    }

    /// The sum of its metrics whose line begins so.
    ///
    /// # Errors
    /// It does not answer.
    pub async fn metric(&self, begins: &str) -> anyhow::Result<f64> {
        metric(self.probes.context("no plain port")?, begins, &[]).await
    }

    /// What it holds now.
    ///
    /// # Errors
    /// It has gone.
    pub fn memory(&self) -> anyhow::Result<Memory> {
        Memory::of(self.child.id()).with_context(|| format!("the server has gone:\n{}", tail(&self.log)))
    }

    /// What it has allocated and not freed, in bytes, as its own allocator counts it.
    ///
    /// # Errors
    /// It has gone, or is no [`Program::Webhook`].
    pub fn held(&self) -> anyhow::Result<usize> {
        self.child.stdin.as_ref().context("its input")?.write_all(b"\n")?;
        let mut answer = String::new();
        self.answers.lock().unwrap_or_else(PoisonError::into_inner).read_line(&mut answer)?;
        answer.trim().parse().with_context(|| format!("it does not tell what it holds:\n{}", tail(&self.log)))
    }

    /// From here on the peak of its memory is counted anew.
    pub fn forget_peak(&self) {
        Memory::forget_peak(self.child.id());
    }

    /// Sends `-TERM`, `-KILL` and the like.
    ///
    /// # Errors
    /// There is no such process any longer.
    pub fn signal(&self, name: &str) -> anyhow::Result<()> {
        let status = Command::new("kill").args([name, &self.child.id().to_string()]).status()?;
        if status.success() { Ok(()) } else { bail!("kill {name} ended with {status}") }
    }

    /// Waits until it has ended.
    ///
    /// # Errors
    /// It does not end within `patience`.
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

/// The program of that name, which was built with this one.
///
/// # Errors
/// It was not.
pub fn beside(name: &str) -> anyhow::Result<PathBuf> {
    let program = std::env::current_exe()?.with_file_name(name);
    if !program.exists() {
        bail!("no program `{name}` beside this one: cargo build -p fire --bins");
    }
    Ok(program)
}

/// Called first by every program of the rig: it ends with whoever started it, even where they are killed.
pub fn end_with_stdin() {
    answer_stdin(String::new);
}

/// The same, and each line is [answered](Process::held).
pub fn answer_stdin(answer: fn() -> String) {
    std::thread::spawn(move || {
        for _line in std::io::stdin().lines().map_while(Result::ok) {
            // Whoever asked may have gone.
            let _ = writeln!(std::io::stdout(), "{}", answer());
        }
        #[expect(clippy::disallowed_methods, reason = "nobody is left to hear of an end")]
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
            // Nobody waits any longer: it came too late.
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
