//! Compares the simulated API server of the tests (`vestibule-caller`) with a real one: each answer must have the same result.

mod answer;
mod page;
mod rows;
mod server;

use std::collections::BTreeMap;

use serde_json::{Value, json};
use vestibule_caller::FailurePolicy;

use self::rows::{Asked, Row};
use self::server::{Seen, Server};
use crate::cluster::{Cluster, TEST};

const POLICIES: [FailurePolicy; 2] = [FailurePolicy::Fail, FailurePolicy::Ignore];

#[tokio::test]
async fn the_simulated_and_a_real_api_server_agree() {
    let Some(cluster) = Cluster::shared().await else { return };
    let service = cluster.environment.service(cluster.home.name(), "oracle").await.unwrap();
    let server = Server::start(&service.host(), service.address());
    service.add_replica(server.recorder.address(), None).unwrap();
    let hooks = |is_validating: bool| {
        let hooks = Asked::ALL.into_iter().filter(|asked| asked.is_validating() == is_validating);
        let hooks = hooks.flat_map(|asked| POLICIES.map(|policy| (asked, policy)));
        let hooks: Vec<Value> =
            hooks.map(|(asked, policy)| server.hook(asked, policy, &service, &cluster)).collect();
        let kind = if is_validating { "Validating" } else { "Mutating" };
        json!({
            "apiVersion": "admissionregistration.k8s.io/v1",
            "kind": format!("{kind}WebhookConfiguration"),
            "metadata": { "name": cluster.home.name() },
            "webhooks": hooks,
        })
    };
    let _installed = cluster.environment.install([hooks(false), hooks(true)]).await.unwrap();
    let namespace = cluster.namespace(&[]).await;

    let mut asked = Vec::new();
    for (number, row) in server.rows.iter().enumerate() {
        for policy in POLICIES {
            let judged = server.judged(number, policy, namespace.name()).await;
            let real = server.real(number, policy, &namespace).await;
            asked.push((name(number, policy), row, judged, real));
        }
    }
    let log = cluster.environment.audit_log().unwrap();
    let mut disagreements = Vec::new();
    for (name, row, judged, mut real) in asked {
        real.annotations = annotations(&log, namespace.name(), &name, row);
        if let Some(difference) = judged.differs(&real) {
            disagreements.push(format!("{} ({name}): {difference}", row.what));
        }
    }
    let count = disagreements.len();
    assert!(disagreements.is_empty(), "{count} disagreements:\n{}", disagreements.join("\n"));
    assert!(server.rows.len() > 200, "{}", server.rows.len());
}

/// The simulation has no schema, so it cannot check types of fields.
#[tokio::test]
async fn only_checks_of_the_object_type_are_not_simulated() {
    use vestibule_testenv::{Answer, Recorder};

    let Some(cluster) = Cluster::shared().await else { return };
    let service = cluster.environment.service(cluster.home.name(), "beyond").await.unwrap();
    let recorder = Recorder::start(&[&service.host()], |seen| {
        Answer::Patch(
            serde_json::from_str(seen.review()["request"]["object"]["data"]["patch"].as_str().unwrap())
                .unwrap(),
        )
    })
    .unwrap();
    service.add_replica(recorder.address(), None).unwrap();
    let configuration = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": { "name": cluster.home.name() },
        "webhooks": [{
            "name": "beyond.oracle.test",
            "clientConfig": { "service": service.reference("/"), "caBundle": recorder.ca_bundle() },
            "rules": [{ "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE"] }],
            "namespaceSelector": { "matchLabels": { TEST: cluster.home.name() } },
            "failurePolicy": "Ignore",
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }],
    });
    let _installed = cluster.environment.install([configuration]).await.unwrap();
    let namespace = cluster.namespace(&[]).await;
    let create = async |op: &str, path: &str, value: Value| {
        let patch = json!([{ "op": op, "path": path, "value": value }]).to_string();
        let mut object = crate::samples::config_map("beyond");
        object["data"] = json!({ "patch": patch });
        namespace.create_dry_run(&object).await
    };
    assert_eq!(create("add", "/tpyo", json!(1)).await.object().get("tpyo"), None, "dropped without a word");
    let message = create("add", "/data/x", json!(7)).await.refusal(500);
    assert!(message.contains("json: cannot unmarshal number into Go struct field"), "{message}");
    let message = create("replace", "/kind", json!("Pod")).await.refusal(500);
    assert_eq!(message, "converting (v1.Pod) to (core.ConfigMap): unknown conversion");
    // The names in the message show the result of the escapes.
    for (path, name) in [("a~0b", "\"a~b\""), ("a~1b~2", "\"a/b~2\""), ("a b", "\"a b\"")] {
        let message = create("add", &format!("/data/{path}"), json!("x")).await.refusal(422);
        assert!(message.contains(name), "{message}");
        assert!(message.contains("a valid config key must consist of"), "{message}");
    }
}

/// The name of the object of a row.
fn name(number: usize, policy: FailurePolicy) -> String {
    format!("asked-{number}-{policy:?}").to_lowercase()
}

/// The annotations of the row's hook in the audit log.
fn annotations(log: &[Value], namespace: &str, name: &str, row: &Row) -> BTreeMap<String, String> {
    let of_row = |event: &&Value| {
        let verb = if row.asked == Asked::Deleting { "delete" } else { "create" };
        let object = &event["objectRef"];
        object["namespace"] == namespace && object["name"] == name && event["verb"] == verb
    };
    let own = format!("{}-", row.asked.name());
    let all = log.iter().filter(of_row).filter_map(|event| event["annotations"].as_object()).flatten();
    let own = all.filter(|(key, _)| key.starts_with(&own));
    own.map(|(key, value)| (key.clone(), value.as_str().unwrap().to_owned())).collect()
}

impl Seen {
    /// The difference between both, without the messages of Go's decoder about invalid JSON and without line numbers.
    fn differs(&self, real: &Self) -> Option<String> {
        let mut real = real.clone();
        if let Some((words, _)) = real.message.split_once(" in scheme \"") {
            real.message = words.to_owned();
        }
        for decoder in ["json parse error: ", "undecodable patch in webhook response: invalid "] {
            let common = real.message.split_once(decoder).map(|(before, _)| before.len());
            if common.is_some_and(|length| self.message.get(..length) == real.message.get(..length)) {
                real.message.clone_from(&self.message);
            }
        }
        (*self != real).then(|| format!("\n  judge  {self:?}\n  server {real:?}"))
    }
}
