//! A replica as a child process.

use std::ffi::OsString;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use tokio::sync::oneshot;
use tokio::time::{sleep, timeout};

use crate::{Fact, Ledger};

/// A replica as a child process; it is killed when this is dropped, and ends by itself when this process does.
pub struct Replica {
    number: usize,
    child: Child,
    /// It ends when this closes.
    _input: Option<ChildStdin>,
    hooks: SocketAddr,
    probes: SocketAddr,
    log: PathBuf,
}

impl Replica {
    /// Starts `program` and waits until it listens; what it tells goes into the ledger under `number`.
    ///
    /// # Errors
    /// It cannot be started, or does not listen within 20 s.
    pub async fn start(
        program: &Path,
        arguments: &[OsString],
        (number, log): (usize, PathBuf),
        ledger: Arc<Ledger>,
    ) -> anyhow::Result<Self> {
        const PATIENCE: Duration = Duration::from_secs(20);
        let mut child = Command::new(program)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(File::create(&log).with_context(|| format!("cannot write {}", log.display()))?)
            .spawn()
            .with_context(|| format!("cannot start {}", program.display()))?;
        let output = child.stdout.take().context("a replica without output")?;
        let input = child.stdin.take();
        let (listening, listens) = oneshot::channel();
        std::thread::spawn(move || {
            let mut listening = Some(listening);
            for line in BufReader::new(output).lines().map_while(Result::ok) {
                match serde_json::from_str(&line) {
                    Ok(Fact::Listening { hooks, probes }) => {
                        listening.take().map(|listening| listening.send((hooks, probes)));
                    }
                    Ok(fact) => ledger.replica_told(number, fact),
                    Err(error) => ledger.replica_told(number, Fact::Trouble { what: error.to_string() }),
                }
            }
        });
        let nowhere = SocketAddr::from(([0, 0, 0, 0], 0));
        let mut replica = Self { number, child, _input: input, hooks: nowhere, probes: nowhere, log };
        match timeout(PATIENCE, listens).await {
            Ok(Ok((hooks, probes))) => (replica.hooks, replica.probes) = (hooks, probes),
            _ => bail!("replica {number} does not listen; its log:\n{}", replica.log()),
        }
        Ok(replica)
    }

    /// Counts from 0, and is never given twice.
    #[must_use]
    pub fn number(&self) -> usize {
        self.number
    }

    /// Where it serves hooks.
    #[must_use]
    pub fn hooks(&self) -> SocketAddr {
        self.hooks
    }

    /// Where it says whether it is ready.
    #[must_use]
    pub fn probes(&self) -> SocketAddr {
        self.probes
    }

    /// What it has logged.
    #[must_use]
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).unwrap_or_default()
    }

    /// Memory that it holds now, in KiB.
    #[must_use]
    pub fn resident(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        line.split_whitespace().next()?.parse().ok()
    }

    /// Ends it at once, in whatever it does.
    ///
    /// # Errors
    /// The system refuses.
    pub fn kill(mut self) -> anyhow::Result<()> {
        self.child.kill().context("cannot kill a replica")?;
        self.child.wait().map(drop).context("cannot wait for a replica")
    }

    /// Stops it, until it is resumed.
    ///
    /// # Errors
    /// The system refuses.
    pub fn pause(&self) -> anyhow::Result<()> {
        self.signal("STOP")
    }

    /// Lets it go on.
    ///
    /// # Errors
    /// The system refuses.
    pub fn resume(&self) -> anyhow::Result<()> {
        self.signal("CONT")
    }

    /// Lets it drain, and returns when it has ended.
    ///
    /// # Errors
    /// It does not end within `patience`.
    pub async fn drain(mut self, patience: Duration) -> anyhow::Result<ExitStatus> {
        self.signal("TERM")?;
        let begun = Instant::now();
        while begun.elapsed() < patience {
            if let Some(status) = self.child.try_wait()? {
                return Ok(status);
            }
            sleep(Duration::from_millis(50)).await;
        }
        bail!("replica {} does not end within {patience:?}", self.number)
    }

    fn signal(&self, name: &str) -> anyhow::Result<()> {
        let done = Command::new("kill").arg(format!("-{name}")).arg(self.child.id().to_string()).status();
        if !done.context("cannot run kill")?.success() {
            bail!("replica {} cannot be sent SIG{name}", self.number);
        }
        Ok(())
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        let _ = (self.child.kill(), self.child.wait());
    }
}
