//! Another injector before this one, and after it.

use serde_json::{Value, json};
use vestibule_testenv::{Answer, Recorder};

use super::{Cluster, names, pod};

/// The audit annotations about each call for a pod: round, configuration, and whether the object was changed.
fn calls(cluster: &Cluster, namespace: &str) -> Vec<(String, String, bool)> {
    const NOTED: &str = "mutation.webhook.admission.k8s.io/";
    let log = cluster.injector.environment.audit_log().unwrap();
    let events = log.iter().filter(|event| {
        event["objectRef"]["namespace"] == namespace && event["objectRef"]["resource"] == "pods"
    });
    let mut calls = Vec::new();
    for (key, value) in events.filter_map(|event| event["annotations"].as_object()).flatten() {
        let Some(round) = key.strip_prefix(NOTED) else { continue };
        let noted: Value = serde_json::from_str(value.as_str().unwrap()).unwrap();
        let configuration = noted["configuration"].as_str().unwrap().to_owned();
        calls.push((round.to_owned(), configuration, noted["mutated"] == true));
    }
    calls.sort();
    calls
}

/// An injector that puts an init container `theirs` in front of all others, once.
async fn other_injector(
    cluster: &Cluster,
    namespace: &str,
    name: &str,
) -> (Recorder, vestibule_testenv::Installed) {
    let environment = &cluster.injector.environment;
    let recorder = Recorder::start(&[], |seen| {
        let spec = &seen.review()["request"]["object"]["spec"];
        let theirs = json!({"name": "theirs", "image": "theirs"});
        match &spec["initContainers"] {
            Value::Array(list) if list.iter().any(|one| one["name"] == "theirs") => Answer::Allow,
            Value::Array(_) => {
                Answer::Patch(json!([{"op": "add", "path": "/spec/initContainers/0", "value": theirs}]))
            }
            _ => Answer::Patch(json!([{"op": "add", "path": "/spec/initContainers", "value": [theirs]}])),
        }
    })
    .unwrap();
    let configuration = json!({
        "apiVersion": "admissionregistration.k8s.io/v1",
        "kind": "MutatingWebhookConfiguration",
        "metadata": {"name": name},
        "webhooks": [{
            "name": "theirs.example.dev",
            "clientConfig": {"url": recorder.url("/"), "caBundle": recorder.ca_bundle()},
            "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "resources": ["pods"], "operations": ["CREATE"]}],
            "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
            "reinvocationPolicy": "IfNeeded",
            "sideEffects": "None",
            "admissionReviewVersions": ["v1"],
        }],
    });
    let installed = environment.install([configuration]).await.unwrap();
    (recorder, installed)
}

#[tokio::test]
async fn an_injector_before_ours_changes_nothing_about_it() {
    let Some(cluster) = Cluster::shared().await else { return };
    let namespace = cluster.namespace(&[("injection", "enabled")]).await;
    let _other = other_injector(&cluster, &namespace, "a-before-ours").await;

    let made = cluster.create(&namespace, &pod("web")).await.object();
    assert_eq!(names(&made["spec"]["initContainers"]), ["envoy", "theirs"]);
    let ours: Vec<_> = calls(&cluster, &namespace);
    let ours: Vec<_> = ours.iter().filter(|(_, name, _)| name == "injector").collect();
    assert!(ours[0].0.starts_with("round_0") && ours.iter().filter(|call| call.2).count() == 1, "{ours:?}");
}

#[tokio::test]
async fn an_injector_after_ours_brings_a_second_call_that_changes_nothing() {
    let Some(cluster) = Cluster::shared().await else { return };
    let namespace = cluster.namespace(&[("injection", "enabled")]).await;
    let (other, _installed) = other_injector(&cluster, &namespace, "z-after-ours").await;
    other.take();

    let reply = cluster.create(&namespace, &pod("web")).await;
    let violated: Vec<_> = reply.warnings.iter().filter(|said| said.contains("anchor_violated")).collect();
    assert_eq!(violated.len(), 1, "{:?}", reply.warnings);
    let made = reply.object();
    assert_eq!(names(&made["spec"]["initContainers"]), ["theirs", "envoy"], "no other container moves");
    let seen = other.recorded();
    assert_eq!(names(&seen[0].review()["request"]["object"]["spec"]["initContainers"]), ["envoy"]);

    let calls = calls(&cluster, &namespace);
    let ours: Vec<_> = calls.iter().filter(|(_, name, _)| name == "injector").collect();
    let mutated = |round: &str| ours.iter().any(|(at, _, mutated)| at.starts_with(round) && *mutated);
    assert!(mutated("round_0") && !mutated("round_1"), "{ours:?}");
    assert!(ours.iter().any(|(at, _, _)| at.starts_with("round_1")), "there was no second call: {ours:?}");
}
