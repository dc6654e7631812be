//! A network that can be made slow, silent or broken.

mod allowance;
mod carry;
mod delivery;
mod filter;
mod frames;

use std::net::{SocketAddr, TcpListener};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tokio::net::TcpStream;
use tokio::sync::watch;
use tokio::task::{AbortHandle, JoinSet};

use self::allowance::Allowance;
use self::filter::Filter;
use crate::Error;
use crate::background::background;
use crate::network::{listen, local_address};

/// Carries TCP connections to an address, as well or as badly as a test wants.
///
/// It works in a thread of its own until it is dropped, whatever becomes of the runtime
/// of the test; its connections end with it. What is set takes effect at once, also upon
/// open connections and upon what is on its way already.
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
    acceptor: AbortHandle,
}

impl Proxy {
    /// Listens on a free port of the address that `upstream` has, whose certificate so fits both.
    ///
    /// # Errors
    /// [`Error::Listen`] when the address is not of this machine.
    pub fn before(upstream: SocketAddr) -> Result<Self, Error> {
        Self::filtering(upstream, Filter::everything)
    }

    /// Before an etcd: carries all but answers to watches of keys below `prefixes` as if it were not there.
    ///
    /// What is done to this proxy is done to these answers alone, also where they share a
    /// connection with others; [`Proxy::cut`] ends their connections, and holds back such
    /// answers in later ones.
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
        let acceptor = background()?.spawn(accept(listener, upstream, filter, shared.clone()));
        Ok(Self { address, shared, acceptor: acceptor.abort_handle() })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// From now on, what comes from upstream arrives `delay` later, in its order. Zero at first.
    pub fn delay(&self, delay: Duration) {
        self.shared.weather.send_modify(|weather| weather.delay = delay);
    }

    /// Carries nothing, in either direction, until [`Proxy::resume`]; connections are still accepted, and stay open.
    pub fn hold(&self) {
        self.shared.weather.send_modify(|weather| weather.state = State::Holding);
    }

    /// Closes all connections, and each new one at once, until [`Proxy::resume`]. What was on its way is lost.
    pub fn cut(&self) {
        self.shared.weather.send_modify(|weather| {
            weather.state = State::Cut;
            weather.cuts += 1;
        });
    }

    /// Once `bytes` more have come from upstream, on whatever connections, closes the one on which there is another, and
    /// that one alone: in the midst of what is being said.
    pub fn cut_after(&self, bytes: usize) {
        self.shared.allowance.set(bytes);
    }

    /// Ends [`Proxy::hold`] and [`Proxy::cut`]; the delay stays.
    pub fn resume(&self) {
        self.shared.weather.send_modify(|weather| weather.state = State::Carrying);
    }

    /// How many connections are open now.
    pub fn connections(&self) -> usize {
        self.shared.open.load(Ordering::SeqCst)
    }

    /// How many connections there were so far, without those that were closed at once.
    pub fn accepted(&self) -> usize {
        self.shared.accepted.load(Ordering::SeqCst)
    }

    /// How many connections were closed at once so far, because they came while it was [cut](Proxy::cut).
    pub fn refused(&self) -> usize {
        self.shared.refused.load(Ordering::SeqCst)
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.acceptor.abort();
    }
}

#[derive(Default)]
struct Shared {
    weather: watch::Sender<Weather>,
    allowance: Allowance,
    open: AtomicUsize,
    accepted: AtomicUsize,
    refused: AtomicUsize,
}

/// What becomes of what is to be carried.
#[derive(Clone, Copy, Default)]
struct Weather {
    delay: Duration,
    state: State,
    /// A cut that is over at once is still one.
    cuts: usize,
}

#[derive(Clone, Copy, Default, PartialEq, Eq)]
enum State {
    #[default]
    Carrying,
    Holding,
    Cut,
}

async fn accept(
    listener: TcpListener,
    upstream: SocketAddr,
    filter: impl Fn() -> Filter,
    shared: Arc<Shared>,
) {
    let tokio_listener =
        listener.set_nonblocking(true).and_then(|()| tokio::net::TcpListener::from_std(listener));
    let Ok(listener) = tokio_listener else { return };
    let mut connections = JoinSet::new();
    while let Ok((client, _)) = listener.accept().await {
        let (filter, weather) = (filter(), shared.weather.subscribe());
        let Weather { state, cuts, .. } = *weather.borrow();
        if state == State::Cut && filter.affects_all() {
            shared.refused.fetch_add(1, Ordering::SeqCst);
        } else {
            connections.spawn(counted((client, upstream), filter, (weather, cuts), shared.clone()));
        }
        while connections.try_join_next().is_some() {}
    }
}

async fn counted(
    (client, upstream): (TcpStream, SocketAddr),
    filter: Filter,
    (weather, cuts): (watch::Receiver<Weather>, usize),
    shared: Arc<Shared>,
) {
    let _open = Open::new(&shared);
    if let Ok(server) = TcpStream::connect(upstream).await {
        // What is wrong with a connection is for its ends to see.
        let _ = carry::carry(client, server, filter, &shared.allowance, (weather, cuts)).await;
    }
}

/// Counts a connection while it lasts, however it ends.
struct Open<'a>(&'a Shared);

impl<'a> Open<'a> {
    fn new(shared: &'a Shared) -> Self {
        shared.accepted.fetch_add(1, Ordering::SeqCst);
        shared.open.fetch_add(1, Ordering::SeqCst);
        Self(shared)
    }
}

impl Drop for Open<'_> {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::SeqCst);
    }
}
