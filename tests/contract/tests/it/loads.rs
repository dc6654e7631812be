//! Rows 11, 15 and 80: many callers, and callers that disconnect.

use std::sync::Arc;
use std::time::{Duration, Instant};

use http::StatusCode;
use serde_json::json;
use tokio::io::AsyncWriteExt;
use tokio::task::JoinSet;
use vestibule_caller::{Hook, Review};

use crate::client::{Client, secured, trust};
use crate::conversations::{allowed, annotated, pod, review};
use crate::process::{Process, shared};

/// The goal is 3 s on two free cores; other tests use them too.
const SOON: Duration = Duration::from_secs(30);

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn row_11_three_hundred_new_connections_at_once_are_all_served() {
    let (server, config) = (shared(), trust(shared()));
    let began = Instant::now();
    let mut calls = JoinSet::new();
    for _ in 0..300 {
        let (config, review) = (Arc::clone(&config), review(pod()).build().unwrap());
        calls.spawn(async move {
            let mut client = Client::trusting(server, &config).await;
            loop {
                // A refused call is retried: handlers may be slow on a busy machine.
                let status = client.review("/mutate/same", &review).await.status;
                if status != StatusCode::TOO_MANY_REQUESTS {
                    break status;
                }
            }
        });
    }
    assert!(calls.join_all().await.iter().all(|status| *status == StatusCode::OK));
    assert!(began.elapsed() < SOON, "{:?}", began.elapsed());
}

/// Object and old object at the size limit of etcd. On a server of its own, because handlers compute one at a time and
/// other tests would wait.
#[tokio::test]
async fn an_update_of_three_mebibytes_by_three_is_served() {
    let object = |filler: &str| annotated(json!({ "fill": filler.repeat(3 << 20) }));
    let update = Review::update(object("a"), object("b")).namespace("demo").build().unwrap();
    assert!(update.body().len() > 6 << 20);
    let outcome = Process::start(&[], &[]).outcome(&update, &Hook::mutating("same", "/mutate/same")).await;
    assert_eq!(allowed(outcome).patch, None);
}

#[tokio::test]
async fn row_15_a_caller_that_disconnects_cancels_its_handler() {
    let server = Process::start(&[], &[]);
    let mut stream = secured(&server, &trust(&server)).await;
    let review = review(pod()).build().unwrap();
    let head = format!(
        "POST /mutate/slow?timeout=30s HTTP/1.1\r\nhost: a\r\ncontent-length: {}\r\n\r\n",
        review.body().len()
    );
    stream.write_all(&[head.as_bytes(), review.body()].concat()).await.unwrap();
    server.said("slow begins");
    drop(stream);
    server.said("slow is cancelled");
    server.said("the caller went away");
    // The metric is updated after the log line.
    server.counted(r#"vestibule_admission_undecided_total{webhook="slow",reason="abandoned"}"#, 1.0).await;
    assert_eq!(server.metric(r#"vestibule_admission_requests_total{webhook="slow""#), 0.0);
    let reply = Client::connect(&server).await.review("/mutate/same", &review).await;
    assert_eq!(reply.status, StatusCode::OK);
    assert!(!server.log().contains(r#""message":"panic""#), "{}", server.log());
}

/// 512 calls run, 512 wait, and further calls are refused at once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn row_80_calls_beyond_the_admission_queue_are_refused_at_once() {
    const PLACES: usize = 512 + 512;
    let server: &'static Process = Box::leak(Box::new(Process::start(&[], &[])));
    let config = trust(server);
    let mut clients = Vec::new();
    // In batches: beyond 1024 pending handshakes the oldest is closed, and each has ten seconds.
    while clients.len() < PLACES + 20 {
        let mut connecting = JoinSet::new();
        for _ in 0..(PLACES + 20) / 9 {
            let config = Arc::clone(&config);
            connecting.spawn(async move { Client::trusting(server, &config).await });
        }
        clients.extend(connecting.join_all().await);
    }

    let review = review(pod()).build().unwrap();
    let mut calls = JoinSet::new();
    // In batches: a handler waits in the queue until it gets its first CPU permit.
    for (what, held) in [("running", 256.0), ("running", 512.0), ("waiting", 256.0), ("waiting", 512.0)] {
        for mut client in clients.drain(..256) {
            let review = review.clone();
            calls.spawn(async move { client.review("/mutate/slow?timeout=30s", &review).await.status });
        }
        server.counted(&format!(r#"vestibule_server_held{{what="{what}"}}"#), held).await;
    }
    // With a full queue and no other work, the refusal is immediate.
    let mut quickest = Duration::MAX;
    for client in &mut clients {
        let began = Instant::now();
        let reply = client.review("/mutate/slow?timeout=30s", &review).await;
        assert_eq!((reply.status, reply.header("retry-after")), (StatusCode::TOO_MANY_REQUESTS, "1"));
        quickest = quickest.min(began.elapsed());
    }
    assert!(quickest < Duration::from_millis(100), "{quickest:?}");
    assert_eq!(calls.len(), PLACES);
    assert_eq!(server.probe("/livez").0, "HTTP/1.1 200 OK");
    calls.abort_all();
    server.signal("-KILL");
}
