//! Rows 1 to 16: HTTP.

use std::time::Duration;

use bytes::Bytes;
use http::{Method, Request, StatusCode};
use http_body_util::Full;
use rustls::crypto::CryptoProvider;
use rustls::{HandshakeKind, NamedGroup};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use vestibule_caller::ReviewVersion;

use crate::client::{Client, secured, trust, trust_by};
use crate::conversations::{VERSIONS, pod, review};
use crate::process::{Process, shared};

const HEAD: &str = "POST /mutate/same HTTP/1.1\r\nhost: a\r\ncontent-type: application/json\r\n";

#[tokio::test]
async fn row_1_a_review_is_answered_with_a_review() {
    let mut client = Client::connect(shared()).await;
    for version in VERSIONS {
        let review = review(pod()).version(version).uid("7-f").build().unwrap();
        let reply = client.review("/mutate/same?timeout=10s", &review).await;
        assert_eq!((reply.status, reply.header("content-type")), (StatusCode::OK, "application/json"));
        let expected = serde_json::json!({
            "apiVersion": version.api_version(), "kind": "AdmissionReview", "response": {"uid": "7-f", "allowed": true},
        });
        assert_eq!(reply.json(), expected);
    }
}

#[tokio::test]
async fn row_3_other_methods_never_reach_the_handler() {
    // The handler panics, so a 500 would show that it ran.
    for method in [Method::GET, Method::PUT, Method::HEAD, Method::DELETE, Method::PATCH, Method::OPTIONS] {
        let body = Full::new(Bytes::copy_from_slice(review(pod()).build().unwrap().body()));
        let request = Request::builder().method(method).uri("/mutate/panic").body(body).unwrap();
        let reply = Client::connect(shared()).await.send(request).await;
        assert_eq!((reply.status, reply.header("allow")), (StatusCode::METHOD_NOT_ALLOWED, "POST"));
    }
}

#[tokio::test]
async fn row_4_an_unknown_path_gets_404_in_one_line_and_no_redirect() {
    for path in ["/", "/mutate/", "/mutate/same/", "//mutate/same", "/mutate/unknown", "/mutate/Same"] {
        let reply = Client::connect(shared()).await.review(path, &review(pod()).build().unwrap()).await;
        assert_eq!((reply.status, reply.header("location")), (StatusCode::NOT_FOUND, ""), "{path}");
        assert!(reply.is_short_text(), "{}", reply.body);
    }
}

#[tokio::test]
async fn a_hook_is_served_at_the_configured_path() {
    let server = Process::start(&[], &[("VESTIBULE_PATH", "same=/mutate,patch=/x/patch")]);
    let review = review(pod()).build().unwrap();
    for (path, status) in [
        ("/mutate", StatusCode::OK),
        ("/x/patch", StatusCode::OK),
        ("/mutate/same", StatusCode::NOT_FOUND),
        ("/mutate/panic", StatusCode::INTERNAL_SERVER_ERROR),
    ] {
        let reply = Client::connect(&server).await.review(path, &review).await;
        assert_eq!(reply.status, status, "{path}");
    }
}

#[tokio::test]
async fn row_6_only_json_is_accepted() {
    for (media_type, status) in [
        ("application/json", StatusCode::OK),
        ("application/json; charset=utf-8", StatusCode::OK),
        ("text/plain", StatusCode::UNSUPPORTED_MEDIA_TYPE),
        ("application/vnd.kubernetes.protobuf", StatusCode::UNSUPPORTED_MEDIA_TYPE),
    ] {
        let body = Full::new(Bytes::copy_from_slice(review(pod()).build().unwrap().body()));
        let request = Request::post("/mutate/same").header("content-type", media_type).body(body).unwrap();
        assert_eq!(Client::connect(shared()).await.send(request).await.status, status, "{media_type}");
    }
}

#[tokio::test]
async fn row_7_a_body_that_is_not_a_review_gets_400_and_the_connection_stays() {
    let mut client = Client::connect(shared()).await;
    let whole = review(pod()).build().unwrap();
    let half = &whole.body()[..whole.body().len() / 2];
    for body in [b"".as_slice(), half, b"[]", b"{}", b"null", b"\xff\xfe", b"\x00"] {
        let reply = client.post("/mutate/same", body.to_vec()).await;
        assert_eq!(reply.status, StatusCode::BAD_REQUEST, "{body:?}");
        assert!(reply.is_short_text(), "{}", reply.body);
        assert!(client.is_usable().await);
    }
}

