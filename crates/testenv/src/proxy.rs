//! A TCP proxy that can delay, hold and cut connections.

mod allowance;
mod delivery;
mod filter;
mod forward;
mod frames;

use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::sync::watch;

use self::allowance::Allowance;
use self::filter::Filter;
use crate::background::{Serving, serve};
use crate::error::Error;
use crate::network::{listen, local_address};

/// Forwards TCP connections to an address, and can delay, hold or cut them.
///
/// It runs in a thread of its own until it is dropped, independent of the runtime of the test; open
/// connections end with it. A setting takes effect at once, also for open connections and for bytes
/// that are already in the proxy.
///
/// ```
/// use std::time::Duration;
/// use vestibule_testenv::Proxy;
///
/// let proxy = Proxy::before("127.0.0.1:8080".parse().expect("an address"))?;
/// proxy.delay(Duration::from_millis(200));
/// proxy.cut();
/// proxy.resume();
/// assert_eq!(proxy.connections(), 0);
/// # Ok::<(), vestibule_testenv::Error>(())
/// ```
pub struct Proxy {
    address: SocketAddr,
    shared: Arc<Shared>,
    _server: Serving,
}

impl Proxy {
    /// Listens on a free port of the IP address of `upstream`, so that the certificate of `upstream` is valid for both.
    ///
    /// # Errors
    /// [`Error::Listen`] when the address does not belong to this machine.
    pub fn before(upstream: SocketAddr) -> Result<Self, Error> {
        Self::filtering(upstream, || Filter::Everything)
    }

    /// A proxy before an etcd that affects only the answers to watches of keys below `prefixes`, and forwards all else
    /// at once.
    ///
    /// A delay or a hold affects only these answers, also when they share a connection with others. [`Proxy::cut`]
    /// closes the connections of these watches, and withholds such answers on later connections.
    pub(crate) fn before_etcd(
        upstream: SocketAddr,
        prefixes: &'static [&'static str],
    ) -> Result<Self, Error> {
        Self::filtering(upstream, move || Filter::watches(prefixes))
    }

    fn filtering(upstream: SocketAddr, filter: impl Fn() -> Filter + Send + 'static) -> Result<Self, Error> {
        let listener = listen(SocketAddr::new(upstream.ip(), 0))?;
        let address = local_address(&listener)?;
        let shared = Arc::<Shared>::default();
        let for_connections = shared.clone();
        let server = serve(listener, move |client| {
            let (filter, conditions) = (filter(), for_connections.conditions.subscribe());
            let Conditions { state, cuts, .. } = *conditions.borrow();
            if state == State::Cut && matches!(filter, Filter::Everything) {
                for_connections.refused.fetch_add(1, Ordering::SeqCst);
                return None;
            }
            Some(forward_counted((client, upstream), filter, (conditions, cuts), for_connections.clone()))
        })?;
        Ok(Self { address, shared, _server: server })
    }

    /// The address on which the proxy listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// From now on, bytes from upstream arrive `delay` later, in order. Zero at first.
    pub fn delay(&self, delay: Duration) {
        self.shared.conditions.send_modify(|conditions| conditions.delay = delay);
    }

    /// Forwards nothing, in either direction, until [`Proxy::resume`]. Connections are still accepted, and stay open.
    pub fn hold(&self) {
        self.shared.conditions.send_modify(|conditions| conditions.state = State::Holding);
    }

    /// Closes all connections, and each new one at once, until [`Proxy::resume`]. Bytes in the proxy are lost.
    pub fn cut(&self) {
        self.shared.conditions.send_modify(|conditions| {
            conditions.state = State::Cut;
            conditions.cuts += 1;
        });
    }

    /// Forwards `bytes` more bytes from upstream, over all connections together, and closes the connection on which the
    /// next byte arrives; other connections stay open.
    pub fn cut_after(&self, bytes: usize) {
        self.shared.allowance.set(bytes);
    }

    /// Ends [`Proxy::hold`] and [`Proxy::cut`]; the delay stays.
    pub fn resume(&self) {
        self.shared.conditions.send_modify(|conditions| conditions.state = State::Forwarding);
    }

    /// The number of open connections.
    pub fn connections(&self) -> usize {
        self.shared.open.load(Ordering::SeqCst)
    }

    /// The number of connections so far, without the [refused](Proxy::refused) ones.
    pub fn accepted(&self) -> usize {
        self.shared.accepted.load(Ordering::SeqCst)
    }

    /// The number of connections that were closed at once because they came while the proxy was [cut](Proxy::cut).
    pub fn refused(&self) -> usize {
        self.shared.refused.load(Ordering::SeqCst)
    }
}

#[derive(Default)]
struct Shared {
    conditions: watch::Sender<Conditions>,
    allowance: Allowance,
    open: AtomicUsize,
    accepted: AtomicUsize,
    refused: AtomicUsize,
}

/// The current settings.
#[derive(Clone, Copy, Default)]
struct Conditions {
    delay: Duration,
    state: State,
    /// The number of cuts, so that a cut that ends at once is noticed too.
    cuts: usize,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Forwarding,
    Holding,
    Cut,
}

async fn forward_counted(
    (client, upstream): (TcpStream, SocketAddr),
    filter: Filter,
    (conditions, cuts): (watch::Receiver<Conditions>, usize),
    shared: Arc<Shared>,
) {
    let _open = OpenConnection::new(&shared);
    if let Ok(server) = TcpStream::connect(upstream).await {
        // The client and the server see the errors of their connection.
        let _ = forward::forward(client, server, filter, &shared.allowance, (conditions, cuts)).await;
    }
}

/// Counts a connection as open until it is dropped.
struct OpenConnection<'a>(&'a Shared);

impl<'a> OpenConnection<'a> {
    fn new(shared: &'a Shared) -> Self {
        shared.accepted.fetch_add(1, Ordering::SeqCst);
        shared.open.fetch_add(1, Ordering::SeqCst);
        Self(shared)
    }
}

impl Drop for OpenConnection<'_> {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::SeqCst);
    }
}
