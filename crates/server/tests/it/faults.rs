//! Handlers that panic or never return, and idle connections at the end.

use std::panic::resume_unwind;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use http::StatusCode;
use vestibule_admission::Verdict;
use vestibule_server::Settings;

use crate::harness::{Do, HOOK, allow, review, serve, until};

#[tokio::test]
async fn f02_idle_connections_are_answered_whenever_they_are_used_again() {
    let server = serve(allow()).await;
    let mut idle = Vec::new();
    for _ in 0..25 {
        let mut client = server.connect().await;
        assert_eq!(client.review().await.status, StatusCode::OK);
        idle.push(client);
    }
    server.shutdown.drain();
    for mut client in idle {
        assert!(client.is_usable().await, "the server does not close it first");
        let reply = client.review().await;
        assert_eq!((reply.status, reply.header("connection")), (StatusCode::OK, "close"));
        assert!(!client.is_usable().await);
    }
    until(|| server.held("connections").0 == 0).await;
}

/// Reuse after 29.9 to 119 s is a case of `cargo xtask fire`.
#[test]
fn f04_connections_rest_longer_than_the_api_server_keeps_them() {
    assert!(Settings::default().idle_timeout >= Duration::from_secs(91));
    assert!(Settings::default().drain_timeout > Duration::from_secs(90));
}

#[tokio::test]
async fn f07_a_panic_fails_only_its_own_call() {
    let calls = Arc::new(AtomicUsize::new(0));
    let handler = Do(move || {
        let call = calls.fetch_add(1, Ordering::Relaxed);
        async move {
            if call.is_multiple_of(10) {
                // As a panic unwinds, without a thousand times what is printed of one.
                resume_unwind(Box::new("one in ten"));
            }
            Verdict::allowed()
        }
    });
    let server = serve(handler).await;
    let mut client = server.connect().await;
    for call in 0..10_000 {
        let expected = if call % 10 == 0 { StatusCode::INTERNAL_SERVER_ERROR } else { StatusCode::OK };
        let reply = client.review().await;
        assert_eq!(reply.status, expected);
        assert_eq!(reply.body.contains("panicked"), call % 10 == 0, "{}", reply.body);
    }
    assert_eq!((server.held("running").0, server.held("waiting").0), (0, 0));
}

#[tokio::test]
async fn f08_a_handler_that_never_returns_is_dropped_and_its_call_answered() {
    let server = serve(Do(|| async { std::future::pending().await })).await;
    let mut client = server.connect().await;
    let (all_of_its_time, in_time) = (Duration::from_millis(1750), Duration::from_millis(1800));
    let mut quickest = Duration::MAX;
    // A busy machine may miss the 50 ms between, but not each time.
    for _ in 0..10 {
        let began = tokio::time::Instant::now();
        let reply = client.post(&format!("{HOOK}?timeout=2s"), review("1")).await;
        quickest = quickest.min(began.elapsed());
        assert_eq!(reply.status, StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(server.held("running").0, 0);
        if quickest <= in_time {
            break;
        }
    }
    assert!(quickest >= all_of_its_time, "{quickest:?}");
    assert!(quickest <= in_time, "answered less than 200 ms before the caller gives up: {quickest:?}");
}
