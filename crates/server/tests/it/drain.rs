//! The end of a server: draining, stopping and aborting, with calls meanwhile.

use std::time::Duration;

use http::{Method, StatusCode};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio::time::Instant;
use vestibule_admission::Hook;
use vestibule_server::Settings;

use crate::harness::{
    Client, HOOK, NAME, Running, allow, patient, review, secure, serve, serve_hook, serve_limited,
};

#[tokio::test]
async fn a_draining_server_answers_with_connection_close_and_waits_for_clients() {
    let server = serve_limited(|settings| settings.drain_delay = Duration::ZERO).await;
    let mut client = server.connect().await;
    let mut idle = server.connect().await;
    let mut probe = Client::over(TcpStream::connect(server.probes.unwrap()).await.unwrap()).await;
    assert_eq!(client.review().await.header("connection"), "");
    assert_eq!(idle.review().await.status, StatusCode::OK);

    server.shutdown.drain();
    let ready = probe.method(Method::GET, "/readyz").await;
    assert_eq!((ready.status, ready.body.as_str()), (StatusCode::SERVICE_UNAVAILABLE, "not ready: draining"));
    let reply = client.review().await;
    assert_eq!(reply.status, StatusCode::OK);
    assert_eq!(reply.header("connection"), "close");
    assert!(!client.is_usable().await);
    // The client closes an idle connection; a request before that is still answered.
    assert!(!server.ended.is_finished());
    assert_eq!(idle.review().await.header("connection"), "close");
    assert_eq!(server.ended.await.unwrap(), 0);
}

#[tokio::test]
async fn a_draining_server_still_accepts_until_the_delay_is_over() {
    let server = serve_limited(|settings| settings.drain_delay = Duration::from_secs(60)).await;
    server.shutdown.drain();
    let reply = server.connect().await.review().await;
    assert_eq!((reply.status, reply.header("connection")), (StatusCode::OK, "close"));
    server.shutdown.stop();
    assert_eq!(server.ended.await.unwrap(), 0);
    assert!(TcpStream::connect(server.address).await.is_err());
}

/// On one thread: while it is blocked here, clients dial, the delay ends, and the server learns of both at once.
#[tokio::test]
async fn connections_before_the_end_of_the_drain_delay_are_accepted() {
    let delay = Duration::from_millis(5);
    for _ in 0..10 {
        let server = serve_limited(|settings| settings.drain_delay = delay).await;
        server.shutdown.drain();
        // The server's turn to begin its delay.
        tokio::task::yield_now().await;
        let dialled: Vec<_> = (0..3).map(|_| std::net::TcpStream::connect(server.address).unwrap()).collect();
        std::thread::sleep(delay * 2);
        for stream in dialled {
            assert_is_accepted(stream, &server).await;
        }
        assert_eq!(server.ended.await.unwrap(), 0);
        assert!(TcpStream::connect(server.address).await.is_err());
    }
}

/// On one thread: the runtime has seen that the delay is over, and has not yet asked for events of the listener.
#[tokio::test]
async fn connections_that_wait_when_the_listener_is_closed_are_accepted() {
    let delay = Duration::from_millis(5);
    let server = serve_limited(|settings| settings.drain_delay = delay).await;
    server.shutdown.drain();
    // The server's turn to begin its delay.
    tokio::task::yield_now().await;
    std::thread::sleep(delay * 2);
    // The runtime wakes the server, and polls this test before it.
    tokio::task::yield_now().await;
    let stream = std::net::TcpStream::connect(server.address).unwrap();
    assert_is_accepted(stream, &server).await;
    assert_eq!(server.ended.await.unwrap(), 0);
}

/// A call on a connection that the draining server may not have accepted yet.
async fn assert_is_accepted(dialled: std::net::TcpStream, server: &Running) {
    dialled.set_nonblocking(true).unwrap();
    let stream = TcpStream::from_std(dialled).unwrap();
    let stream = secure(stream, server.client_config(), NAME).await.unwrap();
    let reply = Client::over(stream).await.review().await;
    assert_eq!((reply.status, reply.header("connection")), (StatusCode::OK, "close"));
}

