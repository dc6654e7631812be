//! The accept loop of both ports, and the way of one connection from accept to close.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::{TcpListener, TcpStream};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::time::{sleep, timeout};
use tokio_rustls::server::TlsStream;

use crate::client::Peer;
use crate::close_reason::CloseReason;
use crate::connection;
use crate::cpu_permits::Times;
use crate::observer::Observer;
use crate::pending_connections::PendingConnections;
use crate::permits::Permits;
use crate::pipeline::{ClientConnection, Pipeline};
use crate::probes::Probes;
use crate::settings::Settings;
use crate::shutdown::{Phase, Phases};
use crate::tls::Handshakes;

/// The pause after a failed accept, most often because no file descriptor is free.
const ACCEPT_PAUSE: Duration = Duration::from_millis(50);
/// At the connection limit, a connection to evict is looked for this often.
const EVICTION_PERIOD: Duration = Duration::from_millis(500);

/// Accepts connections and serves each on a task of its own, so that no connection waits for another's handshake.
pub(crate) async fn accept<P: Port>(
    listener: &TcpListener,
    port: &Arc<P>,
    connections: &Permits,
    phases: &Phases,
) {
    loop {
        let permit = permit_for_next(port, connections).await;
        let Ok((stream, peer)) = listener.accept().await else {
            sleep(ACCEPT_PAUSE).await;
            continue;
        };
        // An IPv4 client of an IPv6 socket is known by its IPv4 address.
        let peer = SocketAddr::new(peer.ip().to_canonical(), peer.port());
        let port = Arc::clone(port);
        let phases = phases.clone();
        tokio::spawn(async move {
            let _permit = permit;
            // Answers are written whole: Nagle's algorithm would only delay them.
            let _ = stream.set_nodelay(true);
            let over = phases.clone();
            tokio::select! {
                () = over.reached(Phase::Over) => {}
                () = port.serve(stream, peer, phases) => {}
            }
        });
    }
}

/// A permit that is free, or that an evicted connection gives back.
async fn permit_for_next<P: Port>(port: &Arc<P>, connections: &Permits) -> Option<OwnedSemaphorePermit> {
    loop {
        if let Ok(permit) = Arc::clone(&connections.free).try_acquire_owned() {
            return Some(permit);
        }
        port.evict_oldest();
        // If no connection can be evicted now, one may be later.
        if let Ok(permit) = timeout(EVICTION_PERIOD, Arc::clone(&connections.free).acquire_owned()).await {
            return permit.ok();
        }
    }
}

/// Serves the connections of one listener.
pub(crate) trait Port: Send + Sync + 'static {
    /// Closes the oldest connection without a request, if there is one.
    fn evict_oldest(&self) {}

    /// Serves one connection from accept to close.
    fn serve(&self, stream: TcpStream, peer: SocketAddr, phases: Phases) -> impl Future<Output = ()> + Send;
}

/// Webhook calls over TLS.
pub(crate) struct HttpsPort {
    pub(crate) handshakes: Handshakes,
    pub(crate) pipeline: Arc<Pipeline>,
    pub(crate) settings: Arc<Settings>,
    pub(crate) lingering: Semaphore,
}

/// Probes and metrics without TLS.
pub(crate) struct ProbePort {
    pub(crate) responder: Arc<Probes>,
    pub(crate) connections: PendingConnections,
    pub(crate) settings: Arc<Settings>,
    pub(crate) lingering: Semaphore,
}

impl Port for HttpsPort {
    fn evict_oldest(&self) {
        self.pipeline.limits.idle_eviction.evict_oldest();
    }

    async fn serve(&self, stream: TcpStream, address: SocketAddr, phases: Phases) {
        let limits = &self.pipeline.limits;
        let _connected = limits.connected.increment();
        let mut report = CloseReport { observer: &*self.pipeline.observer, reason: CloseReason::Drain };
        let handshake = tokio::select! {
            biased;
            handshake = self.handshake(stream) => handshake,
            () = phases.handshakes_are_given_up() => return,
        };
        report.reason = match handshake {
            Ok((stream, peer)) => {
                let client = Arc::new(ClientConnection { pipeline: Arc::clone(&self.pipeline), peer });
                let unused = Some(limits.idle_eviction.register());
                connection::serve(stream, unused, client, &self.settings, &self.lingering, phases).await
            }
            Err((reason, why)) => {
                self.pipeline.observer.handshake_failed(address, &why);
                reason
            }
        };
    }
}

impl HttpsPort {
    /// The TLS handshake, or why it failed.
    async fn handshake(
        &self,
        stream: TcpStream,
    ) -> Result<(Box<TlsStream<TcpStream>>, Peer), (CloseReason, String)> {
        let (limits, time) = (&self.pipeline.limits, self.settings.handshake_timeout);
        let slow = |why: &str| (CloseReason::SlowHandshake, why.to_owned());
        let pending = limits.pending_handshakes.register();
        let handshake = async {
            if timeout(time / 2, pending.first_byte(&stream)).await.is_err() {
                return Err(slow("timeout: no byte of the handshake arrived"));
            }
            let permit = limits.handshake_permits.acquire().await;
            // Boxed, so that its memory is freed after the handshake and not with the connection.
            let accepted = Box::pin(self.handshakes.accept(stream));
            let accepted = limits.handshake_permits.run(accepted, permit, &mut Times::default()).await;
            accepted.map_err(|error| (CloseReason::Handshake, error.to_string()))
        };
        tokio::select! {
            biased;
            done = timeout(time, handshake) => done.unwrap_or_else(|_| Err(slow("timeout: it took too long"))),
            () = pending.evicted() => Err(slow("the limit of pending handshakes was reached")),
        }
    }
}

/// Tells the observer why a connection ended. If it is dropped before a reason is set, the end of the server closed the
/// connection.
struct CloseReport<'a> {
    observer: &'a dyn Observer,
    reason: CloseReason,
}

impl Drop for CloseReport<'_> {
    fn drop(&mut self) {
        self.observer.closed(self.reason);
    }
}

impl Port for ProbePort {
    async fn serve(&self, stream: TcpStream, _peer: SocketAddr, phases: Phases) {
        let pending = self.connections.register();
        let served = async {
            if timeout(self.settings.head_timeout, pending.first_byte(&stream)).await.is_ok() {
                let responder = Arc::clone(&self.responder);
                connection::serve(stream, None, responder, &self.settings, &self.lingering, phases).await;
            }
        };
        tokio::select! {
            () = served => {}
            // kubelet and scrapers open a new connection after this one is closed.
            () = pending.evicted() => {}
        }
    }
}