#[tokio::test]
async fn row_9_a_body_over_the_limit_is_refused_before_it_is_read() {
    const LIMIT: u64 = 28 << 20;
    // A process of its own, because its memory is measured.
    let server = &Process::start(&[], &[]);
    let config = trust(server);
    let mut client = Client::trusting(server, &config).await;
    client.review("/mutate/same", &review(pod()).build().unwrap()).await;
    let before = server.peak_memory();

    for _ in 0..20 {
        // The body is never sent.
        let mut stream = secured(server, &config).await;
        stream.write_all(format!("{HEAD}content-length: {}\r\n\r\n", 1_u64 << 40).as_bytes()).await.unwrap();
        let mut said = String::new();
        stream.read_to_string(&mut said).await.unwrap();
        assert!(said.starts_with("HTTP/1.1 413 "), "{said}");
    }
    // A chunked body declares no length.
    let mut stream = secured(server, &config).await;
    stream.write_all(format!("{HEAD}transfer-encoding: chunked\r\n\r\n").as_bytes()).await.unwrap();
    let chunk = format!("{:x}\r\n{}\r\n", 1 << 20, " ".repeat(1 << 20));
    let (mut reading, mut writing) = tokio::io::split(stream);
    let send = async move {
        for _ in 0..64 {
            if writing.write_all(chunk.as_bytes()).await.is_err() {
                break;
            }
        }
    };
    let read = async {
        let mut said = [0; 13];
        reading.read_exact(&mut said).await.unwrap();
        assert_eq!(&said, b"HTTP/1.1 413 ");
    };
    tokio::select! {
        ((), ()) = async { tokio::join!(send, read) } => {}
        () = tokio::time::sleep(Duration::from_secs(60)) => panic!("no answer"),
    }
    let grown = server.peak_memory().saturating_sub(before);
    // The bytes up to the limit, in a buffer that grows by doubling.
    assert!(grown < 3 * LIMIT / 1024, "the process grew by {grown} KiB");
}

#[tokio::test]
async fn row_10_a_thousand_requests_fit_on_one_connection() {
    let mut client = Client::connect(shared()).await;
    for uid in 0..1000 {
        let review = review(pod()).uid(&uid.to_string()).build().unwrap();
        assert_eq!(client.review("/mutate/same", &review).await.response()["uid"], uid.to_string());
    }
}

/// 95 s: `cargo test -p contract -- --ignored`.
#[tokio::test]
#[ignore = "it waits for 95 s"]
async fn row_12_a_connection_that_was_idle_for_95_s_is_still_open() {
    let mut client = Client::connect(shared()).await;
    for rest in [Duration::from_secs(95), Duration::ZERO] {
        client.review("/mutate/same", &review(pod()).build().unwrap()).await.response();
        tokio::time::sleep(rest).await;
    }
}

#[tokio::test]
async fn row_22_a_post_quantum_hello_is_answered_without_a_retry() {
    use rustls::crypto::aws_lc_rs::kx_group::{SECP256R1, X25519, X25519MLKEM768};
    // As Go's: with both key shares, and curves without a share.
    let provider = CryptoProvider {
        kx_groups: vec![X25519MLKEM768, X25519, SECP256R1],
        ..rustls::crypto::aws_lc_rs::default_provider()
    };
    let stream = secured(shared(), &trust_by(shared(), provider)).await;
    let (_, connection) = stream.get_ref();
    assert_eq!(connection.handshake_kind(), Some(HandshakeKind::Full), "not with a HelloRetryRequest");
    let group = connection.negotiated_key_exchange_group().unwrap().name();
    assert_eq!(group, NamedGroup::X25519MLKEM768);
}

#[tokio::test]
async fn row_16_a_chunked_body_and_one_after_100_continue_are_served() {
    let config = trust(shared());
    for version in VERSIONS {
        let review = review(pod()).version(version).build().unwrap();
        let body = String::from_utf8(review.body().to_vec()).unwrap();
        let (one, two) = body.split_at(body.len() / 3);
        let chunks = [one, two, ""].map(|part| format!("{:x}\r\n{part}\r\n", part.len())).concat();
        let head = "transfer-encoding: chunked\r\nconnection: close\r\n\r\n";
        assert_answered(&exchange(&config, &[&format!("{HEAD}{head}{chunks}")]).await, version);

        let head =
            format!("expect: 100-continue\r\nconnection: close\r\ncontent-length: {}\r\n\r\n", body.len());
        assert_answered(&exchange(&config, &[&format!("{HEAD}{head}"), &body]).await, version);
    }
}

/// Sends each part after the answer to the one before, and returns the last answer.
async fn exchange(config: &std::sync::Arc<rustls::ClientConfig>, parts: &[&str]) -> String {
    const CONTINUE: &str = "HTTP/1.1 100 Continue\r\n\r\n";
    let mut stream = secured(shared(), config).await;
    let mut parts = parts.iter();
    stream.write_all(parts.next().unwrap().as_bytes()).await.unwrap();
    for part in parts {
        let mut said = vec![0; CONTINUE.len()];
        stream.read_exact(&mut said).await.unwrap();
        assert_eq!(said, CONTINUE.as_bytes());
        stream.write_all(part.as_bytes()).await.unwrap();
    }
    let mut said = String::new();
    stream.read_to_string(&mut said).await.unwrap();
    said
}

fn assert_answered(said: &str, version: ReviewVersion) {
    assert!(said.starts_with("HTTP/1.1 200 "), "{said}");
    assert!(said.contains(version.api_version()) && said.contains(r#""allowed":true"#), "{said}");
}