#[tokio::test]
async fn requests_that_run_when_the_drain_begins_are_answered() {
    for begin in [vestibule_server::Shutdown::drain, vestibule_server::Shutdown::stop] {
        let (handler, entered, go_on) = patient();
        let server =
            serve_hook(|settings| settings.drain_delay = Duration::ZERO, Hook::mutating("hook", handler))
                .await;
        let mut client = server.connect().await;
        let call = tokio::spawn(async move { client.review().await });
        entered.notified().await;
        begin(&server.shutdown);
        go_on.notify_one();
        let reply = call.await.unwrap();
        assert_eq!((reply.status, reply.header("connection")), (StatusCode::OK, "close"));
        assert_eq!(server.ended.await.unwrap(), 0);
    }
}

#[tokio::test]
async fn stopping_closes_idle_connections_at_once() {
    let server = serve(allow()).await;
    let mut fresh = server.tls().await;
    let mut used = server.connect().await;
    assert_eq!(used.review().await.status, StatusCode::OK);
    server.shutdown.stop();
    assert_eq!(fresh.read(&mut [0]).await.unwrap(), 0);
    // No connection was left: neither cut off nor waited for.
    assert_eq!(server.ended.await.unwrap(), 0);
}

/// On one thread: the runtime has not yet asked for the request when the server closes idle connections.
#[tokio::test]
async fn requests_that_have_arrived_when_idle_connections_are_closed_are_answered() {
    let body = review("1");
    let head = format!("POST {HOOK} HTTP/1.1\r\nhost: {NAME}\r\ncontent-type: application/json\r\n");
    let request = format!("{head}content-length: {}\r\n\r\n{body}", body.len());
    for requests_before in [0, 1] {
        let server = serve(allow()).await;
        // Without a request before, the server has not yet read the end of the handshake.
        let stream = TcpStream::connect(server.address).await.unwrap();
        // Go's clients set it too: a request arrives although the bytes before it are not yet acknowledged.
        stream.set_nodelay(true).unwrap();
        let mut client = secure(stream, server.client_config(), NAME).await.unwrap();
        for _ in 0..requests_before {
            client.write_all(request.as_bytes()).await.unwrap();
            let mut answer = [0; 4096];
            let length = client.read(&mut answer).await.unwrap();
            assert!(answer[..length].starts_with(b"HTTP/1.1 200"));
        }
        client.write_all(request.as_bytes()).await.unwrap();
        server.shutdown.stop();
        let mut answer = String::new();
        client.read_to_string(&mut answer).await.unwrap();
        assert!(
            answer.starts_with("HTTP/1.1 200") && answer.contains("connection: close"),
            "{requests_before}: {answer:?}"
        );
        assert_eq!(server.ended.await.unwrap(), 0);
    }
}

#[tokio::test]
async fn stopping_waits_for_no_handshake() {
    let server = serve(allow()).await;
    let mut silent = TcpStream::connect(server.address).await.unwrap();
    // Connections are accepted in order.
    assert_eq!(server.connect().await.review().await.status, StatusCode::OK);
    let began = Instant::now();
    server.shutdown.stop();
    assert_eq!(silent.read(&mut [0]).await.unwrap(), 0);
    assert_eq!(server.ended.await.unwrap(), 0);
    assert!(began.elapsed() < Settings::default().handshake_timeout / 2);
}

#[tokio::test]
async fn a_drain_ends_with_open_connections() {
    let (handler, entered, _go_on) = patient();
    let change = |settings: &mut Settings| {
        (settings.drain_delay, settings.drain_timeout) = (Duration::ZERO, Duration::from_secs(1));
    };
    let server = serve_hook(change, Hook::mutating("hook", handler)).await;
    let mut client = server.connect().await;
    let mut idle = server.tls().await;
    let call = tokio::spawn(async move { client.review().await.status });
    entered.notified().await;
    server.shutdown.drain();
    // An idle connection is closed before, and is not among the connections that are cut off.
    assert_eq!(idle.read(&mut [0]).await.unwrap(), 0);
    assert_eq!(server.ended.await.unwrap(), 1);
    assert!(call.await.is_err(), "the call was cut off");
}

