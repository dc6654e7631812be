//! The limits of heads and bodies, and clients that are slow.

use std::sync::{Mutex, mpsc};
use std::time::Duration;

use http::StatusCode;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, timeout};
use vestibule_admission::{Handler, Hook, Verdict};
use vestibule_server::{CloseReason, Server, Settings};

use crate::harness::{
    Do, HOOK, Running, TIMEOUT, allow, patient, review, serve, serve_hook, serve_limited, serve_with, until,
};

/// Far beyond the limits that are set here, for a crowded machine.
const SOON: Duration = Duration::from_secs(9);
const HEAD: &str = "POST /hook HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n";

/// A server with two hooks: the usual hook, which allows everything, and a hook at `/large` with this handler.
async fn serve_with_large(change: impl FnOnce(&mut Settings), handler: impl Handler) -> Running {
    let build = |server: Server| {
        let server = server.route("/large", Hook::validating("large", handler), TIMEOUT);
        server.route(HOOK, Hook::validating("hook", allow()), TIMEOUT)
    };
    serve_with(change, build).await
}

/// Sends all bytes first, and then reads the server's output until the server closes the connection. `Running::exchange` reads while
/// it sends.
async fn exchange(server: &Running, bytes: &str) -> String {
    let mut stream = server.tls().await;
    stream.write_all(bytes.as_bytes()).await.unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).await.unwrap();
    said
}

#[tokio::test]
async fn a_declared_length_over_the_limit_is_refused_before_the_body_arrives() {
    let mut server = serve_limited(|settings| settings.max_body = 1000).await;
    let said = exchange(&server, &format!("{HEAD}content-length: 1001\r\n\r\n")).await;
    assert!(said.starts_with("HTTP/1.1 413 "), "{said}");
    assert!(said.contains("connection: close\r\n"), "{said}");
    assert!(said.ends_with("request body too large: the limit is 1000 bytes"), "{said}");
    assert_eq!(server.event().await, "refused too_large");
}

#[tokio::test]
async fn a_client_that_sends_its_whole_body_first_reads_the_refusal() {
    let server = serve_limited(|settings| settings.max_body = 1000).await;
    let body = " ".repeat(4 << 20);
    let said = exchange(&server, &format!("{HEAD}content-length: {}\r\n\r\n{body}", body.len())).await;
    assert!(said.starts_with("HTTP/1.1 413 "), "{said}");
}

#[tokio::test]
async fn a_chunked_body_is_counted() {
    let server = serve_limited(|settings| settings.max_body = 1000).await;
    let body = review("1");
    let chunk = |text: &str| format!("{:x}\r\n{text}\r\n", text.len());
    let small = chunk(&body[..10]) + &chunk(&body[10..]) + "0\r\n\r\n";
    let head = format!("{HEAD}connection: close\r\ntransfer-encoding: chunked\r\n\r\n");
    let said = exchange(&server, &(head.clone() + &small)).await;
    assert!(said.starts_with("HTTP/1.1 200 "), "{said}");
    let large = chunk(&" ".repeat(600)).repeat(2);
    let said = exchange(&server, &(head + &large)).await;
    assert!(said.starts_with("HTTP/1.1 413 "), "{said}");
}

