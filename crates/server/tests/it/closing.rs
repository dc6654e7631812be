//! The reasons of closed connections, and the use of limits meanwhile.

use std::time::Duration;

use http::StatusCode;
use tokio::io::AsyncWriteExt;
use tokio::net::TcpStream;
use vestibule_server::CloseReason;

use crate::harness::{
    Authority, NAME, allow, client_config, handshake, patient, serve, serve_limited, until,
};

const MOMENT: Duration = Duration::from_millis(100);

#[tokio::test]
async fn a_connection_closed_by_the_client_is_no_error() {
    let mut server = serve(allow()).await;
    let mut client = server.connect().await;
    assert_eq!(client.review().await.status, StatusCode::OK);
    drop(client);
    assert_eq!(server.closed().await, CloseReason::Client);
    let mut stream = server.tls().await;
    stream.write_all(b"POST /hook HTTP/1.1\r\nhost").await.unwrap();
    drop(stream);
    assert_eq!(server.closed().await, CloseReason::Client);
}

#[tokio::test]
async fn each_timeout_has_a_close_reason_of_its_own() {
    let mut server = serve_limited(|settings| settings.handshake_timeout = MOMENT).await;
    let silent = TcpStream::connect(server.address).await.unwrap();
    assert_eq!(server.closed().await, CloseReason::SlowHandshake);
    drop(silent);

    let mut server = serve_limited(|settings| settings.idle_timeout = MOMENT).await;
    server.exchange("").await;
    assert_eq!(server.closed().await, CloseReason::Idle);

    let mut server = serve_limited(|settings| settings.head_timeout = MOMENT).await;
    server.exchange("POST /hook").await;
    assert_eq!(server.closed().await, CloseReason::SlowHead);

    let mut server = serve_limited(|settings| settings.body_timeout = MOMENT).await;
    server.exchange("POST /hook HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\n{").await;
    assert_eq!(server.closed().await, CloseReason::SlowBody);
}

#[tokio::test]
async fn a_connection_closed_by_an_answer_has_a_reason() {
    let mut server = serve_limited(|settings| settings.connection_age = Some(Duration::ZERO)).await;
    let mut client = server.connect().await;
    assert_eq!(client.review().await.status, StatusCode::OK);
    assert_eq!(server.closed().await, CloseReason::Age);

    let mut server = serve_limited(|settings| settings.max_body = 1).await;
    server.exchange("POST /hook HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\n").await;
    assert_eq!(server.closed().await, CloseReason::Refused);
    server.exchange("what\r\n\r\n").await;
    assert_eq!(server.closed().await, CloseReason::Malformed);
}

#[tokio::test]
async fn failed_and_slow_handshakes_have_different_close_reasons() {
    let mut server = serve(allow()).await;
    let unknown_ca = client_config(Authority::new().roots());
    assert!(handshake(server.address, unknown_ca, NAME).await.is_err());
    assert_eq!(server.closed().await, CloseReason::Handshake);
}

#[tokio::test]
async fn connections_that_a_drain_closes_have_its_reason() {
    let mut server = serve(allow()).await;
    let mut client = server.connect().await;
    server.shutdown.drain();
    assert_eq!(client.review().await.status, StatusCode::OK);
    assert_eq!(server.closed().await, CloseReason::Drain);

    let mut server = serve(allow()).await;
    let mut client = server.connect().await;
    assert_eq!(client.review().await.status, StatusCode::OK);
    server.shutdown.abort();
    assert_eq!(server.closed().await, CloseReason::Drain);
}

#[tokio::test]
async fn limits_in_use_are_counted_and_given_back() {
    let (handler, entered, go_on) = patient();
    let mut server = serve(handler).await;
    let silent = TcpStream::connect(server.address).await.unwrap();
    let mut client = server.connect().await;
    let call = tokio::spawn(async move { client.review().await.status });
    entered.notified().await;
    assert_eq!(server.held("connections"), (2, 4096));
    assert_eq!(server.held("handshakes").0, 1);
    assert_eq!(server.held("running").0, 1);
    assert!(server.held("body_bytes").0 > 0);
    until(|| server.held("computing").0 == 0).await;
    go_on.notify_one();
    assert_eq!(call.await.unwrap(), StatusCode::OK);
    drop(silent);
    let ended = [server.closed().await, server.closed().await];
    assert!(ended.contains(&CloseReason::Handshake) && ended.contains(&CloseReason::Client), "{ended:?}");
    for what in ["handshakes", "running", "computing", "waiting", "body_bytes"] {
        assert_eq!(server.held(what).0, 0, "{what}");
    }
}
