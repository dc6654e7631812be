//! A16: heads that two readers read differently, and heads that are too much. Each is refused and the connection closed, so
//! that the bytes behind it are no request.

use http::StatusCode;
use vestibule_server::CloseReason;

use crate::harness::{Client, allow, review, serve};

/// The request that is smuggled.
const SMUGGLED: &str = "GET /livez HTTP/1.1\r\nhost: a\r\n\r\n";

#[tokio::test]
async fn a16_heads_that_can_be_read_in_two_ways_are_refused() {
    let mut server = serve(allow()).await;
    for (what, fields) in [
        ("two lengths", "content-length: 5\r\ncontent-length: 6\r\n"),
        ("two lengths in one", "content-length: 5, 6\r\n"),
        ("a length with a sign", "content-length: +5\r\n"),
        ("a negative length", "content-length: -5\r\n"),
        ("a folded field", "x: a\r\n b\r\ncontent-length: 0\r\n"),
        ("a space before the colon", "content-length : 5\r\n"),
        ("an unknown encoding", "transfer-encoding: xchunked\r\n"),
        ("chunks that are not last", "transfer-encoding: chunked, identity\r\n"),
        ("a NUL", "x: \0\r\n"),
        ("a bare CR", "x: a\rcontent-length: 5\r\n"),
        ("a name with a space", "x y: a\r\n"),
    ] {
        let said = server.exchange(format!("POST /hook HTTP/1.1\r\nhost: a\r\n{fields}\r\n{SMUGGLED}")).await;
        assert!(said.starts_with("HTTP/1.1 400 "), "{what}: {said}");
        assert_eq!(said.matches("HTTP/1.1 ").count(), 1, "{what}: {said}");
        assert_eq!(server.closed().await, CloseReason::Malformed, "{what}");
    }
    for (what, head) in [
        (
            "chunks before HTTP/1.1",
            "POST /hook HTTP/1.0\r\nhost: a\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n",
        ),
        ("a target with a space", "POST /hook /livez HTTP/1.1\r\nhost: a\r\n\r\n"),
        ("no HTTP", "\u{16}\u{3}\u{1}\r\n\r\n"),
    ] {
        let said = server.exchange(format!("{head}{SMUGGLED}")).await;
        assert!(said.starts_with("HTTP/1.1 400 ") || said.starts_with("HTTP/1.0 400 "), "{what}: {said}");
        assert_eq!(server.closed().await, CloseReason::Malformed, "{what}");
    }
}

/// RFC 9112 6.3: chunks win over a length, and the connection ends with the answer.
#[tokio::test]
async fn a16_a_length_beside_chunks_ends_the_connection() {
    let server = serve(allow()).await;
    for fields in [
        "transfer-encoding: chunked\r\ncontent-length: 5\r\n",
        "content-length: 5\r\ntransfer-encoding: chunked\r\n",
    ] {
        let head = format!("POST /hook HTTP/1.1\r\nhost: a\r\n{fields}\r\n");
        let said = server.exchange(format!("{head}0\r\n\r\n{SMUGGLED}")).await;
        assert!(said.starts_with("HTTP/1.1 400 "), "{said}");
        assert!(said.contains("connection: close\r\n"), "{said}");
        assert_eq!(said.matches("HTTP/1.1 ").count(), 1, "{said}");
        let said = server.exchange(format!("{head}zz\r\n{SMUGGLED}")).await;
        assert!(said.starts_with("HTTP/1.1 400 "), "{said}");
        assert_eq!(said.matches("HTTP/1.1 ").count(), 1, "{said}");
    }
}

#[tokio::test]
async fn a16_heads_over_the_limits_are_refused() {
    let mut server = serve(allow()).await;
    let long = format!("x: {}\r\n", "a".repeat(1 << 20));
    let many: String = (0..10_000).map(|number| format!("x-{number}: a\r\n")).collect();
    let few: String = (0..200).map(|number| format!("x-{number}: a\r\n")).collect();
    for fields in [long, many, few] {
        let said = server.exchange(format!("POST /hook HTTP/1.1\r\nhost: a\r\n{fields}\r\n")).await;
        assert!(said.starts_with("HTTP/1.1 431 "), "{said}");
        assert_eq!(server.closed().await, CloseReason::Malformed);
    }
    let said = server.exchange(format!("POST /{} HTTP/1.1\r\nhost: a\r\n\r\n", "a".repeat(1 << 20))).await;
    assert!(said.starts_with("HTTP/1.1 414 ") || said.starts_with("HTTP/1.1 431 "), "{said}");
}

/// RFC 9112 3.2.2 has servers take it; the path is what counts.
#[tokio::test]
async fn a16_the_absolute_form_leads_to_no_other_hook() {
    let server = serve(allow()).await;
    let body = review("1");
    for (target, status) in [("https://elsewhere/hook", "200"), ("https://elsewhere/", "404"), ("*", "404")] {
        let head = format!(
            "POST {target} HTTP/1.1\r\nhost: a\r\nconnection: close\r\ncontent-length: {}\r\n\r\n",
            body.len()
        );
        let said = server.exchange(head + &body).await;
        assert!(said.starts_with(&format!("HTTP/1.1 {status} ")), "{target}: {said}");
    }
}

#[tokio::test]
async fn a16_http_2_and_upgrades_are_not_served() {
    let server = serve(allow()).await;
    let said = server.exchange("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n").await;
    assert!(!said.starts_with("HTTP/1.1 2"), "{said}");
    let mut client: Client = server.connect().await;
    let body = review("1");
    let request = http::Request::post("/hook").header("connection", "upgrade").header("upgrade", "h2c");
    let reply = client.send(request.body(http_body_util::Full::from(body)).unwrap()).await;
    assert_eq!(reply.status, StatusCode::OK);
}
