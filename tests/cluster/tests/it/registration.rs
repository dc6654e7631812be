//! Webhook entries made from rules, on a real API server.

use std::fmt::Write as _;

use http::{Method, Request};
use kube::client::Body;
use serde_json::{Value, json};
use vestibule::App;
use vestibule_injector::{Namespaces, app, compile};

use crate::cluster::{Cluster, Namespace, Reply};
use crate::samples::{deployment, pod};

/// `count` rules, of which a few match pods of the application `web`.
fn rules(count: usize, namespace: &str, required: bool) -> App {
    let mut text = String::from(
        "{apiVersion: vestibule.dev/v1alpha1, kind: InjectorSettings, metadata: {name: s}, spec: {exemptions: \
         [{objectSelector: {matchLabels: {app: web, tier: exempt}}}, {users: ['system:nobody']}]}}\n",
    );
    for index in 0..count {
        let app = if index < 3 { "web" } else { "other" };
        let optional = if required { "" } else { "optIn: pod, " };
        writeln!(
            text,
            "---\n{{apiVersion: vestibule.dev/v1alpha1, kind: Injection, metadata: {{name: rule-{index}}}, spec: {{required: \
             {required}, {optional}match: {{namespaceSelector: {{matchLabels: {{kubernetes.io/metadata.name: {namespace}}}}}, objectSelector: {{matchLabels: {{app: {app}}}}}, hostNetwork: \
             skip}}, pod: {{annotations: {{example.com/added-{index}: x}}}}}}}}"
        )
        .unwrap();
    }
    let rules = compile([("rules.yaml", text.as_str())]).unwrap_or_else(|findings| panic!("{findings:?}"));
    app(rules, Namespaces::labelled([("a", "b")])).unwrap_or_else(|error| panic!("{error}"))
}

fn web() -> Value {
    let mut pod = pod("web", &[("app", "app:1")]);
    pod["metadata"]["labels"] = json!({"app": "web"});
    pod
}

#[tokio::test]
async fn a_thousand_rules_are_registered_and_inject() {
    let Some(cluster) = Cluster::shared().await else { return };
    let namespace = cluster.namespace(&[]).await;
    let webhook = cluster.serve(rules(1_000, namespace.name(), true)).await;
    let created = namespace.create(&web()).await.object();
    assert_eq!(created["metadata"]["annotations"]["example.com/added-2"], "x");
    let mut other = pod("other", &[("app", "app:1")]);
    other["metadata"]["annotations"] = json!({"vestibule.dev/inject": "false"});
    webhook.decisions.take();
    namespace.create(&other).await.object();
    assert_eq!(webhook.decisions.take(), [], "who declines is not asked about");
}

/// One entry for pods and workloads: its conditions read the labels of a pod, and of a workload those of its pod template.
#[tokio::test]
async fn an_entry_for_pods_and_workloads_reads_the_pod_template() {
    let Some(cluster) = Cluster::shared().await else { return };
    let namespace = cluster.namespace(&[]).await;
    let text = format!(
        "apiVersion: vestibule.dev/v1alpha1\nkind: Injection\nmetadata: {{name: both}}\nspec:\n  required: true\n  \
         targets: [pods, deployments, cronjobs]\n  match:\n    \
         namespaceSelector: {{matchLabels: {{kubernetes.io/metadata.name: {namespace}}}}}\n    \
         objectSelector: {{matchExpressions: [{{key: app, operator: In, values: [web, db]}}, {{key: quiet, operator: DoesNotExist}}]}}\n  \
         pod: {{annotations: {{example.com/added: x}}}}\n",
        namespace = namespace.name()
    );
    let rules = compile([("rules.yaml", text.as_str())]).unwrap_or_else(|findings| panic!("{findings:?}"));
    let webhook = cluster.serve(app(rules, Namespaces::unknown()).unwrap()).await;
    assert_eq!(namespace.create(&web()).await.object()["metadata"]["annotations"]["example.com/added"], "x");
    let of_template = |labels: Value| {
        let mut deployment = deployment("web", &[("app", "app:1")]);
        let wanted = json!({"app": "other"});
        deployment["metadata"]["labels"] = if labels == wanted { json!({"app": "web"}) } else { wanted };
        deployment["spec"]["selector"] = json!({"matchLabels": {"app": labels["app"]}});
        deployment["spec"]["template"]["metadata"] = json!({"labels": labels});
        deployment
    };
    let created = namespace.create_dry_run(&of_template(json!({"app": "web"}))).await.object();
    assert_eq!(created["spec"]["template"]["metadata"]["annotations"]["example.com/added"], "x");
    webhook.decisions.take();
    for left_alone in [
        json!({"app": "other"}),
        json!({"app": "web", "quiet": "yes"}),
        json!({"app": "web", "inject.vestibule.dev/both": "false"}),
    ] {
        namespace.create_dry_run(&of_template(left_alone)).await.object();
    }
    assert_eq!(webhook.decisions.take(), [], "the API server does not call");
}

