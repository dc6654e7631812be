//! Putting it together, and the accept loop.

use std::collections::BTreeMap;
use std::convert::Infallible;
use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use tokio::net::TcpListener;
use tokio::sync::Semaphore;
use tokio::time::{sleep, timeout};
use vestibule_admission::{ConversionHook, Hook};

use crate::body::Bodies;
use crate::certificate::PresentCertificate;
use crate::client::Clients;
use crate::connection::MOST_LINGERING;
use crate::error::BindError;
use crate::front::{Front, Plain, accept};
use crate::hooks::{Hooks, Route, To};
use crate::load::{Limits, Load, Places};
use crate::newcomers::Newcomers;
use crate::observer::{Caught, Observer, Silent};
use crate::probes::{Lines, Metrics, Probes};
use crate::readiness::{Condition, Readiness};
use crate::settings::Settings;
use crate::shutdown::{Phase, Phases, Shutdown};
use crate::tls::Handshakes;

/// Connections to the probes at a time, after which the next one takes the place of another: kubelet and a scraper need a
/// few, and strangers shall not have them all.
const MAX_PROBE_CONNECTIONS: usize = 64;
/// What kube-apiserver gives every conversion (docs/apiserver.md, Conversion).
const CONVERSION_TIMEOUT: Duration = Duration::from_secs(30);
/// How often it is looked whether everything is there that answers need.
const READY_PERIOD: Duration = Duration::from_millis(100);
/// How often a server that serves looks what is missing, whether anybody asks or not.
const LOOK_PERIOD: Duration = Duration::from_secs(1);

/// A server in the making.
pub struct Server {
    settings: Settings,
    certificate: Arc<dyn PresentCertificate>,
    routes: BTreeMap<String, Route>,
    twice: Option<String>,
    conditions: Vec<Condition>,
    probed: Vec<Condition>,
    report: Lines,
    metrics: Option<Metrics>,
    clients: Clients,
    observer: Arc<dyn Observer>,
    load: Load,
}

/// A server whose addresses are taken: callers that connect now wait for [`serve`](Self::serve).
pub struct Bound {
    settings: Arc<Settings>,
    listener: TcpListener,
    address: SocketAddr,
    probes: Option<(TcpListener, SocketAddr, Arc<Probes>)>,
    handshakes: Handshakes,
    hooks: Arc<Hooks>,
    shutdown: Shutdown,
}

impl Server {
    /// A server without hooks.
    pub fn new(settings: Settings, certificate: Arc<dyn PresentCertificate>) -> Self {
        Self {
            load: Load::new(Arc::new(Limits::of(&settings))),
            settings,
            certificate,
            routes: BTreeMap::new(),
            twice: None,
            conditions: Vec::new(),
            probed: Vec::new(),
            report: Arc::new(Vec::new),
            metrics: None,
            clients: Clients::default(),
            observer: Arc::new(Silent),
        }
    }

    /// Serves `hook` at exactly `path`, and gives its handler `timeout` (the registration's `timeoutSeconds`) or what the
    /// caller asks for, whichever is less, less the time for the way back ([`budget`](crate::budget)).
    #[must_use]
    pub fn route(self, path: impl Into<String>, hook: Hook, timeout: Duration) -> Self {
        let hook = match self.settings.max_depth {
            Some(levels) => hook.max_depth(levels),
            None => hook,
        };
        self.serve_at(path.into(), Route { to: To::Hook(hook), timeout })
    }

    /// Serves the conversion of a custom resource at exactly `path`, within the same limits; the API server waits 30 s
    /// for it, whoever asks.
    #[must_use]
    pub fn route_conversion(self, path: impl Into<String>, hook: ConversionHook) -> Self {
        self.serve_at(path.into(), Route { to: To::Conversion(hook), timeout: CONVERSION_TIMEOUT })
    }

    /// What must hold before hooks are asked, beside a certificate: `why_not` says nothing when it does, else why not, in a few
    /// words or in none. May be called several times. Asked at every request, so it must be cheap; a panic in it counts as
    /// `panicked`.
    #[must_use]
    pub fn ready_when(
        mut self,
        name: impl Into<String>,
        why_not: impl Fn() -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.conditions.push(Condition::new(name.into(), why_not));
        self
    }

