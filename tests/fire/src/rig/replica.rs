//! Processes of `serve`, as a container of a pod would run them.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use serde_json::Value;
use vestibule_testenv::{Child, Environment};

/// A running replica.
pub struct Replica {
    /// The process.
    pub process: Child,
    /// The port of hooks.
    pub address: SocketAddr,
    /// The port of probes and metrics.
    pub probes: SocketAddr,
}

impl Replica {
    /// Starts `program serve` with these arguments, and returns when it listens. It may not be ready.
    ///
    /// # Errors
    /// The process does not start, or ends before it listens.
    pub async fn start(
        environment: &Environment,
        program: &Path,
        kubeconfig: &Path,
        arguments: &[&str],
    ) -> anyhow::Result<Self> {
        let mut command = Command::new(program);
        command.args(["serve", "--listen=127.0.0.1:0", "--metrics-listen=127.0.0.1:0"]).args(arguments);
        command.arg("--kubeconfig").arg(kubeconfig);
        // kubelet sets these variables in every container.
        let (host, port) = environment.url().rsplit_once(':').unwrap_or_default();
        command.env("KUBERNETES_SERVICE_HOST", host.trim_start_matches("https://"));
        command.env("KUBERNETES_SERVICE_PORT", port);
        let process = environment.spawn("replica", &command)?;
        let serving = process.wait_for_line(|line| {
            let line: Value = serde_json::from_str(line).ok()?;
            let address = |member: &str| line[member].as_str()?.parse().ok();
            (line["message"] == "serving").then(|| Some((address("address")?, address("probes")?)))?
        });
        let (address, probes) = serving.await?;
        Ok(Self { process, address, probes })
    }
}
