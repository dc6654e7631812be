//! Processes that Prometheus scrapes, and pods that stand for them.

use std::net::SocketAddr;
use std::path::Path;
use std::process::Command;

use http::Method;
use kube::Client;
use serde_json::{Value, json};
use vestibule_testenv::{Child, Environment, Tools};

use crate::api::{JSON, MERGE, done};

/// A running replica.
pub(crate) struct Replica {
    /// The process.
    pub(crate) process: Child,
    /// The port of hooks.
    pub(crate) address: SocketAddr,
    /// The port of probes and metrics.
    pub(crate) probes: SocketAddr,
}

impl Replica {
    /// Starts `program serve` with these arguments, and returns when it listens. It may not be ready.
    pub(crate) async fn start(
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

    /// Makes a pod of the Deployment `home/name` on a node with a kubelet: `kubectl logs` and `port-forward` reach this
    /// replica. The kubelet ends when the returned value is dropped.
    pub(crate) async fn as_pod(
        &self,
        environment: &Environment,
        tools: &Tools,
        home: &str,
        name: &str,
    ) -> anyhow::Result<Child> {
        let mut kubelet = Command::new(&tools.kubelet);
        kubelet.arg("-log").arg(self.process.log_file());
        kubelet.args([format!("9090={}", self.probes), format!("10250={}", self.address)]);
        let kubelet = environment.spawn("kubelet", &kubelet)?;
        let port: u16 = kubelet.wait_for_line(|line| line.strip_prefix("port ")?.parse().ok()).await?;
        let client: Client = environment.admin()?;
        let node = json!({
            "apiVersion": "v1", "kind": "Node", "metadata": {"name": format!("node-{name}")},
            "status": {
                "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
                "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
            },
        });
        done(&client, Method::POST, "/api/v1/nodes", JSON, &node).await?;
        let deployment = format!("/apis/apps/v1/namespaces/{home}/deployments/{name}");
        let mut pod =
            done(&client, Method::GET, &deployment, JSON, &Value::Null).await?["spec"]["template"].take();
        pod["metadata"]["name"] = json!(name);
        pod["spec"]["nodeName"] = json!(format!("node-{name}"));
        let pods = format!("/api/v1/namespaces/{home}/pods");
        done(&client, Method::POST, &pods, JSON, &pod).await?;
        let running = json!({"status": {"phase": "Running"}});
        done(&client, Method::PATCH, &format!("{pods}/{name}/status"), MERGE, &running).await?;
        Ok(kubelet)
    }
}
