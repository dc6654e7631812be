//! What is known about namespaces, and when.

use std::path::Path;
use std::time::Duration;

use vestibule_caller::{Outcome, Review};
use vestibule_injector::{ConnectError, Namespaces, app, compile};

use crate::cluster::FakeCluster;
use crate::road::{Road, pod};

const RULES: &str = "\
apiVersion: vestibule.dev/v1alpha1
kind: Injection
metadata: {name: team}
spec:
  match: {namespaces: {matchLabels: {team: blue}}}
  pod: {labels: {team: blue}}
";

async fn road(namespaces: Namespaces) -> Road {
    let rules = compile([("rules.yaml", RULES)]).unwrap_or_else(|findings| panic!("{findings:?}"));
    Road::to(app(rules, namespaces).unwrap_or_else(|error| panic!("{error}"))).await
}

async fn changed(road: &Road, namespace: &str) -> bool {
    let review = Review::create(pod(namespace)).build().unwrap();
    let Outcome::Allowed(allowed) = road.judged("best-effort", &review).await else { panic!("allowed") };
    allowed.patch.is_some()
}

/// A cluster whose namespaces have been read.
async fn watched() -> (FakeCluster, Road) {
    let cluster = FakeCluster::start().await;
    cluster.open();
    let namespaces = Namespaces::connect(Some(&cluster.kubeconfig())).await;
    let road = road(namespaces.unwrap_or_else(|error| panic!("{error}"))).await;
    becomes(&road, "listed", true).await;
    (cluster, road)
}

#[tokio::test]
async fn labels_by_hand_are_those_of_every_namespace() {
    assert!(changed(&road(Namespaces::labelled([("team", "blue")])).await, "any").await);
    assert!(!changed(&road(Namespaces::labelled([("team", "red")])).await, "any").await);
}

#[tokio::test]
async fn a_cluster_is_watched_and_asked_for_what_the_watch_has_not_seen() {
    let cluster = FakeCluster::start().await;
    let namespaces = Namespaces::connect(Some(&cluster.kubeconfig())).await;
    let road = road(namespaces.unwrap_or_else(|error| panic!("{error}"))).await;
    let before = road.readiness().await;
    assert!(before.starts_with("HTTP/1.1 503") && before.contains("namespaces"), "{before}");
    cluster.open();
    // Told to come again until the namespaces have been read, as the API server is.
    assert!(changed(&road, "listed").await);
    assert!(road.readiness().await.starts_with("HTTP/1.1 200"));
    assert!(changed(&road, "fresh").await);
    assert!(!changed(&road, "gone").await);
}

/// Names that would lead elsewhere, were they a part of a path: whoever reaches the port may send any.
#[tokio::test]
async fn of_what_is_no_name_of_a_namespace_nobody_is_asked() {
    let (_cluster, road) = watched().await;
    assert!(changed(&road, "fresh").await);
    for odd in ["fresh?x=y", "fresh#x", "x/../fresh", "..", "", &"x".repeat(1 << 20)] {
        assert!(!changed(&road, odd).await, "{odd:.20}");
    }
}

/// Asks again until the watch has told it.
async fn becomes(road: &Road, namespace: &str, expected: bool) {
    let told = async { while changed(road, namespace).await != expected {} };
    let told = tokio::time::timeout(Duration::from_secs(60), told).await;
    assert!(told.is_ok(), "{namespace} never became {expected}");
}

#[tokio::test]
async fn what_the_watch_tells_counts_from_then_on() {
    let (cluster, road) = watched().await;
    cluster.tell("MODIFIED", "listed", "red");
    becomes(&road, "listed", false).await;
    cluster.tell("MODIFIED", "listed", "blue");
    becomes(&road, "listed", true).await;
    cluster.tell("DELETED", "listed", "blue");
    becomes(&road, "listed", false).await;
    cluster.tell("ADDED", "added", "blue");
    becomes(&road, "added", true).await;
    cluster.forget();
    becomes(&road, "late", true).await;
    // It went while nobody watched.
    assert!(!changed(&road, "added").await);
}

/// Nor does a bookmark ever come here.
#[tokio::test]
async fn a_watch_that_is_cut_within_an_object_is_taken_up_again() {
    let (cluster, road) = watched().await;
    for _ in 0..2 {
        cluster.cut("listed");
        cluster.tell("ADDED", "added", "blue");
        becomes(&road, "added", true).await;
        assert!(changed(&road, "listed").await, "half of a change is none");
        cluster.tell("DELETED", "added", "blue");
        becomes(&road, "added", false).await;
    }
}

#[tokio::test]
async fn a_kubeconfig_that_cannot_be_used_is_named() {
    let error = Namespaces::connect(Some(Path::new("absent/config"))).await.err().unwrap();
    assert!(matches!(&error, ConnectError::Config(_)));
    assert!(error.to_string().starts_with("the kubeconfig absent/config cannot be used"), "{error}");
}