/// The client of such a connection may have sent its first request already, so the server must not close the connection as idle.
#[tokio::test]
async fn a_connection_whose_handshake_ends_after_idle_ones_are_closed_gets_its_answer() {
    let change = |settings: &mut Settings| {
        (settings.drain_delay, settings.drain_timeout) = (Duration::ZERO, Duration::from_secs(3));
    };
    let server = serve_limited(change).await;
    let late = TcpStream::connect(server.address).await.unwrap();
    // Connections are accepted in order.
    let mut idle = server.tls().await;
    server.shutdown.drain();
    assert_eq!(idle.read(&mut [0]).await.unwrap(), 0);
    let late = secure(late, server.client_config(), NAME).await.unwrap();
    // Longer than the server waits for bytes that have arrived.
    tokio::time::sleep(Duration::from_millis(50)).await;
    let reply = Client::over(late).await.review().await;
    assert_eq!((reply.status, reply.header("connection")), (StatusCode::OK, "close"));
    assert_eq!(server.ended.await.unwrap(), 0);
}

#[tokio::test]
async fn aborting_closes_all_connections_at_once() {
    let (handler, entered, _go_on) = patient();
    let server = serve(handler).await;
    let mut client = server.connect().await;
    tokio::spawn(async move { client.review().await.status });
    entered.notified().await;
    server.shutdown.drain();
    server.shutdown.stop();
    server.shutdown.abort();
    assert!(server.shutdown.has_begun());
    assert_eq!(server.ended.await.unwrap(), 1);
}

/// Callers as kube-apiserver: a connection is used again unless the answer said otherwise, a failed call stays failed.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_drain_under_load_loses_no_call() {
    let peer = serve(allow()).await;
    for _ in 0..5 {
        let server = serve_limited(|settings| settings.drain_delay = Duration::from_millis(300)).await;
        let addresses = [(server.address, server.client_config()), (peer.address, peer.client_config())];
        let mut callers = JoinSet::new();
        let (warm, mut warmed) = tokio::sync::mpsc::unbounded_channel();
        for _ in 0..8 {
            let ([(old, old_config), (new, new_config)], shutdown) =
                (addresses.clone(), server.shutdown.clone());
            let warm = warm.clone();
            callers.spawn(async move {
                let mut client = Client::connect(old, old_config).await;
                loop {
                    let reply = client.review().await;
                    assert_eq!(reply.status, StatusCode::OK);
                    warm.send(()).unwrap();
                    if reply.header("connection") == "close" {
                        assert!(shutdown.has_begun());
                        break;
                    }
                }
                assert_eq!(Client::connect(new, new_config).await.review().await.status, StatusCode::OK);
            });
        }
        for _ in 0..100 {
            warmed.recv().await.unwrap();
        }
        server.shutdown.drain();
        callers.join_all().await;
        assert_eq!(server.ended.await.unwrap(), 0);
    }
}

/// A server dropped in a `select!` still answered 200 on its probe port once.
#[tokio::test]
async fn a_server_whose_future_is_dropped_closes_both_ports() {
    async fn is_refused(address: std::net::SocketAddr) {
        while TcpStream::connect(address).await.is_ok() {
            tokio::task::yield_now().await;
        }
    }
    let mut server = serve(allow()).await;
    let (address, probes) = (server.address, server.probes.unwrap());
    let mut client = server.connect().await;
    assert_eq!(client.review().await.status, StatusCode::OK);
    let mut probe = Client::over(TcpStream::connect(probes).await.unwrap()).await;
    assert_eq!(probe.method(Method::GET, "/readyz").await.status, StatusCode::OK);

    server.ended.abort();
    let gone = async {
        is_refused(address).await;
        is_refused(probes).await;
        assert_eq!(server.closed().await, vestibule_server::CloseReason::Drain);
    };
    tokio::time::timeout(Duration::from_secs(60), gone).await.expect("a port still answers");
    let get = http::Request::get("/readyz").body(http_body_util::Full::default()).unwrap();
    assert!(probe.try_send(get).await.is_err(), "its connection is open");
}
