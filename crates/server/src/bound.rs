//! A server whose addresses are bound: it serves until a shutdown.

use std::convert::Infallible;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};

use crate::bind_error::BindError;
use crate::connection::MAX_LINGERING;
use crate::limits::Usage;
use crate::listener::{HttpsPort, ProbePort, accept};
use crate::pending_connections::PendingConnections;
use crate::permits::Permits;
use crate::pipeline::Pipeline;
use crate::probes::Probes;
use crate::readiness::Readiness;
use crate::settings::Settings;
use crate::shutdown::{Phase, Phases, Shutdown, events_are_known};
use crate::tls::Handshakes;

/// The most connections to the probe port, after which a new one evicts another. kubelet and a scraper need a few.
const MAX_PROBE_CONNECTIONS: usize = 64;
/// [`Bound::ready`] checks the conditions this often.
const READY_PERIOD: Duration = Duration::from_millis(100);
/// The time before the end of the drain in which idle connections are closed.
const CLOSING_TIME: Duration = Duration::from_secs(1);
/// A server checks its conditions this often, so that `/readyz?verbose` knows since when each one holds.
const READINESS_PERIOD: Duration = Duration::from_secs(1);

/// A server whose addresses are bound: connections wait for [`serve`](Self::serve).
pub struct Bound {
    pub(crate) settings: Arc<Settings>,
    pub(crate) listener: TcpListener,
    pub(crate) address: SocketAddr,
    pub(crate) probes: Option<(TcpListener, SocketAddr, Arc<Probes>)>,
    pub(crate) handshakes: Handshakes,
    pub(crate) pipeline: Arc<Pipeline>,
    pub(crate) shutdown: Shutdown,
}

impl Bound {
    /// The address of the HTTPS port.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address of the probe port, if there is one.
    pub fn probes_address(&self) -> Option<SocketAddr> {
        self.probes.as_ref().map(|(_, address, _)| *address)
    }

    /// The use of the server's limits.
    pub fn usage(&self) -> Usage {
        Usage::new(Arc::clone(&self.pipeline.limits))
    }

    /// The handle that ends the server.
    pub fn shutdown(&self) -> Shutdown {
        self.shutdown.clone()
    }

    /// Resolves when all conditions hold, as `/readyz` would say.
    pub fn ready(&self) -> impl Future<Output = ()> + Send + use<> {
        let readiness = Arc::clone(&self.pipeline.readiness);
        async move {
            while !readiness.check().missing.is_empty() {
                sleep(READY_PERIOD).await;
            }
        }
    }

    /// Serves until [`Shutdown`] ends it, and returns the number of connections that were cut off. If the future is dropped before
    /// that, both ports and all connections are closed at once.
    // A trait object, so that the code of requests is compiled in this crate, with its optimization. The crate that polls another type
    // of future would compile it: `vestibule-command`, which is built for size.
    pub fn serve(self) -> Pin<Box<dyn Future<Output = usize> + Send>> {
        Box::pin(self.serve_connections())
    }

    async fn serve_connections(self) -> usize {
        let _end = EndOnDrop(self.shutdown.clone());
        let phases = self.shutdown.phases();
        if let Some((listener, _, probes)) = self.probes {
            tokio::spawn(serve_probes(listener, probes, Arc::clone(&self.settings), phases.clone()));
        }
        let (settings, listener) = (self.settings, self.listener);
        let (limits, readiness) = (Arc::clone(&self.pipeline.limits), Arc::clone(&self.pipeline.readiness));
        let connections = &limits.connections;
        let port = Arc::new(HttpsPort {
            handshakes: self.handshakes,
            pipeline: self.pipeline,
            settings: Arc::clone(&settings),
            lingering: Semaphore::new(MAX_LINGERING),
        });
        let all_connections_closed = async {
            tokio::select! {
                // Connections in the backlog are accepted first: closing the listener would reset them.
                biased;
                () = accept(&listener, &port, connections, &phases) => {}
                () = end_of_accepting(&phases, settings.drain_delay) => {}
            }
            drop(listener);
            // All permits are free when no connection is left.
            connections.free.acquire_many(connections.limit).await.map(drop)
        };
        // The probes answer until the end, so that kubelet does not kill a draining server.
        tokio::select! {
            _ = all_connections_closed => 0,
            never = keep_checking(&readiness) => match never {},
            () = end_of_drain(&self.shutdown, &settings) => {
                usize::try_from(connections.usage().0).unwrap_or(usize::MAX)
            }
        }
    }
}

async fn serve_probes(
    listener: TcpListener,
    responder: Arc<Probes>,
    settings: Arc<Settings>,
    phases: Phases,
) {
    let port = Arc::new(ProbePort {
        responder,
        connections: PendingConnections::new(MAX_PROBE_CONNECTIONS),
        settings,
        lingering: Semaphore::new(MAX_LINGERING),
    });
    // An evicted connection keeps its permit until it is closed.
    let connections = Permits::new(2 * MAX_PROBE_CONNECTIONS);
    tokio::select! {
        () = phases.reached(Phase::Over) => {}
        () = accept(&listener, &port, &connections, &phases) => {}
    }
}

/// Ends the tasks of a server, its probes and its connections when the future of `serve` ends or is dropped.
struct EndOnDrop(Shutdown);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.end();
    }
}

async fn keep_checking(readiness: &Readiness) -> Infallible {
    loop {
        readiness.check();
        sleep(READINESS_PERIOD).await;
    }
}

pub(crate) async fn listen(address: SocketAddr) -> Result<(TcpListener, SocketAddr), BindError> {
    let failed = |source| BindError::Listen { address, source };
    let listener = match TcpListener::bind(address).await {
        // On a node without IPv6, `[::]` means all IPv4 addresses.
        Err(error) if address.ip() == IpAddr::V6(Ipv6Addr::UNSPECIFIED) && !is_taken(&error) => {
            TcpListener::bind((Ipv4Addr::UNSPECIFIED, address.port())).await
        }
        bound => bound,
    };
    let listener = listener.map_err(failed)?;
    let local = listener.local_addr().map_err(failed)?;
    Ok((listener, local))
}

/// Whether the address is used by another process, or not allowed to this one.
fn is_taken(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::AddrInUse | ErrorKind::PermissionDenied)
}

/// Resolves when no further connection is accepted.
async fn end_of_accepting(phases: &Phases, delay: Duration) {
    phases.reached(Phase::Draining).await;
    // The delay may pass, or the phase come first.
    let _ = timeout(delay, phases.reached(Phase::Stopping)).await;
    // Connections that wait in the backlog are accepted first.
    events_are_known().await;
}

/// Resolves when connections that are still open are cut off. Shortly before, it closes idle ones.
async fn end_of_drain(shutdown: &Shutdown, settings: &Settings) {
    let phases = shutdown.phases();
    phases.reached(Phase::Draining).await;
    let aborted = async |after: Duration| timeout(after, phases.reached(Phase::Aborting)).await.is_ok();
    // A request that arrives while its connection is cut off is lost; one that arrives while the connection is closed as idle is
    // answered.
    let closing = (settings.drain_timeout.saturating_sub(settings.drain_delay) / 2).min(CLOSING_TIME);
    if !aborted(settings.drain_timeout.saturating_sub(closing)).await {
        shutdown.close_idle();
        aborted(closing).await;
    }
}