#[tokio::test]
async fn an_expect_header_is_answered_with_100_continue() {
    let server = serve(allow()).await;
    let body = review("1");
    let mut stream = server.tls().await;
    let head =
        format!("{HEAD}expect: 100-continue\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
    stream.write_all(head.as_bytes()).await.unwrap();
    let mut go_on = [0; 25];
    stream.read_exact(&mut go_on).await.unwrap();
    assert_eq!(&go_on, b"HTTP/1.1 100 Continue\r\n\r\n");
    stream.write_all(body.as_bytes()).await.unwrap();
    let mut said = String::new();
    stream.read_to_string(&mut said).await.unwrap();
    assert!(said.starts_with("HTTP/1.1 200 "), "{said}");
}

#[tokio::test]
async fn a_body_that_stalls_is_refused() {
    let mut server = serve_limited(|settings| settings.body_timeout = Duration::from_millis(100)).await;
    let said = exchange(&server, &format!("{HEAD}content-length: 100\r\n\r\n{{")).await;
    assert!(said.starts_with("HTTP/1.1 408 "), "{said}");
    assert_eq!(server.event().await, "refused slow_body");
}

#[tokio::test]
async fn a_head_that_stalls_closes_the_connection_before_the_idle_timeout() {
    let server = serve_limited(|settings| {
        (settings.head_timeout, settings.idle_timeout) = (Duration::from_millis(100), Duration::MAX);
    })
    .await;
    assert_eq!(timeout(SOON, exchange(&server, "POST /hook HTT")).await.unwrap(), "");
}

#[tokio::test]
async fn an_idle_connection_is_closed_at_its_timeout() {
    let rest = Duration::from_millis(500);
    let server = serve_limited(|settings| {
        (settings.head_timeout, settings.body_timeout, settings.idle_timeout) =
            (Duration::MAX, Duration::MAX, rest);
    })
    .await;
    let began = Instant::now();
    assert_eq!(timeout(SOON, exchange(&server, "")).await.unwrap(), "");
    assert!(began.elapsed() >= rest);
    let body = review("1");
    let request = format!("{HEAD}content-length: {}\r\n\r\n{body}", body.len());
    let began = Instant::now();
    let said = timeout(SOON, exchange(&server, &request)).await.unwrap();
    assert!(said.starts_with("HTTP/1.1 200 "), "{said}");
    assert!(began.elapsed() >= rest);
}

#[tokio::test]
async fn a_connection_may_be_idle_longer_than_the_head_timeout() {
    let server = serve_limited(|settings| settings.head_timeout = Duration::from_millis(50)).await;
    let mut client = server.connect().await;
    for _ in 0..3 {
        assert_eq!(client.review().await.status, StatusCode::OK);
        // A pause, during which nothing may happen.
        tokio::time::sleep(Duration::from_millis(120)).await;
    }
    assert!(client.is_usable().await);
}

#[tokio::test]
async fn a_head_has_a_limit() {
    let server = serve_limited(|_| {}).await;
    let said = exchange(&server, &format!("{HEAD}x: {}", "a".repeat(70_000))).await;
    assert!(said.starts_with("HTTP/1.1 431 "), "{said}");
}

#[tokio::test]
async fn a_body_waits_for_memory_until_half_of_its_timeout() {
    let (handler, entered, go_on) = patient();
    let mut server =
        serve_hook(|settings| settings.max_bodies = review("1").len(), Hook::validating("hook", handler))
            .await;
    // Its body keeps its memory until the decision.
    let mut first = server.connect().await;
    let first = tokio::spawn(async move { first.review().await.status });
    entered.notified().await;
    let mut second = server.connect().await;
    let began = Instant::now();
    let reply = second.post("/hook?timeout=400ms", review("2")).await;
    assert_eq!(reply.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(reply.header("retry-after"), "1");
    assert!(began.elapsed() >= Duration::from_millis(180));
    assert_eq!(server.event().await, "refused bytes_in_flight");

    // A body that waits gets the memory that another one gives back.
    let mut third = server.connect().await;
    let third = tokio::spawn(async move { third.review().await.status });
    go_on.notify_one();
    assert_eq!(first.await.unwrap(), StatusCode::OK);
    entered.notified().await;
    go_on.notify_one();
    assert_eq!(third.await.unwrap(), StatusCode::OK);
}

#[tokio::test]
async fn a_slow_body_is_refused_while_others_wait_for_memory() {
    let body = review("1");
    let mut server = serve_limited(|settings| settings.max_bodies = body.len()).await;
    let begun = format!("{HEAD}content-length: {}\r\n\r\n{{", body.len());
    let waits = async {
        until(|| server.held("body_bytes").0 > 0).await;
        server.connect().await.review().await
    };
    let (said, reply) = tokio::join!(exchange(&server, &begun), waits);
    assert!(said.starts_with("HTTP/1.1 408 "), "{said}");
    assert!(said.ends_with("the request body came too slowly while other requests waited"), "{said}");
    assert_eq!(reply.status, StatusCode::OK);
    assert_eq!(server.event().await, "refused slow_body");
    assert_eq!(server.event().await, "hook 1 CREATE demo/web allowed");
}

#[tokio::test]
async fn small_bodies_do_not_wait_for_large_ones() {
    const ROOM: usize = 1 << 20;
    let (handler, entered, go_on) = patient();
    let server = serve_with_large(|settings| settings.max_bodies = ROOM, handler).await;
    let mut large = server.connect().await;
    let body = review("1") + &" ".repeat(ROOM);
    let large = tokio::spawn(async move { large.post("/large", body).await.status });
    entered.notified().await;
    // It needs more than all the memory, and passes alone.
    assert_eq!(server.held("body_bytes"), ((ROOM - ROOM / 8) as u64, ROOM as u64));
    assert_eq!(server.connect().await.review().await.status, StatusCode::OK);
    let mut second = server.connect().await;
    let reply = second.post("/hook?timeout=100ms", review("2") + &" ".repeat(100_000)).await;
    assert_eq!(reply.status, StatusCode::TOO_MANY_REQUESTS);
    go_on.notify_one();
    assert_eq!(large.await.unwrap(), StatusCode::OK);
    assert_eq!(server.held("body_bytes").0, 0);
}

#[tokio::test]
async fn large_bodies_are_processed_one_by_one_and_small_ones_beside_them() {
    const LARGE: usize = 1 << 20;
    let (handler, entered, go_on) = patient();
    let mut server = serve_with_large(
        |settings| (settings.max_body, settings.max_running, settings.max_waiting) = (2 * LARGE, 1, 1),
        handler,
    )
    .await;
    let large = |uid| review(uid) + &" ".repeat(LARGE);
    let mut first = server.connect().await;
    let first = tokio::spawn(async move { first.post("/large", large("1")).await.status });
    entered.notified().await;
    let mut second = server.connect().await;
    let reply = second.post("/hook?timeout=200ms", large("2")).await;
    assert_eq!(reply.status, StatusCode::TOO_MANY_REQUESTS);
    assert_eq!(reply.body, "too many requests: timeout while other large requests were worked on; try again");
    assert_eq!(server.event().await, "refused deadline_passed");
    assert_eq!(second.post(HOOK, review("3")).await.status, StatusCode::OK);
    go_on.notify_one();
    assert_eq!(first.await.unwrap(), StatusCode::OK);
    assert_eq!(second.post(HOOK, large("4")).await.status, StatusCode::OK);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn small_calls_do_not_wait_for_a_large_one_that_computes() {
    let (enter, entered) = mpsc::channel();
    let (go_on, told) = mpsc::channel();
    let told = Mutex::new(told);
    // It blocks its thread, as decoding and comparing does.
    let handler = Do(move || {
        enter.send(()).unwrap();
        let told = told.lock().unwrap().recv_timeout(SOON);
        async move { told.map_or_else(|_| Verdict::not_ready("small calls"), |()| Verdict::allowed()) }
    });
    let server = serve_with_large(|_| {}, handler).await;
    let mut large = server.connect().await;
    let body = review("1") + &" ".repeat(1 << 20);
    let large = tokio::spawn(async move { large.post("/large", body).await.body });
    spawn_blocking(move || entered.recv()).await.unwrap().unwrap();
    for _ in 0..3 {
        assert_eq!(server.connect().await.review().await.status, StatusCode::OK);
    }
    go_on.send(()).unwrap();
    let answer = large.await.unwrap();
    assert!(answer.contains(r#""allowed":true"#), "{answer}");
}

#[tokio::test]
async fn memory_that_a_body_does_not_need_is_given_back() {
    let (handler, entered, go_on) = patient();
    let server = serve(handler).await;
    let body = review("1");
    let head = format!("{HEAD}connection: close\r\ntransfer-encoding: chunked\r\n\r\n");
    let bytes = format!("{head}{:x}\r\n{body}\r\n0\r\n\r\n", body.len());
    let look = async {
        entered.notified().await;
        let held = server.held("body_bytes").0;
        go_on.notify_one();
        held
    };
    let (said, held) = tokio::join!(exchange(&server, &bytes), look);
    assert!(said.starts_with("HTTP/1.1 200 "), "{said}");
    assert_eq!(held, body.len() as u64);
    assert_eq!(server.held("body_bytes").0, 0);
}

#[tokio::test]
async fn an_answer_that_is_not_read_keeps_its_memory_until_the_connection_is_closed() {
    const LENGTH: usize = 12 << 20;
    let mut server = serve_limited(|settings| {
        (settings.head_timeout, settings.body_timeout) = (Duration::from_millis(500), Duration::from_secs(2));
    })
    .await;
    let body = review(&"x".repeat(LENGTH));
    let mut stream = server.tls().await;
    let request = format!("{HEAD}content-length: {}\r\n\r\n{body}", body.len());
    stream.write_all(request.as_bytes()).await.unwrap();
    stream.flush().await.unwrap();
    server.event().await;
    until(|| server.held("body_bytes").0 < 2 * LENGTH as u64).await;
    assert!(server.held("body_bytes").0 > LENGTH as u64);
    assert_eq!(timeout(SOON, server.closed()).await.unwrap(), CloseReason::SlowRead);
    assert_eq!(server.held("body_bytes").0, 0);
}

#[tokio::test]
async fn memory_of_bodies_is_given_back() {
    let server = serve_limited(|settings| settings.max_bodies = review("1").len()).await;
    let mut client = server.connect().await;
    for _ in 0..100 {
        assert_eq!(client.review().await.status, StatusCode::OK);
    }
}
