//! Rules in ConfigMaps, over watches that end in different ways.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use futures_util::{StreamExt, stream};
use http::{Request, Response};
use http_body_util::{BodyStream, StreamBody};
use kube::Client;
use kube::client::Body;
use serde_json::{Value, json};
use vestibule_injector::{Configuration, Namespaces};

use crate::fixture::injector;

/// A ConfigMap with one rule.
fn config_map(rule: &str, version: u32) -> Value {
    let text = format!(
        "apiVersion: vestibule.dev/v1alpha1\nkind: Injection\nmetadata: {{name: {rule}}}\n\
         spec: {{match: {{objectSelector: {{matchLabels: {{app: web}}}}}}, pod: {{labels: {{a: b}}}}}}\n"
    );
    json!({
        "apiVersion": "v1", "kind": "ConfigMap", "data": {"rules.yaml": text},
        "metadata": {"name": "rules", "namespace": "injector", "uid": "u", "resourceVersion": version.to_string()},
    })
}

fn event(what: &str, object: &Value) -> String {
    // In the order of kube-apiserver.
    format!("{{\"type\":\"{what}\",\"object\":{object}}}\n")
}

/// For each watch: the resource version that it must start from, its events, and whether it ends after them.
fn script() -> Vec<(&'static str, String, bool)> {
    let lost = event("MODIFIED", &config_map("lost", 10));
    let bookmark = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"resourceVersion": "11"}});
    let gone =
        json!({"apiVersion": "v1", "kind": "Status", "status": "Failure", "reason": "Expired", "code": 410});
    vec![
        // No further event, and the connection stays open.
        ("7", event("MODIFIED", &config_map("second", 8)), false),
        ("8", event("MODIFIED", &config_map("third", 9)), true),
        // Half of an event is ignored.
        ("9", lost[..lost.len() / 2].to_owned(), true),
        // Without a bookmark the next watch starts from the same version, with a bookmark from its version.
        ("9", String::new(), true),
        ("9", event("BOOKMARK", &bookmark), true),
        // After 410 everything is listed again.
        ("11", event("ERROR", &gone), true),
        ("12", String::new(), false),
    ]
}

/// An API server with one ConfigMap, whose watches follow the script.
fn server() -> (Client, Arc<AtomicUsize>) {
    let (watched, listed) = (Arc::new(AtomicUsize::new(0)), AtomicUsize::new(0));
    let (count, script) = (Arc::clone(&watched), script());
    let service = tower::service_fn(move |request: Request<Body>| {
        let query = request.uri().query().unwrap_or_default().to_owned();
        let (status, said, ends) = if query.contains("watch=true") {
            let (from, said, ends) = &script[count.fetch_add(1, Ordering::SeqCst)];
            assert!(query.split('&').any(|part| part == format!("resourceVersion={from}")), "{query}");
            (200, said.clone(), *ends)
        } else if query.contains("labelSelector") {
            let (rule, version) = [("first", 7), ("fourth", 12)][listed.fetch_add(1, Ordering::SeqCst)];
            let list = json!({"apiVersion": "v1", "kind": "ConfigMapList", "items": [config_map(rule, version)],
                              "metadata": {"resourceVersion": version.to_string()}});
            (200, list.to_string(), true)
        } else {
            let absent = json!({"kind": "Status", "apiVersion": "v1", "status": "Failure", "reason": "NotFound", "code": 404});
            (404, absent.to_string(), true)
        };
        let said = BodyStream::new(Body::from(said.into_bytes()));
        let body = if ends { said.left_stream() } else { said.chain(stream::pending()).right_stream() };
        let answer = Response::builder().status(status).body(StreamBody::new(body)).unwrap();
        // Each answer takes longer than the time for which changes are collected.
        async {
            tokio::time::sleep(Duration::from_secs(1)).await;
            Ok::<_, Infallible>(answer)
        }
    });
    (Client::new(service, "injector"), watched)
}

#[tokio::test(start_paused = true)]
async fn rules_are_followed_over_watches_that_end_or_fail() {
    let (client, watched) = server();
    let mut configuration = Configuration::from_cluster(client, "injector");
    for (rule, watches) in [("first", 0), ("second", 1), ("third", 2), ("fourth", 6)] {
        let begun = tokio::time::Instant::now();
        let snapshot = configuration.changed().await;
        let names: Vec<_> = snapshot.rules().rules().iter().map(vestibule_rules::Rule::name).collect();
        assert_eq!(names, [rule], "{snapshot}");
        assert!(watched.load(Ordering::SeqCst) >= watches);
        assert!(begun.elapsed() < Duration::from_secs(62), "{rule}: {:?}", begun.elapsed());
    }
}

/// A watch that did not run was in no metric.
#[tokio::test]
async fn every_watch_of_rules_is_reported() {
    let (client, _) = server();
    let injector = injector(Configuration::from_cluster(client, "injector"), Namespaces::unknown()).await;
    let metrics = injector.page("/metrics").await;
    for kind in ["ConfigMap", "Injection", "InjectorSettings", "NamespacedInjection"] {
        let line = format!(r#"vestibule_watch_broken_seconds{{kind="{kind}"}} 0"#);
        assert!(metrics.contains(&line), "{line}: {metrics}");
    }
}