    /// What must hold beside that before `/readyz` says so; hooks are asked all the same, and `why_not` says what is missing
    /// without the name. For what some of them need and others do without: those that need it answer
    /// [`Verdict::not_ready`] themselves.
    ///
    /// [`Verdict::not_ready`]: vestibule_admission::Verdict::not_ready
    #[must_use]
    pub fn probes_ready_when(
        mut self,
        name: impl Into<String>,
        why_not: impl Fn() -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.probed.push(Condition::sentence(name, why_not));
        self
    }

    /// What `/readyz?verbose` says below its answer and its conditions, a line each; for people.
    #[must_use]
    pub fn report(mut self, lines: impl Fn() -> Vec<String> + Send + Sync + 'static) -> Self {
        self.report = Arc::new(lines);
        self
    }

    /// Serves what `write` writes at `/metrics`, as `content_type`.
    #[must_use]
    pub fn metrics(
        mut self,
        content_type: &'static str,
        write: impl Fn() -> String + Send + Sync + 'static,
    ) -> Self {
        self.metrics = Some(Metrics { content_type, write: Arc::new(write) });
        self
    }

    /// Judges who calls hooks and conversions. Probes stay open, on either port.
    #[must_use]
    pub fn clients(mut self, clients: Clients) -> Self {
        self.clients = clients;
        self
    }

    /// Tells `observer` what happens. A panic of the observer is caught: the call that it was told of goes on.
    #[must_use]
    pub fn observer(mut self, observer: impl Observer) -> Self {
        self.observer = Arc::new(Caught(observer));
        self
    }

    /// What it will hold beside its limits: for metrics that are set up before it [observes](Self::observer).
    pub fn load(&self) -> Load {
        self.load.clone()
    }

    /// Takes the addresses.
    ///
    /// # Errors
    /// An address that cannot be taken, a path that is used twice or is none.
    pub async fn bind(self) -> Result<Bound, BindError> {
        let Self {
            settings,
            certificate,
            routes,
            twice,
            conditions,
            probed,
            report,
            metrics,
            clients,
            observer,
            load,
        } = self;
        if let Some(path) = twice {
            return Err(BindError::Path { path });
        }
        if let Some(path) = routes.keys().find(|path| !path.starts_with('/')) {
            return Err(BindError::Relative { path: path.clone() });
        }
        let shutdown = Shutdown::new();
        let asks = clients.ask_for_certificates();
        let handshakes = Handshakes::new(settings.tls_min, Arc::clone(&certificate), asks)?;
        let readiness = Arc::new(Readiness::new(conditions, probed, certificate, shutdown.phases()));
        let (listener, address) = listen(settings.listen).await?;
        let answers = Probes { readiness: Arc::clone(&readiness), report, metrics };
        let over_https = settings.probes_over_https.then(|| Probes { metrics: None, ..answers.clone() });
        let probes = match settings.probes {
            Some(address) => {
                let (listener, address) = listen(address).await?;
                Some((listener, address, Arc::new(answers)))
            }
            None => None,
        };
        let limits = Arc::clone(load.limits());
        let bodies = Bodies::new(settings.max_body, settings.body_timeout, Arc::clone(&limits));
        let hooks = Arc::new(Hooks {
            routes,
            conversion_bodies: bodies.with_limit(settings.max_conversion_body),
            bodies,
            limits,
            readiness,
            probes: over_https,
            clients,
            observer,
            ask_elsewhere: settings.ask_elsewhere,
        });
        Ok(Bound { settings: Arc::new(settings), listener, address, probes, handshakes, hooks, shutdown })
    }
}

impl Server {
    fn serve_at(mut self, path: String, route: Route) -> Self {
        if self.routes.insert(path.clone(), route).is_some() {
            self.twice = Some(path);
        }
        self
    }
}

impl Bound {
    /// Where HTTPS is served.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// Where the probes are served, if they are.
    pub fn probes_address(&self) -> Option<SocketAddr> {
        self.probes.as_ref().map(|(_, address, _)| *address)
    }

    /// What it holds now, beside its limits.
    pub fn load(&self) -> Load {
        Load::new(Arc::clone(&self.hooks.limits))
    }

    /// The handle that ends the server.
    pub fn shutdown(&self) -> Shutdown {
        self.shutdown.clone()
    }