/// A pod with many annotation keys, each of which is compared with the names of all rules.
#[tokio::test]
async fn a_pod_with_many_keys_is_injected() {
    let Some(cluster) = Cluster::shared().await else { return };
    let namespace = cluster.namespace(&[]).await;
    let webhook = cluster.serve(rules(120, namespace.name(), false)).await;
    namespace.create_dry_run(&web()).await.object();
    assert_eq!(webhook.decisions.take(), [], "the API server does not call");
    let mut asking = web();
    set(&mut asking, "annotations", 450, 316);
    asking["metadata"]["labels"]["vestibule.dev/inject"] = json!("rule-2");
    let created = namespace.create_dry_run(&asking).await.object();
    assert_eq!(created["metadata"]["annotations"]["example.com/added-2"], "x");
}

/// Without a replica, a matched object is refused; no object is refused because a match condition exceeds its cost limit.
#[tokio::test]
async fn match_conditions_evaluate_for_every_object() {
    // So many rules that the condition does not list their names.
    for count in [3, 1_000] {
        let Some(cluster) = Cluster::shared().await else { return };
        let namespace = cluster.namespace(&[]).await;
        let mut webhook = cluster.webhook().await;
        let registration = webhook.registration(&rules(count, namespace.name(), true));
        webhook.register(&cluster, &registration, |_| {}).await;
        assert_called(&namespace, &web()).await;
        // Of more than 500 keys, the condition reads only the number. The API server's own work for managed fields grows with its
        // square: 6 s for 80,000 keys.
        for (keys, length) in [(450, 316), (5_000, 40), (20_000, 3)] {
            for map in ["annotations", "labels"] {
                let mut hostile = web();
                set(&mut hostile, map, keys, length);
                assert_called(&namespace, &hostile).await;
                if keys < 500 {
                    hostile["metadata"]["labels"]["vestibule.dev/inject"] = json!("false");
                    assert_left_alone(&namespace, &hostile).await;
                }
            }
        }
        for left_alone in [
            json!({"metadata": {"labels": {"app": "web", "vestibule.dev/inject": "false"}}}),
            json!({"metadata": {"annotations": {"vestibule.dev/inject": "false"}}}),
            json!({"metadata": {"labels": {"app": "web", "tier": "exempt"}}}),
            json!({"spec": {"hostNetwork": true}}),
            json!({"spec": {"os": {"name": "windows"}}}),
            json!({"spec": {"nodeSelector": {"kubernetes.io/os": "windows"}}}),
        ] {
            let mut object = web();
            for (part, members) in left_alone.as_object().unwrap() {
                object[part].as_object_mut().unwrap().extend(members.as_object().unwrap().clone());
            }
            assert_left_alone(&namespace, &object).await;
        }
        let mut speaking = web();
        speaking["spec"]["hostNetwork"] = json!(true);
        speaking["metadata"]["annotations"] = json!({"vestibule.dev/inject": "maybe"});
        assert_called(&namespace, &speaking).await;
    }
}

/// Sets `keys` labels or annotations, of which only the last one decides the condition.
fn set(object: &mut Value, map: &str, keys: usize, length: usize) {
    let value = if length < 8 { "" } else { "false" };
    for number in 0..keys {
        object["metadata"][map][key(number, length)] = json!(value);
    }
    // One key may be this.
    object["metadata"]["labels"]["app"] = json!("web");
}

/// Vestibule's own keys are the most expensive, because they are compared with all names.
fn key(number: usize, length: usize) -> String {
    match length {
        3 => {
            let letter = |place: usize| {
                char::from(b"abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[place % 62])
            };
            [number, number / 62, number / 3_844].map(letter).iter().collect()
        }
        _ => {
            let name = format!("x{number}");
            // A prefix may have 253 characters, a name 63.
            let domain = format!("{}inject.vestibule.dev", "a.".repeat(length.saturating_sub(84) / 2));
            let width = length - domain.len() - 1;
            format!("{domain}/{name:x>width$}")
        }
    }
}

async fn assert_called(namespace: &Namespace, object: &Value) {
    let message = namespace.create_dry_run(object).await.refusal(500);
    assert!(message.contains("failed calling webhook"), "{}", &message[..message.len().min(1_000)]);
}

async fn assert_left_alone(namespace: &Namespace, object: &Value) {
    namespace.create_dry_run(object).await.object();
}

/// Checks the API server's limit, which our conditions stay far below.
#[tokio::test]
async fn the_longest_condition_has_a_hundred_thousand_characters() {
    let Some(cluster) = Cluster::shared().await else { return };
    let name = cluster.home.name();
    let apply = async |length: usize| {
        let expression = format!("'{}' == ''", "x".repeat(length - 8));
        assert_eq!(expression.len(), length);
        let configuration = json!({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": name},
            "webhooks": [{
                "name": "a.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
                "clientConfig": {"url": "https://127.0.0.1:1/"},
                "matchConditions": [{"name": "long", "expression": expression}]
            }]
        });
        let uri = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations?dryRun=All";
        let request =
            Request::builder().method(Method::POST).uri(uri).header("content-type", "application/json");
        let request = request.body(Body::from(configuration.to_string().into_bytes())).unwrap();
        Reply::read(cluster.client().send(request).await.unwrap()).await
    };
    apply(100_000).await.object();
    let message = apply(100_001).await.refusal(422);
    assert!(
        message.contains("expression code point size exceeds limit: size: 100001, limit 100000"),
        "{}",
        &message[message.len() - 500..]
    );
}
