//! A node for the commands whose answers come from a kubelet: `kubectl port-forward` and `kubectl logs`.

use std::fs;
use std::process::Command;

use serde_json::json;
use vestibule_testenv::{Child, Tools};

use crate::api;
use crate::cluster::InstalledInjector;

/// Makes a node with a kubelet, and on it a pod of the Deployment `namespace/injector`: its ports lead to the running
/// injector, and its log is the injector's so far.
pub(super) async fn run_pod(injector: &InstalledInjector, tools: &Tools, namespace: &str) -> Child {
    let environment = &injector.environment;
    let log = environment.folder().join("pod.log");
    fs::write(&log, injector.server.log()).unwrap();
    let mut kubelet = Command::new(&tools.kubelet);
    kubelet.arg("-log").arg(log);
    kubelet.args([format!("9090={}", injector.probes), format!("10250={}", injector.address)]);
    let kubelet = environment.spawn("kubelet", &kubelet).unwrap();
    let port: u16 = kubelet.wait_for_line(|line| line.strip_prefix("port ")?.parse().ok()).await.unwrap();

    let client = environment.admin().unwrap();
    let node = json!({
        "apiVersion": "v1", "kind": "Node", "metadata": {"name": "node"},
        "status": {
            "addresses": [{"type": "InternalIP", "address": "127.0.0.1"}],
            "daemonEndpoints": {"kubeletEndpoint": {"Port": port}},
        },
    });
    api::post(&client, "/api/v1/nodes", &node).await.object();
    let deployment = format!("/apis/apps/v1/namespaces/{namespace}/deployments/injector");
    let mut pod = api::get(&client, &deployment).await.object()["spec"]["template"].take();
    pod["metadata"]["name"] = json!("injector");
    pod["spec"]["nodeName"] = json!("node");
    let pods = format!("/api/v1/namespaces/{namespace}/pods");
    api::post(&client, &pods, &pod).await.object();
    let running = json!({"status": {"phase": "Running"}});
    api::merge_patch(&client, &format!("{pods}/injector/status"), &running).await.object();
    kubelet
}
