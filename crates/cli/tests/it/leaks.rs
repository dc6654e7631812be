//! No value of a pod or a rule is in the injector's log or metrics.

use hostile::malformed::Connection;
use serde_json::{Value, json};
use vestibule_caller::{Caller, Hook, Review};

use crate::fixture::Folder;
use crate::names::with_name;
use crate::served::{Server, get, serve};

const OBJECT: &str = "canary-object";
const OLD: &str = "canary-old-object";
const RULE: &str = "canary-of-a-rule";

const HOOKS: [&str; 2] = ["required", "best-effort"];

/// One rule adds a volume, one refuses a pod with another volume of its name.
const RULES: &str = "\
apiVersion: vestibule.dev/v1alpha1
kind: Injection
metadata: {name: adds}
spec:
  match: {objectSelector: {matchLabels: {app: web}}}
  pod: {annotations: {example.com/added: canary-of-a-rule}}
  containerPatches:
  - select: {all: true}
    env: [{name: TARGET, value: canary-of-a-rule}]
---
apiVersion: vestibule.dev/v1alpha1
kind: Injection
metadata: {name: refuses}
spec:
  required: true
  match: {namespaceSelector: {matchLabels: {kubernetes.io/metadata.name: demo}}, objectSelector: {matchLabels: {app: web}}}
  volumes: [{name: data, emptyDir: {}}]
";

#[tokio::test]
async fn nothing_of_a_pod_or_a_rule_is_in_logs_or_metrics() {
    let (folder, server) = served("trace");
    let caller = Caller::new(server.address("address"), "localhost", &ca(&folder)).unwrap();
    for pod in pods() {
        let mut old = pod.clone();
        old["metadata"]["labels"]["x"] = json!(OLD);
        for review in [Review::create(pod.clone()), Review::update(old.clone(), pod), Review::delete(old)] {
            let review = review.namespace("demo").build().unwrap();
            for hook in HOOKS {
                let hook = Hook::mutating(hook, &format!("/mutate/{hook}"));
                // Messages and warnings must not hold values either; only the patch may.
                let answer = caller.call(&review, &hook).await.unwrap();
                let body = String::from_utf8(answer.body).unwrap();
                assert!([OBJECT, OLD, RULE].iter().all(|canary| !body.contains(canary)), "{body}");
            }
        }
    }
    let metrics = get(&server, "/metrics");
    let log = server.ended();
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

/// Names of 1 MiB in every field that a log may hold.
#[test]
fn a12_no_name_makes_a_long_line_of_the_injectors_log() {
    const LONGEST: usize = 8 << 10;
    let (folder, server) = served("debug");
    let mut connection = Connection::to(server.address("address"), "localhost", &ca(&folder));
    let huge = "é".repeat(1 << 19);
    let places = [
        "/request/uid",
        "/request/name",
        "/request/namespace",
        "/request/userInfo/username",
        "/request/object/metadata/name",
        "/request/object/metadata/generateName",
        "/request/object/metadata/namespace",
        "/request/object/metadata/labels/app",
        "/request/object/metadata/ownerReferences/0/name",
        "/request/object/metadata/ownerReferences/0/kind",
        "/request/object/spec/containers/0/name",
        "/request/object/spec/volumes/0/name",
    ];
    let [mut pod, ..] = pods();
    let owner = json!({ "apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web-1", "uid": "u", "controller": true });
    pod["metadata"]["ownerReferences"] = json!([owner]);
    pod["spec"]["volumes"] = json!([{ "name": "cache", "emptyDir": {} }]);
    for place in places {
        let review = Review::create(pod.clone()).namespace("demo").build().unwrap();
        let body = with_name(review.body(), place, &huge);
        let uid = body["request"]["uid"].clone();
        for hook in HOOKS {
            let (status, answer) = connection.post(&format!("/mutate/{hook}"), body.to_string().as_bytes());
            if status == 200 {
                let answer: Value = serde_json::from_slice(&answer).unwrap();
                assert_eq!(answer["response"]["uid"], uid, "{place}");
            } else {
                assert!(answer.len() < 300, "{place}: {status} of {} bytes", answer.len());
            }
        }
    }
    let log = server.ended();
    let decided = log.iter().filter(|line| line.contains(r#""message":"decided""#)).count();
    assert!(decided >= places.len(), "{decided} decisions");
    let longest = log.iter().max_by_key(|line| line.len()).unwrap();
    assert!(longest.len() <= LONGEST, "{} bytes: {longest:.1000}", longest.len());
}

/// A call logs about 350 bytes, and a pipe holds 64 KiB.
#[test]
fn a_full_log_pipe_blocks_no_call_and_missing_lines_are_counted() {
    const CALLS: usize = 3_000;
    let (folder, server) = served("info");
    let mut connection = Connection::to(server.address("address"), "localhost", &ca(&folder));
    let [pod, ..] = pods();
    let review = Review::create(pod).namespace("demo").build().unwrap();
    for call in 0..CALLS {
        let (status, _) = connection.post("/mutate/best-effort", review.body());
        assert_eq!(status, 200, "call {call}");
    }
    assert!(get(&server, "/livez").starts_with("HTTP/1.1 200"));
    let log = server.ended();
    let log: Vec<Value> = log.iter().map(|line| serde_json::from_str(line).unwrap()).collect();
    let missing: u64 = log.iter().filter_map(|line| line["lines"].as_u64()).sum();
    let decided = log.iter().filter(|line| line["message"] == "decided").count();
    assert!(missing > 0 && decided + missing as usize >= CALLS, "{decided} and {missing}");
}

/// An injector with this log level.
fn served(level: &str) -> (Folder, Server) {
    let folder = Folder::with(&[("rules.yaml", RULES)]);
    let server = Server::spawn(serve(&folder, "--dns localhost").env("RUST_LOG", level));
    (folder, server)
}

fn ca(folder: &Folder) -> Vec<u8> {
    std::fs::read(folder.path().join("identity/ca.crt")).unwrap()
}

/// Pods of four outcomes: changed, refused, unreadable, and matched by no rule.
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
