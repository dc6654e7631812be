//! Tests of log lines, in a program of their own: tracing caches for the whole process whether a line is enabled, so other tests in
//! the process could disable them.
#![allow(clippy::unwrap_used, clippy::expect_used, clippy::panic, missing_docs, dead_code)]

#[path = "../it/fake_cluster.rs"]
mod fake_cluster;
#[path = "../it/served.rs"]
mod served;

use std::sync::LazyLock;
use std::time::{Duration, Instant};

use k8s_openapi::api::core::v1::{PersistentVolumeClaim, Pod};
use serde_json::json;
use tempfile::NamedTempFile;
use tracing_subscriber::filter::LevelFilter;
use vestibule::Operation::Create;
use vestibule::{App, Context, FailurePolicy, LookupError, Reject, Watch, on};
use vestibule_caller::{Hook, Outcome};

use fake_cluster::{FakeCluster, status};
use served::{Served, review, until};

const CLAIMS: &str = "/api/v1/namespaces/shop/persistentvolumeclaims";

/// The log of all tests of this program.
static LOG: LazyLock<NamedTempFile> = LazyLock::new(|| {
    let log = NamedTempFile::new().unwrap();
    let subscriber = tracing_subscriber::fmt().with_max_level(LevelFilter::TRACE).with_ansi(false);
    subscriber.with_writer(log.reopen().unwrap()).init();
    log
});

fn logged() -> String {
    std::fs::read_to_string(LOG.path()).unwrap()
}

#[tokio::test]
async fn not_even_trace_lines_hold_looked_up_objects() {
    LazyLock::force(&LOG);
    let cluster = FakeCluster::open();
    let (claim, odd) = (format!("{CLAIMS}/a"), format!("{CLAIMS}/odd"));
    cluster.put(&claim, json!({"metadata": {"labels": {"node": "one"}}, "spec": {"volumeName": "s3cret"}}));
    let misfit = json!({"metadata": {"annotations": {"note": "s3cret"}}, "spec": {"volumeName": ["s3cret"]}});
    cluster.put(&odd, misfit);
    let told = cluster.clone();
    let handler = move |pod: Pod, context: Context| {
        let (told, claim, odd) = (told.clone(), claim.clone(), odd.clone());
        async move {
            let claims = context.lookup::<PersistentVolumeClaim>();
            until(|| told.is_watched() && !matches!(claims.cached("a"), Err(LookupError::NotSynced { .. })))
                .await;
            told.tell("MODIFIED", &odd);
            told.tell("MODIFIED", &claim);
            assert!(claims.fresh("a").await?.is_some());
            assert!(claims.get("odd").await.is_err());
            Ok::<_, Reject>(pod)
        }
    };
    let app =
        App::new("demo").mutate("look", on::<Pod>([Create]).failure_policy(FailurePolicy::Fail), handler);
    let served = Served::beside(app.watch(Watch::<PersistentVolumeClaim>::new()), cluster.client()).await;
    let look = Hook::mutating("look", "/mutate/look").timeout(Duration::from_secs(30));
    assert!(matches!(served.outcome(&review(), &look).await, Outcome::Allowed(_)));
    served.stop().await;
    let log = logged();
    assert!(log.contains("does not fit its type") && log.contains("TRACE"), "{log}");
    assert!(!log.contains("s3cret"), "{log}");
}

/// Regression: the second failure was not logged, because only the watch had been answered between the two.
#[tokio::test]
async fn a_failure_after_a_recovery_is_logged_again() {
    LazyLock::force(&LOG);
    let (cluster, words) = (FakeCluster::open(), "claims are out today");
    let app = App::new("demo").mutate(
        "look",
        on::<Pod>([Create]).failure_policy(FailurePolicy::Fail),
        async |pod: Pod, _: Context| Ok::<_, Reject>(pod),
    );
    let served = Served::beside(app.watch(Watch::<PersistentVolumeClaim>::new()), cluster.client()).await;
    for times in 1..=2 {
        until(|| cluster.is_watched()).await;
        cluster.refuse(Some(status(403, "Forbidden", words)));
        cluster.cut_watches();
        until(|| {
            let log = logged();
            log.lines().filter(|line| line.contains("cannot be watched") && line.contains(words)).count()
                == times
        })
        .await;
        cluster.refuse(None);
    }
    served.stop().await;
}

/// One line a second, with the number of suppressed ones.
#[tokio::test]
async fn refused_connections_are_logged_at_a_limited_rate() {
    LazyLock::force(&LOG);
    let app = App::new("demo").mutate(
        "look",
        on::<Pod>([Create]).failure_policy(FailurePolicy::Fail),
        async |pod: Pod, _: Context| Ok::<_, Reject>(pod),
    );
    let served = Served::start(app).await;
    let (nowhere, began) = (Hook::mutating("look", "/nowhere"), Instant::now());
    for _ in 0..50 {
        assert!(matches!(served.outcome(&review(), &nowhere).await, Outcome::Failed(_)));
    }
    served.stop().await;
    let lines = logged().lines().filter(|line| line.contains(": refused reason=")).count() as u64;
    assert!((1..=1 + began.elapsed().as_secs()).contains(&lines), "{lines} lines");
}
