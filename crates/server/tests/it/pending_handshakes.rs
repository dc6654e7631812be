//! Connections that send nothing, or one byte.

use std::time::Duration;

use http::StatusCode;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use vestibule_server::CloseReason;

use crate::harness::{serve_limited, until};

/// A06, in the small: `cargo xtask fire A06` has 5,000 of them.
#[tokio::test]
async fn a06_silent_connections_are_evicted_for_clients_that_send_bytes() {
    let mut server = serve_limited(|settings| settings.max_handshakes = 10).await;
    let mut silent = Vec::new();
    for _ in 0..30 {
        silent.push(TcpStream::connect(server.address).await.unwrap());
        let held = server.held("handshakes");
        assert!(held.0 <= 10, "{held:?}");
    }
    let mut client = server.connect().await;
    assert_eq!(client.review().await.status, StatusCode::OK);
    // The oldest ones were evicted.
    for connection in &mut silent[..20] {
        assert_eq!(connection.read(&mut [0]).await.unwrap(), 0);
        assert_eq!(server.closed().await, CloseReason::SlowHandshake);
    }
}

#[tokio::test]
async fn connections_that_stop_after_one_byte_are_evicted_too() {
    let mut server = serve_limited(
        // Only the crowd ends a handshake here.
        |settings| (settings.max_handshakes, settings.handshake_timeout) = (10, Duration::MAX),
    )
    .await;
    let mut begun = Vec::new();
    for _ in 0..30 {
        let mut connection = TcpStream::connect(server.address).await.unwrap();
        // How a record of a handshake begins (RFC 8446, 5.1).
        connection.write_all(&[22]).await.unwrap();
        begun.push(connection);
        let held = server.held("handshakes");
        assert!(held.0 <= 10, "{held:?}");
    }
    // One of them is evicted for a connection that completes its handshake.
    let mut client = server.connect().await;
    assert_eq!(client.review().await.status, StatusCode::OK);
    for _ in 0..21 {
        assert_eq!(server.closed().await, CloseReason::SlowHandshake);
    }
    until(|| server.held("connections").0 == 10).await;
    assert_eq!(server.held("handshakes").0, 9);
}
