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
///
/// It ends when a replica that was ready refuses a connection, because its process has ended: the kernel may give the port to
/// another process, which must not be taken for this replica. A pod keeps its address to itself.
pub(super) async fn watch(readiness: SocketAddr, replica: Replica, replicas: Arc<Replicas>) {
    const PERIOD: Duration = Duration::from_millis(50);
    const TIMEOUT: Duration = Duration::from_secs(1);
    let mut known = false;
    let mut has_been_ready = false;
    loop {
        // A timeout changes nothing: on a busy machine a healthy replica may be slow.
        if let Ok(asked) = timeout(TIMEOUT, is_ready(readiness)).await {
            let refused = asked.as_ref().is_err_and(|error| error.kind() == io::ErrorKind::ConnectionRefused);
            let ready = asked.unwrap_or(false);
            if ready != known {
                known = ready;
                replicas.route(&replica, ready);
            }
            if refused && has_been_ready {
                return;
            }
            has_been_ready |= ready;
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

#[cfg(test)]
mod tests {
    use tokio::net::TcpListener;

    use super::*;

    /// A replica was killed, another process got the port of its probes and answered 200, and the Service sent calls to the
    /// dead replica again.
    #[tokio::test]
    async fn a_replica_that_has_ended_is_never_routed_again() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let readiness = listener.local_addr().unwrap();
        let server = tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n").await.unwrap();
            }
        });
        let replicas = Arc::new(Replicas::default());
        let probe = tokio::spawn(watch(readiness, Replica::from([readiness]), replicas.clone()));
        replicas.wait_for(1).await;

        server.abort();
        server.await.unwrap_err();
        let ended = timeout(Duration::from_secs(60), probe).await;
        ended.expect("the probe of a replica that has ended must end").unwrap();
        assert!(replicas.routed().is_empty());
    }
}
