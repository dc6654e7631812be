//! Labels of namespaces: from a flag, from a watch, and from the API server.

use std::time::Duration;

use vestibule_caller::Review;
use vestibule_injector::Namespaces;

use crate::fake_cluster::FakeCluster;
use crate::fixture::{self, TestInjector, pod, rules};

const RULES: &str = "\
apiVersion: vestibule.dev/v1alpha1
kind: Injection
metadata: {name: team}
spec:
  match: {namespaceSelector: {matchLabels: {team: blue}}}
  pod: {labels: {team: blue}}
";

async fn injector(namespaces: Namespaces) -> TestInjector {
    fixture::injector(rules(RULES), namespaces).await
}

async fn changed(injector: &TestInjector, namespace: &str) -> bool {
    let review = Review::create(pod(namespace)).build().unwrap();
    let allowed = injector.allowed("best-effort", &review).await;
    allowed.patch.is_some()
}

/// A cluster whose namespaces have been read.
async fn watched() -> (FakeCluster, TestInjector) {
    let cluster = FakeCluster::start().await;
    cluster.open();
    let injector = injector(Namespaces::watched(cluster.client())).await;
    becomes(&injector, "listed", true).await;
    (cluster, injector)
}

#[tokio::test]
async fn labels_of_a_flag_hold_for_every_namespace() {
    assert!(changed(&injector(Namespaces::labelled([("team", "blue")])).await, "any").await);
    assert!(!changed(&injector(Namespaces::labelled([("team", "red")])).await, "any").await);
}

#[tokio::test]
async fn a_namespace_that_the_watch_has_not_reported_is_read_from_the_api_server() {
    let cluster = FakeCluster::start().await;
    let injector = injector(Namespaces::watched(cluster.client())).await;
    let before = injector.readiness().await;
    assert!(before.starts_with("HTTP/1.1 503") && before.contains("namespaces"), "{before}");
    cluster.open();
    // The caller repeats the call after 503, as the API server does.
    assert!(changed(&injector, "listed").await);
    assert!(injector.readiness().await.starts_with("HTTP/1.1 200"));
    assert!(changed(&injector, "fresh").await);
    assert!(!changed(&injector, "gone").await);
}

/// In the path of a request the name would address another object. A caller that reaches the port may send any name.
#[tokio::test]
async fn an_invalid_name_of_a_namespace_is_not_sent_to_the_api_server() {
    let (_cluster, injector) = watched().await;
    assert!(changed(&injector, "fresh").await);
    for odd in ["fresh?x=y", "fresh#x", "x/../fresh", "..", "", &"x".repeat(1 << 20)] {
        assert!(!changed(&injector, odd).await, "{odd:.20}");
    }
}

/// Calls until the watch has reported the change.
async fn becomes(injector: &TestInjector, namespace: &str, expected: bool) {
    let changed_by_watch = async { while changed(injector, namespace).await != expected {} };
    let in_time = tokio::time::timeout(Duration::from_secs(60), changed_by_watch).await;
    assert!(in_time.is_ok(), "{namespace} never became {expected}");
}

#[tokio::test]
async fn changes_that_the_watch_reports_are_used() {
    let (cluster, injector) = watched().await;
    cluster.send("MODIFIED", "listed", "red");
    becomes(&injector, "listed", false).await;
    cluster.send("MODIFIED", "listed", "blue");
    becomes(&injector, "listed", true).await;
    cluster.send("DELETED", "listed", "blue");
    becomes(&injector, "listed", false).await;
    cluster.send("ADDED", "added", "blue");
    becomes(&injector, "added", true).await;
    cluster.expire();
    becomes(&injector, "late", true).await;
    // It was deleted between two watches.
    assert!(!changed(&injector, "added").await);
}

#[tokio::test]
async fn a_watch_that_ends_within_an_object_continues() {
    let (cluster, injector) = watched().await;
    for _ in 0..2 {
        cluster.cut("listed");
        cluster.send("ADDED", "added", "blue");
        becomes(&injector, "added", true).await;
        assert!(changed(&injector, "listed").await, "half of a change is none");
        cluster.send("DELETED", "added", "blue");
        becomes(&injector, "added", false).await;
    }
}
