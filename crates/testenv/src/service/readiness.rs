//! Readiness probes, as the kubelet does them.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::{sleep, timeout};

use super::balancer::{Replica, Replicas};

/// Probes `readiness` every 50 ms and updates `replica` in `replicas` when the result changes.
pub(super) async fn watch(readiness: SocketAddr, replica: Replica, replicas: Arc<Replicas>) {
    const PERIOD: Duration = Duration::from_millis(50);
    const TIMEOUT: Duration = Duration::from_secs(1);
    let mut known = false;
    loop {
        // A timeout changes nothing: on a busy machine a healthy replica may be slow.
        if let Ok(asked) = timeout(TIMEOUT, is_ready(readiness)).await {
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
