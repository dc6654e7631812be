//! Strangers that connect and say nothing.

use http::StatusCode;
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;
use vestibule_admission::Hook;
use vestibule_server::CloseReason;

use crate::harness::{HOOK, TIMEOUT, allow, serve_with};

/// A06, in the small: `cargo xtask fire A06` has 5,000 of them.
#[tokio::test]
async fn a06_silent_strangers_make_room_for_whoever_speaks() {
    let mut server = serve_with(
        |settings| settings.max_handshakes = 10,
        |server| server.route(HOOK, Hook::mutating("hook", allow()), TIMEOUT),
    )
    .await;
    let mut silent = Vec::new();
    for _ in 0..30 {
        silent.push(TcpStream::connect(server.address).await.unwrap());
        let held = server.held("handshakes");
        assert!(held.0 <= 10, "{held:?}");
    }
    let mut client = server.connect().await;
    assert_eq!(client.review().await.status, StatusCode::OK);
    // The oldest ones went.
    for stranger in &mut silent[..20] {
        assert_eq!(stranger.read(&mut [0]).await.unwrap(), 0);
        assert_eq!(server.closed().await, CloseReason::SlowHandshake);
    }
}
