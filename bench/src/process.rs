//! A server as a child process on a processor of its own.

use std::fs;
use std::io::Read;
use std::net::{Ipv4Addr, SocketAddr, TcpListener};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use nix::time::{clock_getcpuclockid, clock_gettime};
use nix::unistd::Pid;
use rustix::process::{Signal, kill_process};
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// The processors of servers and of the client. With one processor they share it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Processors {
    server: usize,
    client: usize,
    /// All that this process may use.
    pub(crate) count: usize,
}

impl Processors {
    /// The first and the last processor that this process may use.
    pub(crate) fn choose() -> anyhow::Result<Self> {
        let allowed = sched_getaffinity(None).context("cannot read the processors of this process")?;
        let usable: Vec<_> = (0..CpuSet::MAX_CPU).filter(|cpu| allowed.is_set(*cpu)).collect();
        let (Some(&server), Some(&client)) = (usable.first(), usable.last()) else { bail!("no processor") };
        Ok(Self { server, client, count: usable.len() })
    }

    pub(crate) fn are_apart(self) -> bool {
        self.server != self.client
    }

    /// Moves the calling thread, and the threads that it starts, to the client's processor.
    pub(crate) fn move_to_client(self) -> anyhow::Result<()> {
        move_to(self.client)
    }
}

fn move_to(processor: usize) -> anyhow::Result<()> {
    let mut set = CpuSet::new();
    set.set(processor);
    sched_setaffinity(None, &set).with_context(|| format!("cannot move to processor {processor}"))
}

/// A running server, which is killed on drop.
pub(crate) struct Process {
    child: Child,
    pub(crate) address: SocketAddr,
    /// The end of its output.
    output: Arc<Mutex<Vec<u8>>>,
}

/// How much of the output is kept, in bytes.
const KEPT: usize = 16 << 10;

/// The longest time from SIGTERM to the end of a process.
const LONGEST_DRAIN: Duration = Duration::from_secs(60);

impl Process {
    /// Starts `command` on the processor of servers. Its output is read and dropped, as a container's is by the runtime.
    pub(crate) fn start(
        processors: Processors,
        mut command: Command,
        address: SocketAddr,
    ) -> anyhow::Result<Self> {
        command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped());
        // A child inherits the processor of the thread that starts it.
        let spawned = std::thread::spawn(move || {
            move_to(processors.server)?;
            let program = Path::new(command.get_program()).to_owned();
            command.spawn().with_context(|| format!("cannot start {}", program.display()))
        });
        let Ok(child) = spawned.join() else { bail!("the thread that starts a server panicked") };
        let mut child = child?;
        let output = Arc::<Mutex<Vec<u8>>>::default();
        if let Some(mut stderr) = child.stderr.take() {
            let output = Arc::clone(&output);
            std::thread::spawn(move || {
                let mut buffer = vec![0; 64 << 10];
                while let Ok(read @ 1..) = stderr.read(&mut buffer) {
                    let mut output = output.lock().unwrap_or_else(PoisonError::into_inner);
                    output.extend_from_slice(buffer.get(..read).unwrap_or_default());
                    let too_much = output.len().saturating_sub(KEPT);
                    output.drain(..too_much);
                }
            });
        }
        Ok(Self { child, address, output })
    }

    /// Its exit status and the end of its output, if it has ended.
    pub(crate) fn ended(&mut self) -> Option<String> {
        let status = self.child.try_wait().ok()??;
        // The thread that reads the output may be behind.
        std::thread::sleep(Duration::from_millis(50));
        Some(format!("ended with {status}\n{}", self.output()))
    }

    pub(crate) fn output(&self) -> String {
        String::from_utf8_lossy(&self.output.lock().unwrap_or_else(PoisonError::into_inner)).into_owned()
    }

    /// Ends the process with SIGTERM, so that it does what it has to do at its end.
    pub(crate) fn terminate(mut self) -> anyhow::Result<()> {
        kill_process(rustix::process::Pid::from_child(&self.child), Signal::TERM)?;
        let end = Instant::now() + LONGEST_DRAIN;
        while self.child.try_wait()?.is_none() {
            if Instant::now() > end {
                bail!("SIGTERM did not end the process within {LONGEST_DRAIN:?}:\n{}", self.output());
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        match self.child.wait()?.success() {
            true => Ok(()),
            false => bail!("the process failed after SIGTERM:\n{}", self.output()),
        }
    }

    pub(crate) fn id(&self) -> u32 {
        self.child.id()
    }

    /// The processor time of its threads so far.
    pub(crate) fn cpu(&self) -> anyhow::Result<Duration> {
        cpu_of(self.child.id())
    }

    /// Resident memory and its peak in KiB.
    pub(crate) fn memory(&self) -> anyhow::Result<(u64, u64)> {
        let file = format!("/proc/{}/status", self.child.id());
        let status = fs::read_to_string(&file).with_context(|| format!("no {file}"))?;
        let read = |name: &str| {
            let line = status.lines().find_map(|line| line.strip_prefix(name))?;
            line.split_whitespace().next()?.parse().ok()
        };
        Ok((read("VmRSS:").context("no VmRSS")?, read("VmHWM:").context("no VmHWM")?))
    }

    /// Resets the peak of its memory; see proc_pid_clear_refs(5).
    pub(crate) fn forget_peak(&self) -> anyhow::Result<()> {
        let file = format!("/proc/{}/clear_refs", self.child.id());
        fs::write(&file, "5").with_context(|| format!("cannot write {file}"))
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        // The process may have ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// The processor time of all threads of a process so far. Threads that have ended count: a server's pool of threads shrinks
/// during a measurement.
fn cpu_of(process: u32) -> anyhow::Result<Duration> {
    let clock = clock_getcpuclockid(Pid::from_raw(process.try_into()?));
    let now = clock
        .and_then(clock_gettime)
        .with_context(|| format!("cannot read the CPU time of process {process}"))?;
    Ok(now.into())
}

/// The processor time of the calling thread so far.
pub(crate) fn own_cpu() -> Duration {
    let text = fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    let nanos = text.split_whitespace().next().and_then(|nanos| nanos.parse().ok());
    Duration::from_nanos(nanos.unwrap_or(0))
}

/// A loopback address that is free now.
pub(crate) fn free_address() -> anyhow::Result<SocketAddr> {
    Ok(TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()?)
}

#[cfg(test)]
mod tests {
    use std::time::Instant;

    use super::*;

    /// Regression test: only threads that existed at the time were counted, and a case of the bench took no processor time.
    #[test]
    fn threads_that_have_ended_count() {
        let before = cpu_of(std::process::id()).unwrap();
        let busy = std::thread::spawn(|| {
            let start = Instant::now();
            while own_cpu() < Duration::from_millis(20) && start.elapsed() < Duration::from_secs(10) {}
            own_cpu()
        });
        let spent = busy.join().unwrap();
        assert!(spent > Duration::ZERO);
        assert!(cpu_of(std::process::id()).unwrap() >= before + spent);
    }
}
