//! A Service's address, as kube-proxy serves it: each new connection goes to one of the endpoints, and stays there.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::io::copy_bidirectional;
use tokio::net::{TcpListener, TcpStream};
use tokio::task::{AbortHandle, JoinSet};

/// Carries connections to endpoints until it is dropped; they end with it.
pub struct Balancer {
    address: SocketAddr,
    endpoints: Arc<Endpoints>,
    accepting: AbortHandle,
}

#[derive(Default)]
struct Endpoints {
    all: Mutex<Vec<SocketAddr>>,
    turn: AtomicUsize,
    /// Open connections of each.
    open: Mutex<HashMap<SocketAddr, usize>>,
}

impl Balancer {
    /// A balancer on loopback, without endpoints.
    ///
    /// # Errors
    /// There is no free port.
    pub async fn start() -> std::io::Result<Self> {
        let listener = TcpListener::bind((IpAddr::V4(Ipv4Addr::LOCALHOST), 0)).await?;
        let (address, endpoints) = (listener.local_addr()?, Arc::new(Endpoints::default()));
        let accepting = tokio::spawn(accept(listener, Arc::clone(&endpoints))).abort_handle();
        Ok(Self { address, endpoints, accepting })
    }

    /// Where callers connect.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Leads new connections there too.
    pub fn add(&self, endpoint: SocketAddr) {
        self.endpoints.lock().push(endpoint);
    }

    /// Leads no new connection there; those that it has go on.
    pub fn remove(&self, endpoint: SocketAddr) {
        self.endpoints.lock().retain(|known| *known != endpoint);
    }

    /// Connections that are open to this endpoint.
    #[must_use]
    pub fn open(&self, endpoint: SocketAddr) -> usize {
        lock(&self.endpoints.open).get(&endpoint).copied().unwrap_or_default()
    }
}

impl Drop for Balancer {
    fn drop(&mut self) {
        self.accepting.abort();
    }
}

impl Endpoints {
    fn lock(&self) -> MutexGuard<'_, Vec<SocketAddr>> {
        lock(&self.all)
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
        // Chosen once: what is wrong with the choice is the client's to see.
        if let Some(endpoint) = endpoints.choose() {
            connections.spawn(carry(client, endpoint, Arc::clone(&endpoints)));
        }
        while connections.try_join_next().is_some() {}
    }
}

async fn carry(mut client: TcpStream, endpoint: SocketAddr, endpoints: Arc<Endpoints>) {
    let Ok(mut server) = TcpStream::connect(endpoint).await else { return };
    let _ = (client.set_nodelay(true), server.set_nodelay(true));
    *lock(&endpoints.open).entry(endpoint).or_default() += 1;
    let _ = copy_bidirectional(&mut client, &mut server).await;
    lock(&endpoints.open).entry(endpoint).and_modify(|open| *open -= 1);
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
