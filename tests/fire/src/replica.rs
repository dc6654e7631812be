//! Replicas as child processes.

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

use crate::rig::Memory;
use crate::{Counters, ReplicaEvent};

/// A replica as a child process, which is killed on drop.
pub struct Replica {
    number: usize,
    child: Child,
    process: u32,
    hooks: [SocketAddr; 2],
    probes: SocketAddr,
    reader: AbortHandle,
}

impl Replica {
    /// Starts a replica and waits until it listens. Its events go into the counters under `number`.
    ///
    /// # Errors
    /// The replica does not listen.
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

    /// The number, counted from 0 and never reused.
    #[must_use]
    pub fn number(&self) -> usize {
        self.number
    }

    /// The process.
    #[must_use]
    pub fn child(&self) -> &Child {
        &self.child
    }

    /// The addresses of the hooks: closing each connection, and keeping it.
    #[must_use]
    pub fn hooks(&self) -> [SocketAddr; 2] {
        self.hooks
    }

    /// The address of the probes.
    #[must_use]
    pub fn probes(&self) -> SocketAddr {
        self.probes
    }

    /// Resident memory in KiB.
    #[must_use]
    pub fn resident(&self) -> Option<u64> {
        Some(Memory::of(self.process)?.resident)
    }

    /// Kills the process.
    ///
    /// # Errors
    /// The process cannot be killed.
    pub async fn kill(self) -> anyhow::Result<()> {
        self.child.kill()?;
        self.child.wait().await?;
        Ok(())
    }

    /// Sends SIGTERM and waits until the process has drained and exited with 0.
    ///
    /// # Errors
    /// The process exits with another status, or not at all.
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

/// Follows the log and records its events.
async fn read(log: PathBuf, number: usize, counters: Arc<Counters>) {
    const PERIOD: Duration = Duration::from_millis(100);
    let (mut begin, mut text) = (0, String::new());
    loop {
        text.clear();
        let read = File::open(&log).and_then(|mut file| {
            file.seek(SeekFrom::Start(begin))?;
            file.read_to_string(&mut text)
        });
        // An incomplete line is read again with its end.
        let complete = read.ok().and_then(|_| text.rfind('\n')).map_or(0, |end| end + 1);
        let (lines, _) = text.split_at(complete);
        for event in lines.lines().filter_map(ReplicaEvent::parse) {
            counters.record_event(number, event);
        }
        begin += complete as u64;
        sleep(PERIOD).await;
    }
}
