//! Handlers that panic or are late, and callers that do not wait for them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use http::StatusCode;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::sync::{Notify, mpsc};
use vestibule_admission::{Handler, HandlerFuture, Hook, Request, Verdict};
use vestibule_server::{CertificateCell, CloseReason, Decided, Observer, Refusal, Server, Settings};

use crate::harness::{
    Authority, Client, Do, HOOK, TIMEOUT, allow, client_config, review, serve, serve_hook, serve_with,
};

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
    let mut quickest = Duration::MAX;
    // A busy machine may miss the short rest of the deadline, but not each time.
    for _ in 0..5 {
        let began = Instant::now();
        let reply = client.post("/hook?timeout=2s", review("1")).await;
        quickest = quickest.min(began.elapsed());
        assert_eq!(reply.status, StatusCode::INTERNAL_SERVER_ERROR);
        assert_eq!(
            reply.body,
            "timeout: hook hook gave no verdict within 1750 ms of the 2 s that the API server waits (context deadline exceeded)"
        );
        assert_eq!(server.event().await, "hook 1 CREATE demo/web fault");
        if quickest < Duration::from_secs(2) {
            break;
        }
    }
    assert!(quickest < Duration::from_secs(2), "the caller was gone before the answer: {quickest:?}");
    assert!(client.is_usable().await);
}

/// Regression: the connection was closed without an answer.
#[tokio::test]
async fn a_handler_that_panics_while_it_is_dropped_at_its_deadline_is_answered() {
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            panic!("dropped");
        }
    }
    let mut server = serve(Do(|| async {
        let _held = Panics;
        std::future::pending().await
    }))
    .await;
    let mut client = server.connect().await;
    let reply = client.post("/hook?timeout=1s", review("1")).await;
    assert_eq!(reply.status, StatusCode::INTERNAL_SERVER_ERROR);
    assert!(reply.body.contains("context deadline exceeded"), "{}", reply.body);
    assert_eq!(server.event().await, "hook 1 CREATE demo/web fault");
    assert!(client.is_usable().await);
}

#[tokio::test]
async fn the_hooks_own_timeout_counts_when_it_is_shorter() {
    let timeout = Duration::from_secs(1);
    let build =
        |server: Server| server.route(HOOK, Hook::validating("short", Do(std::future::pending)), timeout);
    let server = serve_with(|_| {}, build).await;
    let reply = server.connect().await.post("/hook?timeout=10s", review("1")).await;
    assert_eq!(
        reply.body,
        "timeout: hook short gave no verdict within 750 ms of the 1 s that the API server waits (context deadline exceeded)"
    );
}

#[tokio::test]
async fn the_time_a_body_takes_is_taken_from_the_handlers() {
    let (sender, mut deadlines) = mpsc::unbounded_channel();
    let server = serve(TellsDeadline(sender)).await;
    let mut stream = server.tls().await;
    let body = review("1");
    let head = "POST /hook?timeout=4s HTTP/1.1\r\nhost: a\r\nexpect: 100-continue\r\nconnection: close\r\n";
    let head = format!("{head}content-length: {}\r\n\r\n", body.len());
    stream.write_all(head.as_bytes()).await.unwrap();
    // Shows that the server has the head: its clock runs.
    let mut go_on = [0; 25];
    stream.read_exact(&mut go_on).await.unwrap();
    let delay = Duration::from_millis(300);
    let (begin, rest) = body.split_at(10);
    stream.write_all(begin.as_bytes()).await.unwrap();
    tokio::time::sleep(delay).await;
    let complete = Instant::now();
    stream.write_all(rest.as_bytes()).await.unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).await.unwrap();
    assert!(said.starts_with("HTTP/1.1 200 "), "{said}");
    let budget = deadlines.recv().await.unwrap().duration_since(complete);
    assert!(budget <= Duration::from_millis(3600) - delay, "{budget:?}");
}

struct TellsDeadline(mpsc::UnboundedSender<Instant>);

impl Handler for TellsDeadline {
    fn handle<'a>(&'a self, _request: &'a Request<'a>, deadline: Instant) -> HandlerFuture<'a> {
        self.0.send(deadline).unwrap();
        Box::pin(async { Verdict::allowed() })
    }
}

#[tokio::test]
async fn a_caller_that_closes_its_connection_frees_its_permit() {
    let entered = Arc::new(Notify::new());
    let handler = {
        let entered = Arc::clone(&entered);
        Do(move || {
            entered.notify_one();
            std::future::pending::<Verdict>()
        })
    };
    let mut server = serve_hook(
        |settings| (settings.max_running, settings.max_waiting) = (1, 0),
        Hook::validating("hook", handler),
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

/// A second panic, in the drop of a connection that unwound by the first, aborted the process once.
#[tokio::test]
async fn a_panic_of_an_observer_fails_no_call() {
    struct Panics;
    impl Observer for Panics {
        fn decided(&self, _: &Decided<'_>) {
            panic!("decided");
        }
        fn refused(&self, _: Refusal) {
            panic!("refused");
        }
        fn closed(&self, _: CloseReason) {
            panic!("closed");
        }
    }
    let mut settings = Settings::default();
    settings.listen = "127.0.0.1:0".parse().unwrap();
    let authority = Authority::new();
    let server = Server::new(settings, Arc::new(CertificateCell::new(authority.issue())))
        .route(HOOK, Hook::mutating("hook", allow()), TIMEOUT)
        .observer(Panics)
        .bind()
        .await
        .unwrap();
    let (address, shutdown) = (server.address(), server.shutdown());
    let ended = tokio::spawn(server.serve());
    let mut client = Client::connect(address, client_config(authority.roots())).await;
    for _ in 0..2 {
        assert_eq!(client.review().await.status, StatusCode::OK);
        assert_eq!(client.post("/nothing", review("1")).await.status, StatusCode::NOT_FOUND);
        client = Client::connect(address, client_config(authority.roots())).await;
    }
    shutdown.stop();
    assert_eq!(ended.await.unwrap(), 0);
}
