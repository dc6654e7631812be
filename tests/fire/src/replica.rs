//! A replica as a child process.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use anyhow::bail;
use tokio::task::AbortHandle;
use tokio::time::sleep;
use vestibule_testenv::{Child, Environment};

use crate::{Counters, ReplicaEvent};

/// A replica as a child process, which is killed when this is dropped.
pub struct Replica {
    number: usize,
    child: Child,
    process: u32,
    hooks: [SocketAddr; 2],
    probes: SocketAddr,
    reader: AbortHandle,
}

impl Replica {
    /// Starts a replica and waits until it listens; what it tells goes into the counters under `number`.
    ///
    /// # Errors
    /// It does not listen.
    pub(crate) async fn start(
        environment: &Environment,
        command: &Command,
        number: usize,
        counters: Arc<Counters>,
    ) -> anyhow::Result<Self> {
        let child = environment.spawn(&format!("replica-{number}"), command)?;
        let listening = child.wait_for_line(|line| match ReplicaEvent::parse(line) {
            Some(ReplicaEvent::Listening { process, hooks, probes }) => Some((process, hooks, probes)),
            _ => None,
        });
        let (process, hooks, probes) = listening.await?;
        let reader = tokio::spawn(read(child.log_file(), number, counters)).abort_handle();
        Ok(Self { number, child, process, hooks, probes, reader })
    }

    /// Counts from 0, and is never given twice.
    #[must_use]
    pub fn number(&self) -> usize {
        self.number
    }

    /// The process, to pause and to resume.
    #[must_use]
    pub fn child(&self) -> &Child {
        &self.child
    }

    /// Where it serves hooks: closing each connection, and keeping them.
    #[must_use]
    pub fn hooks(&self) -> [SocketAddr; 2] {
        self.hooks
    }

    /// Where it says whether it is ready.
    #[must_use]
    pub fn probes(&self) -> SocketAddr {
        self.probes
    }

    /// Memory that it holds now, in KiB.
    #[must_use]
    pub fn resident(&self) -> Option<u64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.process)).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        line.split_whitespace().next()?.parse().ok()
    }

    /// Ends it at once, in whatever it does.
    ///
    /// # Errors
    /// The system refuses.
    pub async fn kill(self) -> anyhow::Result<()> {
        self.child.kill()?;
        self.child.wait().await?;
        Ok(())
    }

    /// Lets it drain, and returns when it has ended well.
    ///
    /// # Errors
    /// It ends with another status, or not at all.
    pub async fn drain(self) -> anyhow::Result<()> {
        self.child.terminate()?;
        match self.child.wait().await? {
            0 => Ok(()),
            status => bail!("replica {} drained, and ended with {status}", self.number),
        }
    }
}

impl Drop for Replica {
    fn drop(&mut self) {
        self.reader.abort();
    }
}

/// Reads events as they are written, between other lines of the log.
async fn read(log: PathBuf, number: usize, counters: Arc<Counters>) {
    const PERIOD: Duration = Duration::from_millis(100);
    let (mut begin, mut text) = (0, String::new());
    loop {
        text.clear();
        let read = File::open(&log).and_then(|mut file| {
            file.seek(SeekFrom::Start(begin))?;
            file.read_to_string(&mut text)
        });
        // What is not whole yet is read again with its end.
        let whole = read.ok().and_then(|_| text.rfind('\n')).map_or(0, |end| end + 1);
        let (lines, _) = text.split_at(whole);
        for event in lines.lines().filter_map(ReplicaEvent::parse) {
            counters.record_event(number, event);
        }
        begin += whole as u64;
        sleep(PERIOD).await;
    }
}
