//! A real `vestibule serve` without a cluster: started, ready by its probe over loopback, stopped.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::{Child, ChildStderr, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde_json::Value;

use crate::cargo;

/// How long each step may take on a busy machine.
const STEP: Duration = Duration::from_secs(60);
/// A certificate in files: `local:DIR` is refused on Windows, and `self` needs a cluster. Nothing of a cluster is asked, even where
/// this machine has a kubeconfig.
const OPTIONS: &str = "--listen 127.0.0.1:0 --metrics-listen 127.0.0.1:0 --mounted-certificate server.crt --mounted-key server.key \
                       --namespace-labels injection=enabled --log-config-map off --log-format json --drain-delay 0s";

/// The process, which ends with this.
struct Server(Child);

impl Drop for Server {
    fn drop(&mut self) {
        let _ended = self.0.kill().and_then(|()| self.0.wait());
    }
}

/// Serves the rules in `rules` with a new certificate in `folder`.
pub(super) fn run(binary: &Path, rules: &str, folder: &Path) -> anyhow::Result<()> {
    let certificates = folder.join("certificates");
    let mut made = Command::new(binary);
    made.args(["certs", "new", "--dns", "localhost", "--out"]).arg(&certificates);
    let output = made.output().with_context(|| format!("cannot start {}", binary.display()))?;
    if !output.status.success() {
        bail!("`certs new` ended with {}:\n{}", output.status, String::from_utf8_lossy(&output.stderr));
    }
    let mut command = Command::new(binary);
    command.args(["serve", "--rules", rules, "--identity", &format!("mounted:{}", certificates.display())]);
    command.args(OPTIONS.split_whitespace()).current_dir(cargo::workspace());
    let mut server =
        Server(command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?);
    let log = lines(server.0.stderr.take().context("the process has no standard error")?);
    let probes = probes(&log)?;
    until("the server is ready", || Ok(get(probes, "/readyz")?.starts_with("HTTP/1.1 200")))?;
    stop(&mut server.0)
}

/// The lines of the log. A thread reads them, so that the process never waits for a reader.
fn lines(log: ChildStderr) -> Receiver<String> {
    let (sender, lines) = channel();
    std::thread::spawn(move || {
        for line in BufReader::new(log).lines().map_while(Result::ok) {
            let _reader_is_gone = sender.send(line);
        }
    });
    lines
}

/// The address of the probes, which the first line about serving names.
fn probes(log: &Receiver<String>) -> anyhow::Result<SocketAddr> {
    let mut said = String::new();
    loop {
        let line = log.recv_timeout(STEP).with_context(|| format!("it does not serve; its log:\n{said}"))?;
        let fields: Value = serde_json::from_str(&line).unwrap_or_default();
        if fields["message"] == "serving" {
            let address =
                fields["probes"].as_str().with_context(|| format!("no address of probes: {line}"))?;
            return address.parse().with_context(|| format!("`{address}` is no address"));
        }
        said.push_str(&line);
        said.push('\n');
    }
}

fn get(address: SocketAddr, path: &str) -> anyhow::Result<String> {
    let mut stream = TcpStream::connect(address).with_context(|| format!("cannot connect to {address}"))?;
    stream.set_read_timeout(Some(STEP))?;
    write!(stream, "GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    Ok(answer)
}

/// SIGTERM drains the process, and its exit code is 0. Windows has no signals: the process is killed, by the end of [`Server`].
fn stop(child: &mut Child) -> anyhow::Result<()> {
    if cfg!(unix) {
        // Small systems have `kill` in the shell only.
        let id = child.id().to_string();
        Command::new("sh").args(["-c", "kill -TERM \"$0\"", &id]).status().context("cannot start sh")?;
        until("the server stops after SIGTERM", || Ok(child.try_wait()?.is_some()))?;
        let status = child.wait()?;
        if !status.success() {
            bail!("after SIGTERM it ended with {status}");
        }
    }
    Ok(())
}

fn until(what: &str, mut holds: impl FnMut() -> anyhow::Result<bool>) -> anyhow::Result<()> {
    let end = Instant::now() + STEP;
    while !holds()? {
        if Instant::now() > end {
            bail!("within {} s it did not happen that {what}", STEP.as_secs());
        }
        // Neither a probe nor the end of a process can be waited for with a limit by the standard library.
        std::thread::sleep(Duration::from_millis(50));
    }
    Ok(())
}
