//! Many callers at once, and callers that come too early.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use http::StatusCode;
use tokio::sync::Semaphore;
use tokio::task::JoinSet;
use tokio::time::Instant;
use vestibule_admission::{Hook, Verdict};

use crate::harness::{
    Client, Do, HOOK, TIMEOUT, allow, patient, review, serve_hook, serve_limited, serve_with, until,
};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_hundred_new_connections_at_once_are_all_served() {
    // However slow handlers are: a crowded machine is no overload here.
    let server = serve_limited(|settings| settings.latency_budget = Duration::MAX).await;
    let (address, config) = (server.address, server.client_config());
    let began = Instant::now();
    let mut calls = JoinSet::new();
    for _ in 0..300 {
        let config = config.clone();
        calls.spawn(async move { Client::connect(address, config).await.review().await.status });
    }
    let statuses = calls.join_all().await;
    assert!(statuses.iter().all(|status| *status == StatusCode::OK));
    // The goal is 3 s on two free cores; a crowded machine is no failure.
    assert!(began.elapsed() < Duration::from_secs(15));
}

#[tokio::test]
async fn a_call_beyond_the_queue_is_refused_at_once() {
    let go_on = Arc::new(Semaphore::new(0));
    let handler = {
        let go_on = Arc::clone(&go_on);
        Do(move || {
            let go_on = Arc::clone(&go_on);
            async move {
                go_on.acquire().await.unwrap().forget();
                Verdict::allowed()
            }
        })
    };
    let server = serve_hook(
        |settings| (settings.max_running, settings.max_waiting) = (2, 3),
        Hook::validating("hook", handler),
    )
    .await;
    // The second time shows that every place was given back.
    for _ in 0..2 {
        // Six callers for five places, one after the other.
        let mut calls = JoinSet::new();
        for already in 0..6 {
            until(|| server.held("running").0 + server.held("waiting").0 == already.min(5)).await;
            let mut client = server.connect().await;
            calls.spawn(async move { (client.review().await, client) });
        }
        let (reply, mut client) = calls.join_next().await.unwrap().unwrap();
        assert_eq!(reply.status, StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(reply.header("retry-after"), "1");
        // The connection can be used for a second try, and is refused as quickly: the goal is 100 ms, and a call that
        // waits for a permit would wait for ever here.
        let began = Instant::now();
        assert_eq!(client.review().await.status, StatusCode::TOO_MANY_REQUESTS);
        assert!(began.elapsed() < Duration::from_secs(10));

        go_on.add_permits(5);
        let admitted = calls.join_all().await;
        assert!(admitted.iter().all(|(reply, _)| reply.status == StatusCode::OK));
    }
}

#[tokio::test]
async fn a_deadline_that_passes_before_the_handler_is_free_is_not_the_handlers_fault() {
    let (handler, entered, go_on) = patient();
    let mut server = serve_hook(
        |settings| (settings.max_running, settings.max_waiting) = (1, 1),
        Hook::validating("hook", handler),
    )
    .await;
    let mut first = server.connect().await;
    let first = tokio::spawn(async move { first.review().await.status });
    entered.notified().await;

    let mut second = server.connect().await;
    // The second time shows that the place in the queue was given back.
    for _ in 0..2 {
        let reply = second.post("/hook?timeout=200ms", review("2")).await;
        assert_eq!(reply.status, StatusCode::TOO_MANY_REQUESTS);
        assert_eq!(reply.header("retry-after"), "1");
        assert_eq!(
            reply.body,
            "too many requests: timeout while waiting for a handler (context deadline exceeded); try again"
        );
        assert_eq!(server.event().await, "refused deadline_passed");
    }
    go_on.notify_one();
    assert_eq!(first.await.unwrap(), StatusCode::OK);
    assert_eq!(server.event().await, "hook 1 CREATE demo/web allowed");
}

/// One at a time, and each takes 5 ms at least: in two seconds no more than 400 get done, in 20 ms so few that the shortest
/// queue, of 8, counts.
#[tokio::test]
async fn the_queue_is_as_long_as_the_latency_budget_allows() {
    let handler = || {
        Do(|| async {
            std::thread::sleep(Duration::from_millis(5));
            Verdict::allowed()
        })
    };
    // With more than 100, a mean of 20 ms would do: handlers are late on a crowded machine.
    for (budget, expected) in [(2_000, 101..=400), (20, 8..=8)] {
        let server = serve_hook(
            |settings| {
                settings.max_computing = Some(1);
                settings.latency_budget = Duration::from_millis(budget);
            },
            Hook::validating("hook", handler()),
        )
        .await;
        let mut client = server.connect().await;
        assert_eq!(server.held("waiting").1, 512, "no handler has been measured yet");
        for _ in 0..50 {
            assert_eq!(client.review().await.status, StatusCode::OK);
        }
        let bound = server.held("waiting").1;
        assert!(expected.contains(&bound), "{bound} for {budget} ms");
    }
}

#[tokio::test]
async fn limits_can_be_out_of_reach() {
    let server = serve_with(
        |settings| {
            let (forever, number) = (Duration::MAX, usize::MAX);
            (settings.head_timeout, settings.body_timeout, settings.idle_timeout) =
                (forever, forever, forever);
            (settings.handshake_timeout, settings.drain_delay, settings.drain_timeout) =
                (forever, forever, forever);
            (settings.max_running, settings.max_waiting, settings.max_connections) = (number, number, number);
            (settings.max_body, settings.max_bodies) = (number, number);
        },
        |server| server.route(HOOK, Hook::validating("hook", allow()), Duration::MAX),
    )
    .await;
    assert_eq!(server.connect().await.review().await.status, StatusCode::OK);
    server.shutdown.stop();
    assert_eq!(server.ended.await.unwrap(), 0);
}

#[tokio::test]
async fn before_readiness_callers_are_asked_to_retry() {
    let ready = Arc::new(AtomicBool::new(false));
    let condition = Arc::clone(&ready);
    let mut server = serve_with(
        |_| {},
        |server| {
            let hook = Hook::validating("hook", allow());
            server
                .route(HOOK, hook, TIMEOUT)
                .hooks_ready_when("namespaces", move || (!condition.load(Ordering::SeqCst)).then(String::new))
        },
    )
    .await;
    let mut client = server.connect().await;
    let reply = client.review().await;
    assert_eq!(reply.status, StatusCode::SERVICE_UNAVAILABLE);
    assert_eq!(reply.header("retry-after"), "1");
    assert_eq!(reply.body, "not ready: namespaces");
    assert_eq!(server.event().await, "refused not_ready");
    // Asked again on the connection it keeps, a replica that never gets ready would hold the call until its deadline.
    assert_eq!(reply.header("connection"), "close");
    assert!(!client.is_usable().await);
    ready.store(true, Ordering::SeqCst);
    assert_eq!(server.connect().await.review().await.status, StatusCode::OK);
}
