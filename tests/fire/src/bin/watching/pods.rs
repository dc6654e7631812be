//! Pods that stand for replicas.

use std::process::Command;

use fire::rig::Replica;
use http::Method;
use kube::Client;
use serde_json::{Value, json};
use vestibule_testenv::{Child, Environment, Tools};

use crate::api::{JSON, MERGE, done};

/// Makes a pod of the Deployment `home/name` on a node with a kubelet: `kubectl logs` and `port-forward` reach the replica. The
/// kubelet ends when the returned value is dropped.
pub(crate) async fn stand_for(
    replica: &Replica,
    environment: &Environment,
    tools: &Tools,
    home: &str,
    name: &str,
) -> anyhow::Result<Child> {
    let mut kubelet = Command::new(&tools.kubelet);
    kubelet.arg("-log").arg(replica.process.log_file());
    kubelet.args([format!("9090={}", replica.probes), format!("10250={}", replica.address)]);
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
