//! Readiness as the kubelet asks for it.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::balancer::{Replica, Replicas};

/// Asks `readiness` again and again, and lets `replicas` know what becomes of `replica`.
pub(super) async fn watch(readiness: SocketAddr, replica: Replica, replicas: Arc<Replicas>) {
    const PERIOD: Duration = Duration::from_millis(50);
    const PATIENCE: Duration = Duration::from_secs(1);
    let mut known = false;
    loop {
        // No answer is no news: on a busy machine a healthy replica may take its time.
        if let Ok(asked) = timeout(PATIENCE, is_ready(readiness)).await {
            let ready = asked.unwrap_or(false);
            if ready != known {
                known = ready;
                replicas.route(&replica, ready);
            }
        }
        sleep(PERIOD).await;
    }
}

async fn is_ready(address: SocketAddr) -> io::Result<bool> {
    let mut stream = TcpStream::connect(address).await?;
    let request = format!("GET /readyz HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\n\r\n");
    stream.write_all(request.as_bytes()).await?;
    let mut status = [0; "HTTP/1.1 200".len()];
    stream.read_exact(&mut status).await?;
    Ok(status.ends_with(b" 200"))
}
