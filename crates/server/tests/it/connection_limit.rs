//! The connection limit, and one connection more.

use std::time::Duration;

use http::StatusCode;
use tokio::time::timeout;
use vestibule_server::CloseReason;

use crate::harness::{Client, HOOK, Running, serve_limited};

/// Far below the idle timeout.
const SOON: Duration = Duration::from_secs(30);

async fn with_two_places() -> Running {
    serve_limited(|settings| settings.max_connections = 2).await
}

async fn asked(server: &Running) -> Client {
    let mut client = server.connect().await;
    assert_eq!(client.review().await.status, StatusCode::OK);
    client
}

#[tokio::test]
async fn a_connection_beyond_the_limit_is_served_when_one_closes() {
    let server = with_two_places().await;
    let (first, mut second) = (asked(&server).await, asked(&server).await);
    assert_eq!(server.held("connections"), (2, 2));
    let mut third = Box::pin(asked(&server));
    // The second goes on meanwhile, and the third is not let in however often it looks.
    for _ in 0..20 {
        assert!(timeout(Duration::ZERO, &mut third).await.is_err());
        assert_eq!(second.review().await.status, StatusCode::OK);
        assert_eq!(server.held("connections"), (2, 2));
    }
    drop(first);
    timeout(SOON, third).await.expect("there is a place now");
}

/// API servers open connections ahead, as Go's transport does: an unused one stays open unless the limit is reached.
#[tokio::test]
async fn unused_connections_are_evicted_when_the_limit_is_reached() {
    let mut server = with_two_places().await;
    let mut unused = vec![server.tls().await, server.tls().await];
    let mut known = timeout(SOON, asked(&server)).await.expect("an unused connection was evicted");
    assert_eq!(server.closed().await, CloseReason::Idle);
    unused.push(timeout(SOON, server.tls()).await.expect("the oldest unused connection was evicted"));
    assert_eq!(server.closed().await, CloseReason::Idle);
    assert_eq!(known.review().await.status, StatusCode::OK, "a connection with a request is not evicted");
}

#[tokio::test]
async fn a_field_more_than_there_may_be_is_refused() {
    let server = serve_limited(|settings| settings.max_headers = 10).await;
    for (fields, status) in [(10, "400"), (11, "431")] {
        let head: String = (3..=fields).map(|number| format!("x-{number}: a\r\n")).collect();
        let said = server
            .exchange(format!("POST {HOOK} HTTP/1.1\r\nhost: a\r\nconnection: close\r\n{head}\r\n"))
            .await;
        assert!(said.starts_with(&format!("HTTP/1.1 {status} ")), "{fields} fields: {said}");
    }
}
