//! Nothing of a pod, and nothing that a rule adds, is in the injector's log or metrics.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::process::{Command, Stdio};

use serde_json::{Value, json};
use vestibule_caller::{Caller, Hook, Review};

use crate::fixture::Folder;

const OBJECT: &str = "canary-object";
const OLD: &str = "canary-old-object";
const RULE: &str = "canary-of-a-rule";

/// One rule adds, one refuses whoever has another volume of its name.
const RULES: &str = "\
apiVersion: vestibule.dev/v1alpha1
kind: Injection
metadata: {name: adds}
spec:
  match: {objects: {labels: {app: web}}}
  pod: {annotations: {example.com/added: canary-of-a-rule}}
  containers:
  - select: {all: true}
    env: [{name: TARGET, value: canary-of-a-rule}]
---
apiVersion: vestibule.dev/v1alpha1
kind: Injection
metadata: {name: refuses}
spec:
  required: true
  match: {namespaces: {names: [demo]}, objects: {labels: {app: web}}}
  volumes: [{name: data, emptyDir: {}}]
";

#[tokio::test]
async fn nothing_of_a_pod_or_a_rule_is_in_logs_or_metrics() {
    let folder = Folder::with(&[("rules.yaml", RULES)]);
    let mut command = folder.command(
        "serve --rules rules.yaml --listen 127.0.0.1:0 --metrics-listen 127.0.0.1:0 --identity local:identity --dns localhost",
    );
    let mut child = command.env("RUST_LOG", "trace").stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    let start = lines.find(|line| line.contains(r#""message":"serving""#)).unwrap();
    let start: Value = serde_json::from_str(&start).unwrap();
    let address = |which: &str| start[which].as_str().unwrap().parse::<SocketAddr>().unwrap();

    let ca = std::fs::read(folder.path().join("identity/ca.crt")).unwrap();
    let caller = Caller::new(address("address"), "localhost", &ca).unwrap();
    for pod in pods() {
        let mut old = pod.clone();
        old["metadata"]["labels"]["x"] = json!(OLD);
        for review in [Review::create(pod.clone()), Review::update(old.clone(), pod), Review::delete(old)] {
            let review = review.namespace("demo").build().unwrap();
            for hook in ["required", "best-effort"] {
                let hook = Hook::mutating(hook, &format!("/mutate/{hook}"));
                // Words for the user, a patch aside, are read by others too.
                let answer = caller.call(&review, &hook).await.unwrap();
                let body = String::from_utf8(answer.body).unwrap();
                assert!([OBJECT, OLD, RULE].iter().all(|canary| !body.contains(canary)), "{body}");
            }
        }
    }
    let mut metrics = String::new();
    let mut stream = TcpStream::connect(address("probes")).unwrap();
    stream.write_all(b"GET /metrics HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n").unwrap();
    stream.read_to_string(&mut metrics).unwrap();

    assert!(Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap().success());
    let log: Vec<String> = lines.collect();
    assert!(child.wait().unwrap().success());
    for verdict in ["mutated", "denied", "allowed"] {
        let heard = log.iter().any(|line| line.contains(&format!(r#""verdict":"{verdict}""#)));
        assert!(heard, "nothing was {verdict}: {log:#?}");
    }
    for canary in [OBJECT, OLD, RULE] {
        let hits: Vec<_> = log
            .iter()
            .map(String::as_str)
            .chain(metrics.lines())
            .filter(|line| line.contains(canary))
            .collect();
        assert!(hits.is_empty(), "{canary} is there: {hits:?}");
    }
}

/// One that is changed, one that is refused, one that the rules cannot read, one that nothing is for.
fn pods() -> [Value; 4] {
    let pod = |labels: Value, volumes: Value, env: Value| {
        json!({
            "apiVersion": "v1", "kind": "Pod",
            "metadata": {"name": "web", "labels": labels, "annotations": {"x": OBJECT}},
            "spec": {"volumes": volumes, "containers": [{"name": "app", "args": [OBJECT], "env": env}]},
        })
    };
    let (web, secret) = (json!({"app": "web"}), json!([{"name": "SECRET", "value": OBJECT}]));
    [
        pod(web.clone(), json!([]), secret.clone()),
        pod(web.clone(), json!([{"name": "data", "hostPath": {"path": OBJECT}}]), secret.clone()),
        pod(web, json!([]), json!(OBJECT)),
        pod(json!({"app": OBJECT}), json!([]), secret),
    ]
}
