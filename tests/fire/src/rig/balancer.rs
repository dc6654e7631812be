//! A TCP balancer like kube-proxy: each new connection goes to one of the endpoints and stays there.

use std::collections::HashMap;
use std::io;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::tcp::{ReadHalf, WriteHalf};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};

/// A balancer; its connections end when it is dropped.
pub struct Balancer {
    address: SocketAddr,
    endpoints: Arc<Endpoints>,
    accepting: AbortHandle,
}

#[derive(Default)]
struct Endpoints {
    all: Mutex<Vec<SocketAddr>>,
    turn: AtomicUsize,
    failed: Mutex<HashMap<SocketAddr, Failed>>,
}

/// The numbers of failed connections to an endpoint.
#[derive(Default)]
struct Failed {
    interrupted: usize,
    refused: usize,
}

/// A TLS `close_notify` has 24 bytes, and every request has more than this.
const LEAVE: usize = 64;

impl Balancer {
    /// A balancer on loopback, without endpoints.
    ///
    /// # Errors
    /// There is no free port.
    pub async fn start() -> io::Result<Self> {
        let listener = TcpListener::bind((IpAddr::V4(Ipv4Addr::LOCALHOST), 0)).await?;
        let (address, endpoints) = (listener.local_addr()?, Arc::new(Endpoints::default()));
        let accepting = tokio::spawn(accept(listener, Arc::clone(&endpoints))).abort_handle();
        Ok(Self { address, endpoints, accepting })
    }

    /// The balancer's address.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Adds an endpoint for new connections.
    pub fn add(&self, endpoint: SocketAddr) {
        self.endpoints.lock().push(endpoint);
    }

    /// Removes an endpoint for new connections; existing connections continue.
    pub fn remove(&self, endpoint: SocketAddr) {
        self.endpoints.lock().retain(|known| *known != endpoint);
    }

    /// The number of connections to this endpoint that ended with an unanswered request.
    #[must_use]
    pub fn interrupted(&self, endpoint: SocketAddr) -> usize {
        self.endpoints.failed().get(&endpoint).map_or(0, |failed| failed.interrupted)
    }

    /// The number of connections that this endpoint refused.
    #[must_use]
    pub fn refused(&self, endpoint: SocketAddr) -> usize {
        self.endpoints.failed().get(&endpoint).map_or(0, |failed| failed.refused)
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Endpoints {
    fn lock(&self) -> MutexGuard<'_, Vec<SocketAddr>> {
        self.all.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn failed(&self) -> MutexGuard<'_, HashMap<SocketAddr, Failed>> {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn choose(&self) -> Option<SocketAddr> {
        let all = self.lock();
        let turn = self.turn.fetch_add(1, Ordering::Relaxed);
        all.get(turn.checked_rem(all.len())?).copied()
    }
}

async fn accept(listener: TcpListener, endpoints: Arc<Endpoints>) {
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        // The endpoint is chosen once, as by kube-proxy: if it refuses, the client sees the error.
        if let Some(endpoint) = endpoints.choose() {
            connections.spawn(carry(client, endpoint, Arc::clone(&endpoints)));
        }
        while connections.try_join_next().is_some() {}
    }
}

async fn carry(mut client: TcpStream, endpoint: SocketAddr, endpoints: Arc<Endpoints>) {
    let Ok(mut server) = TcpStream::connect(endpoint).await else {
        endpoints.failed().entry(endpoint).or_default().refused += 1;
        return;
    };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    let unanswered = AtomicUsize::new(0);
    let (from_client, to_client) = client.split();
    let (from_server, to_server) = server.split();
    let _ = tokio::try_join!(
        pass(from_client, to_server, |bytes| {
            unanswered.fetch_add(bytes, Ordering::Relaxed);
        }),
        pass(from_server, to_client, |_| unanswered.store(0, Ordering::Relaxed)),
    );
    if unanswered.into_inner() > LEAVE {
        endpoints.failed().entry(endpoint).or_default().interrupted += 1;
    }
}

async fn pass(mut from: ReadHalf<'_>, mut to: WriteHalf<'_>, passes: impl Fn(usize)) -> io::Result<()> {
    let mut buffer = vec![0; 8 << 10];
    loop {
        match from.read(&mut buffer).await? {
            0 => return to.shutdown().await,
            bytes => {
                passes(bytes);
                to.write_all(&buffer[..bytes]).await?;
            }
        }
    }
}
