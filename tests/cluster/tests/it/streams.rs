//! Streams into pods: a hook changes their options before kube-apiserver connects.

use std::time::Instant;

use http::{Method, Request as HttpRequest};
use k8s_openapi::api::core::v1::Node;
use kube::Api;
use kube::api::{Patch, PatchParams, PostParams};
use kube::client::Body;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};
use vestibule::Operation::Connect;
use vestibule::admission::{Handler, HandlerFuture, Request, Verdict};
use vestibule::{App, Change, Context, FailurePolicy, Reject, Rule, deny, on_raw, on_rules};
use vestibule_admission::Decision;
use vestibule_testenv::{Answer, Recorder};

use crate::cluster::{Cluster, Namespace, Reply};
use crate::samples::pod;

/// The fields of `PodExecOptions` that this webhook uses.
#[derive(Deserialize, Serialize)]
struct ExecOptions {
    #[serde(default)]
    container: String,
    #[serde(default)]
    command: Vec<String>,
}

fn exec() -> Rule {
    Rule::new("v1", "pods/exec", [Connect])
}

/// Appends an argument to the command of each `kubectl exec`.
struct AppendArgument;

impl Handler for AppendArgument {
    fn handle<'a>(&'a self, _: &'a Request<'a>, _: Instant) -> HandlerFuture<'a> {
        let patch = r#"[{"op": "add", "path": "/command/-", "value": "--appended"}]"#;
        let operations: Vec<vestibule::patch::Operation> = serde_json::from_str(patch).unwrap();
        Box::pin(async { Verdict::mutated(operations) })
    }
}

#[tokio::test]
async fn the_api_server_connects_with_options_changed_by_a_typed_handler() {
    async fn into_debug(mut options: ExecOptions, _: Context) -> Result<ExecOptions, Reject> {
        options.container = "debug".to_owned();
        options.command = vec!["sh".to_owned(), "-r".to_owned()];
        Ok(options)
    }
    async fn only_debug(change: Change<ExecOptions>, _: Context) -> Result<(), Reject> {
        match change {
            Change::Connect { options } if options.container == "debug" => Ok(()),
            _ => Err(deny("exec is for the container debug")),
        }
    }
    let Some(cluster) = Cluster::shared().await else { return };
    let app = App::new("exec-debug")
        .mutate("into-debug", on_rules([exec()]).failure_policy(FailurePolicy::Fail), into_debug)
        .validate("only-debug", on_rules([exec()]).failure_policy(FailurePolicy::Fail), only_debug);
    let webhook = cluster.serve(app).await;
    let kubelet = Kubelet::start(&cluster).await;
    let namespace = cluster.namespace(&[]).await;
    namespace.create(&kubelet.pod()).await.object();

    let reply = exec_into(&cluster, &namespace, "container=app&command=id&stdout=true").await;
    assert!(reply.text.contains("no stream here"), "the kubelet was not asked: {}", reply.text);
    assert_eq!(webhook.decisions.take(), [Decision::Mutated(3), Decision::Allowed]);
    let expected =
        (format!("/exec/{}/web/debug", namespace.name()), "command=sh&command=-r&output=1".to_owned());
    assert_eq!(kubelet.asked(), [expected]);
}

#[tokio::test]
async fn the_api_server_connects_with_options_changed_by_a_raw_handler() {
    let Some(cluster) = Cluster::shared().await else { return };
    let app = App::new("exec-argument").mutate_raw(
        "append",
        on_raw([exec()]).failure_policy(FailurePolicy::Fail),
        AppendArgument,
    );
    let webhook = cluster.serve(app).await;
    let kubelet = Kubelet::start(&cluster).await;
    let namespace = cluster.namespace(&[]).await;
    namespace.create(&kubelet.pod()).await.object();

    let reply = exec_into(&cluster, &namespace, "container=app&command=id&stdout=true").await;
    assert!(reply.text.contains("no stream here"), "the kubelet was not asked: {}", reply.text);
    assert_eq!(webhook.decisions.take(), [Decision::Mutated(1)]);
    let expected =
        (format!("/exec/{}/web/app", namespace.name()), "command=id&command=--appended&output=1".to_owned());
    assert_eq!(kubelet.asked(), [expected]);
}

/// A node whose kubelet records requests and refuses them.
struct Kubelet {
    node: String,
    recorder: Recorder,
}

impl Kubelet {
    async fn start(cluster: &Cluster) -> Self {
        let refusal = |_: &_| Answer::Raw(403, b"no stream here".to_vec());
        let recorder = Recorder::start(&[], refusal).unwrap();
        let node = format!("node-of-{}", cluster.home.name());
        let nodes: Api<Node> = Api::all(cluster.client());
        let object = json!({ "apiVersion": "v1", "kind": "Node", "metadata": { "name": node } });
        nodes.create(&PostParams::default(), &serde_json::from_value(object).unwrap()).await.unwrap();
        let status = json!({ "status": {
            "addresses": [{ "type": "InternalIP", "address": "127.0.0.1" }],
            "daemonEndpoints": { "kubeletEndpoint": { "Port": recorder.address().port() } },
        } });
        nodes.patch_status(&node, &PatchParams::default(), &Patch::Merge(status)).await.unwrap();
        Self { node, recorder }
    }

    /// A pod on this node.
    fn pod(&self) -> Value {
        let mut pod = pod("web", &[("app", "app:1"), ("debug", "debug:1")]);
        pod["spec"]["nodeName"] = json!(self.node);
        pod
    }

    /// Paths and queries, in the order of their requests.
    fn asked(&self) -> Vec<(String, String)> {
        self.recorder.recorded().into_iter().map(|seen| (seen.path, seen.query)).collect()
    }
}

/// `kubectl exec` up to the upgrade of the connection.
async fn exec_into(cluster: &Cluster, namespace: &Namespace, query: &str) -> Reply {
    let uri = format!("/api/v1/namespaces/{}/pods/web/exec?{query}", namespace.name());
    let request = HttpRequest::builder().method(Method::POST).uri(uri);
    let request = request.header("connection", "Upgrade").header("upgrade", "SPDY/3.1");
    Reply::read(cluster.client().send(request.body(Body::empty()).unwrap()).await.unwrap()).await
}
