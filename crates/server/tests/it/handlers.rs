//! Handlers that panic or are late, and callers that do not wait for them.

use std::sync::Arc;
use std::time::Duration;

use http::StatusCode;
use tokio::sync::Notify;
use tokio::time::Instant;
use vestibule_admission::{Hook, Verdict};

use crate::harness::{Do, HOOK, TIMEOUT, review, serve, serve_with};

#[tokio::test]
async fn a_panic_is_a_fault_and_the_connection_survives() {
    let mut server = serve(Do(|| async { panic!("secret of the object") })).await;
    let mut client = server.connect().await;
    for _ in 0..2 {
        let reply = client.review().await;
        assert_eq!(reply.status, StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(reply.body, "the handler of hook panicked");
        assert_eq!(server.event().await, "hook 1 CREATE demo/web fault");
    }
}

#[tokio::test]
async fn no_verdict_before_the_callers_deadline_is_a_fault() {
    let mut server = serve(Do(std::future::pending)).await;
    let mut client = server.connect().await;
    let began = Instant::now();
    let reply = client.post("/hook?timeout=2s", review("1")).await;
    assert!(began.elapsed() < Duration::from_secs(2), "the caller was gone before the answer");
    assert_eq!(reply.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert_eq!(reply.body, "hook reached no verdict within 1800 ms");
    assert_eq!(server.event().await, "hook 1 CREATE demo/web fault");
    assert!(client.is_usable().await);
}

#[tokio::test]
async fn the_hooks_own_timeout_counts_when_it_is_shorter() {
    let timeout = Duration::from_millis(200);
    let build = |server: vestibule_server::Server| {
        server.route(HOOK, Hook::validating("short", Do(std::future::pending)), timeout)
    };
    let server = serve_with(|_| {}, build).await;
    let reply = server.connect().await.post("/hook?timeout=10s", review("1")).await;
    assert_eq!(reply.body, "short reached no verdict within 180 ms");
}

#[tokio::test]
async fn a_caller_that_goes_away_frees_its_place() {
    let entered = Arc::new(Notify::new());
    let handler = {
        let entered = Arc::clone(&entered);
        Do(move || {
            entered.notify_one();
            std::future::pending::<Verdict>()
        })
    };
    let mut server = serve_with(
        |settings| (settings.max_running, settings.max_waiting) = (1, 0),
        |server| server.route(HOOK, Hook::validating("hook", handler), TIMEOUT),
    )
    .await;
    for _ in 0..3 {
        let mut client = server.connect().await;
        let call = tokio::spawn(async move { drop(client.review().await) });
        entered.notified().await;
        call.abort();
        assert!(call.await.unwrap_err().is_cancelled());
        assert_eq!(server.event().await, "abandoned hook");
    }
}