    /// Resolves when nothing is missing: when `/readyz` would first say so.
    pub fn ready(&self) -> impl Future<Output = ()> + Send + use<> {
        let readiness = Arc::clone(&self.hooks.readiness);
        async move {
            while !readiness.look().missing.is_empty() {
                sleep(READY_PERIOD).await;
            }
        }
    }

    /// Serves until told to end, and returns how many connections were cut off in the end. Dropped before that, it ends at
    /// once: both ports are closed, and so is every connection.
    pub async fn serve(self) -> usize {
        let Self { settings, listener, probes, handshakes, hooks, shutdown, .. } = self;
        let _end = EndOnDrop(shutdown.clone());
        let phases = shutdown.phases();
        let readiness = Arc::clone(&hooks.readiness);
        if let Some((listener, _, responder)) = probes {
            let attendant = Arc::new(Plain {
                responder,
                newcomers: Newcomers::new(MAX_PROBE_CONNECTIONS),
                settings: Arc::clone(&settings),
                lingering: Semaphore::new(MOST_LINGERING),
            });
            // Those who make room for others are not gone at once.
            let connections = Places::new(2 * MAX_PROBE_CONNECTIONS);
            let phases = phases.clone();
            tokio::spawn(async move {
                tokio::select! {
                    () = phases.reached(Phase::Over) => {}
                    () = accept(&listener, &attendant, &connections, &phases) => {}
                }
            });
        }
        let limits = Arc::clone(&hooks.limits);
        let connections = &limits.connections;
        let front = Arc::new(Front {
            handshakes,
            hooks,
            settings: Arc::clone(&settings),
            lingering: Semaphore::new(MOST_LINGERING),
        });
        let until_the_last_leaves = async {
            tokio::select! {
                // Whoever has dialled by now is let in: closing the listener would reset them.
                biased;
                () = accept(&listener, &front, connections, &phases) => {}
                () = closing_time(&phases, settings.drain_delay) => {}
            }
            drop(listener);
            // All permits are free when no connection is left.
            connections.free.acquire_many(connections.limit).await.map(drop)
        };
        // The probes answer until the end, so that nobody takes a draining server for a dead one.
        tokio::select! {
            _ = until_the_last_leaves => 0,
            never = keep_looking(&readiness) => match never {},
            () = time_is_up(&phases, settings.drain_timeout) => {
                usize::try_from(connections.held().0).unwrap_or(usize::MAX)
            }
        }
    }
}

/// Ends the tasks of a server, of the probes and of connections, when its future has ended or is dropped.
struct EndOnDrop(Shutdown);

impl Drop for EndOnDrop {
    fn drop(&mut self) {
        self.0.end();
    }
}

/// So that people are told since when, whether they ask or not.
async fn keep_looking(readiness: &Readiness) -> Infallible {
    loop {
        readiness.look();
        sleep(LOOK_PERIOD).await;
    }
}

async fn listen(address: SocketAddr) -> Result<(TcpListener, SocketAddr), BindError> {
    let failed = |source| BindError::Listen { address, source };
    let listener = match TcpListener::bind(address).await {
        // Every address there is, on a node without IPv6.
        Err(error) if address.ip() == IpAddr::V6(Ipv6Addr::UNSPECIFIED) && !is_taken(&error) => {
            TcpListener::bind((Ipv4Addr::UNSPECIFIED, address.port())).await
        }
        bound => bound,
    };
    let listener = listener.map_err(failed)?;
    let local = listener.local_addr().map_err(failed)?;
    Ok((listener, local))
}

/// By somebody else, or for somebody else.
fn is_taken(error: &std::io::Error) -> bool {
    matches!(error.kind(), ErrorKind::AddrInUse | ErrorKind::PermissionDenied)
}

async fn closing_time(phases: &Phases, delay: Duration) {
    phases.reached(Phase::Draining).await;
    // Either ends the wait.
    let _ = timeout(delay, phases.reached(Phase::Stopping)).await;
}

async fn time_is_up(phases: &Phases, drain_timeout: Duration) {
    phases.reached(Phase::Draining).await;
    // Either ends the wait.
    let _ = timeout(drain_timeout, phases.reached(Phase::Aborting)).await;
}
