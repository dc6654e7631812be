//! Rows 74 to 78: the drain and the end of the process.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::Full;
use tokio::io::AsyncReadExt;
use tokio::task::JoinSet;

use crate::client::{Broken, Client, secured, trust};
use crate::conversations::{pod, review};
use crate::process::Process;

/// Below the 30 s of the kubelet, above the duration on a busy machine.
const BOUND: Duration = Duration::from_secs(20);

/// The endpoints of a Service, among which new connections are distributed.
type Endpoints = Arc<Mutex<Vec<Arc<Process>>>>;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn row_74_replicas_that_drain_under_load_lose_no_call() {
    // A client that chose an endpoint before its removal has to connect within that time, also on a busy machine.
    const DELAY: Duration = Duration::from_secs(10);
    let start = || Arc::new(Process::start(&["--drain-delay", "10s"], &[]));
    let endpoints: Endpoints = Arc::new(Mutex::new(vec![start(), start()]));
    let (end, ended) = tokio::sync::watch::channel(false);
    let mut callers = JoinSet::new();
    for _ in 0..24 {
        callers.spawn(call(Arc::clone(&endpoints), ended.clone()));
    }
    let mut left = JoinSet::new();
    for _ in 0..5 {
        let leaving = Arc::clone(&endpoints.lock().unwrap()[0]);
        leaving.signal("-TERM");
        leaving.said("draining: SIGTERM");
        let began = Instant::now();
        // A balancer removes the endpoint after `/readyz` has failed, before the end of the delay.
        assert!(leaving.probe("/readyz").1.contains("draining"));
        endpoints.lock().unwrap().remove(0);
        let next = start();
        endpoints.lock().unwrap().push(next);
        left.spawn(async move {
            assert!(leaving.ended().await.success());
            assert!(began.elapsed() < DELAY + BOUND, "{:?}", began.elapsed());
        });
    }
    left.join_all().await;
    end.send(true).unwrap();
    let calls: usize = callers.join_all().await.iter().sum();
    assert!(calls > 240, "{calls} calls are too few");
}

/// Calls as kube-apiserver does: reuses its connection until it is closed, then opens a new one.
async fn call(endpoints: Endpoints, ended: tokio::sync::watch::Receiver<bool>) -> usize {
    let mut calls = 0;
    while !*ended.borrow() {
        let endpoint = {
            let endpoints = endpoints.lock().unwrap();
            Arc::clone(&endpoints[calls % endpoints.len()])
        };
        let mut client = Client::connect(&endpoint).await;
        while !*ended.borrow() {
            let body = Full::new(Bytes::copy_from_slice(review(pod()).build().unwrap().body()));
            match client.try_send(Request::post("/mutate/label").body(body).unwrap()).await {
                // On a busy machine the admission queue may be full: the call is retried.
                Ok(reply) if reply.status == StatusCode::TOO_MANY_REQUESTS => continue,
                Ok(reply) => assert_eq!(reply.status, StatusCode::OK, "{}", reply.body),
                Err(Broken::Unsent) => break,
                Err(Broken::Lost(error)) => panic!("call {calls} was lost: {error}"),
            }
            calls += 1;
        }
    }
    calls
}

#[tokio::test]
async fn rows_76_and_77_a_draining_server_answers_and_closes_connections() {
    let server = Arc::new(Process::start(&["--drain-delay", "30s"], &[]));
    let small = review(pod()).build().unwrap();
    let mut resting = Client::connect(&server).await;
    assert_eq!(resting.review("/mutate/same", &small).await.header("connection"), "");
    let mut slow = Client::connect(&server).await;
    let (held, body) = (Arc::clone(&server), small.clone());
    let slow = tokio::spawn(async move {
        let reply = slow.review("/mutate/slow?timeout=30s", &body).await;
        drop(held);
        reply
    });
    tokio::task::spawn_blocking({
        let server = Arc::clone(&server);
        move || server.said("slow begins")
    })
    .await
    .unwrap();

    server.signal("-TERM");
    server.said("draining: SIGTERM");
    let (status, body) = server.probe("/readyz");
    assert_eq!((&*status, &*body), ("HTTP/1.1 503 Service Unavailable", "not ready: draining"));
    assert_eq!(server.probe("/livez").0, "HTTP/1.1 200 OK");
    let mut new = Client::connect(&server).await;
    for client in [&mut resting, &mut new] {
        let reply = client.review("/mutate/label", &small).await;
        assert_eq!(
            (reply.response()["patchType"].as_str(), reply.header("connection")),
            (Some("JSONPatch"), "close")
        );
        assert!(!client.is_usable().await);
    }
    assert_eq!(
        Client::connect(&server).await.review("/mutate/release", &small).await.header("connection"),
        "close"
    );
    let reply = slow.await.unwrap();
    assert_eq!((reply.response()["allowed"].as_bool(), reply.header("connection")), (Some(true), "close"));
}

#[tokio::test]
async fn row_78_the_end_is_bounded_by_the_grace_and_by_a_second_signal() {
    let small = review(pod()).build().unwrap();
    let drained: (&[&str], &str, bool) = (&["--drain-delay", "0s", "--drain-timeout", "1s"], "-TERM", false);
    for (flags, signal, again) in [drained, (&[], "-TERM", true), (&[], "-INT", true)] {
        let server = Arc::new(Process::start(flags, &[]));
        let (mut client, body) = (Client::connect(&server).await, small.clone());
        let call = tokio::spawn(async move {
            let body = Full::new(Bytes::copy_from_slice(body.body()));
            client.try_send(Request::post("/mutate/slow?timeout=30s").body(body).unwrap()).await
        });
        let mut silent = secured(&server, &trust(&server)).await;
        let said = |words: &'static str| {
            let server = Arc::clone(&server);
            tokio::task::spawn_blocking(move || server.said(words))
        };
        said("slow begins").await.unwrap();
        let began = Instant::now();
        server.signal(signal);
        if again {
            said(if signal == "-TERM" { "draining: SIGTERM" } else { "stopping: SIGINT" }).await.unwrap();
            server.signal(signal);
        }
        assert!(server.ended().await.success());
        assert!(began.elapsed() < BOUND, "{:?}", began.elapsed());
        assert!(call.await.unwrap().is_err());
        assert_eq!(silent.read(&mut [0]).await.unwrap_or(0), 0);
    }
}
