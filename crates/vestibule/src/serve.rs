//! From an app to a server that listens.

use std::net::SocketAddr;
use std::pin::pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use tokio::signal::unix::{SignalKind, signal};
use tokio::task::JoinSet;
use vestibule_identity::{self as identity, Identity, IdentityError, SelfManaged};
use vestibule_server::{
    BindError, CertificateError, Observer, PresentCertificate, Server, Settings, Shutdown,
};

use crate::client_identity::ClientError;
use crate::condition::Asked;
use crate::presented::Presented;
use crate::reach::Reach;
use crate::telemetry::{CONTENT_TYPE, Telemetry};
use crate::work::{self, Work, WorkOver};
use crate::{App, AppError, CertificateCounters, ClientSettings, Target, watch_state};

/// The API server closes connections that rested for 90 s.
pub(crate) const SHORTEST_IDLE: Duration = Duration::from_secs(91);

/// Where and how an app is served: for those who start it themselves instead of by [`App::run`].
///
/// ```no_run
/// use std::path::Path;
/// use vestibule::identity::{Mounted, Settings};
/// use vestibule::{App, Options};
///
/// # async fn example(app: App) -> Result<(), Box<dyn std::error::Error>> {
/// let identity = Mounted::start(Path::new("/certs"), &Settings::default())?;
/// let mut options = Options::new(([0, 0, 0, 0], 10250).into(), identity);
/// options.settings.probes = Some(([0, 0, 0, 0], 9090).into());
/// app.bind(options).await?.serve_until_signalled().await?;
/// # Ok(()) }
/// ```
#[derive(Clone)]
#[non_exhaustive]
pub struct Options {
    /// Where the certificate comes from.
    pub identity: Arc<dyn Identity>,
    /// Addresses, limits and times.
    pub settings: Settings,
    /// Told of every decision, beside log and metrics.
    pub observer: Option<Arc<dyn Observer>>,
    /// What the identity counts, for the metrics; a clone of it is the identity's own observer.
    pub certificates: CertificateCounters,
    /// Who may call. Everybody, unless set.
    pub clients: ClientSettings,
    /// The cluster that handlers look things up in; needed by an app that [watches](App::watch) or [reads](App::read), or
    /// does something [beside](App::when_ready).
    pub client: Option<kube::Client>,
    /// For a process outside the cluster that registers itself ([`App::managed`]): the target of its entries. They are written
    /// only once a call that the API server makes there has arrived in this process. [`Options::client`] must then be allowed
    /// to get, create and delete the ValidatingWebhookConfiguration `APP-reach`, and to create ConfigMaps in the Service's
    /// namespace, which is done as a dry run. Nothing is asked unless set, and nothing has to be in a pod behind its Service.
    pub must_reach: Option<Target>,
}

/// An app whose addresses are taken: callers that connect now wait for [`Bound::serve`].
#[must_use = "it serves only when told to"]
pub struct Bound {
    server: vestibule_server::Bound,
    identity: Arc<dyn Identity>,
    /// Asked before anything is registered.
    reach: Option<Reach>,
    hooks: Vec<String>,
    works: Vec<Work>,
    /// What follows the files and keys by which clients are known, for as long as anybody is served.
    follows: JoinSet<()>,
}

/// Why an app cannot be served.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ServeError {
    /// The app is not in order.
    #[error(transparent)]
    App(#[from] AppError),
    /// The identity's certificate cannot be used.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// The identity has no certificate and does not wait for one; the API server calls nobody without.
    #[error("the identity has no certificate and never will: with `off` there is nothing to serve")]
    NoCertificate,
    /// [`Settings::idle_timeout`] is below 91 s.
    #[error(
        "the API server keeps connections for 90 s between two calls, and whoever closes them first fails the call that is \
         just being sent: let them rest for 91 s or more"
    )]
    Idle,
    /// Clients cannot be told apart as they should be.
    #[error(transparent)]
    Clients(#[from] ClientError),
    /// An address cannot be taken.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// The system has no thread for the conditions of [`App::ready_when`].
    #[error("conditions cannot be asked: {0}")]
    Conditions(std::io::Error),
    /// The system refuses to tell of signals.
    #[error("signals cannot be listened to: {0}")]
    Signals(std::io::Error),
    /// Work beside the webhook ended before a shutdown had begun.
    #[error(
        "work beside the webhook has ended, and this process with it: `App::when_ready` is for work that never ends, \
         `App::once_ready` for work that may"
    )]
    WorkEnded,
    /// Work beside the webhook panicked.
    #[error("work beside the webhook panicked, and this process ends with it: the log says where")]
    WorkPanicked,
}

impl Options {
    /// HTTPS on `listen`, no plain port, and the limits of [`Settings`].
    pub fn new(listen: SocketAddr, identity: Arc<dyn Identity>) -> Self {
        let mut settings = Settings::default();
        settings.listen = listen;
        Self {
            identity,
            settings,
            observer: None,
            certificates: CertificateCounters::default(),
            clients: ClientSettings::default(),
            client: None,
            must_reach: None,
        }
    }

    /// HTTPS on `listen` with certificates that the replicas keep themselves in the cluster of `client`;
    /// [`App::identity_settings`] are settings that fit.
    ///
    /// ```no_run
    /// # async fn example(app: vestibule::App, client: kube::Client) -> Result<(), Box<dyn std::error::Error>> {
    /// let settings = app.identity_settings("shop/hook".parse()?);
    /// let options = vestibule::Options::self_managed(([0, 0, 0, 0], 10250).into(), client, settings)?;
    /// app.bind(options).await?.serve_until_signalled().await?;
    /// # Ok(()) }
    /// ```
    ///
    /// # Errors
    /// The settings name too little, or would break an invariant.
    pub fn self_managed(
        listen: SocketAddr,
        client: kube::Client,
        mut settings: identity::Settings,
    ) -> Result<Self, IdentityError> {
        let certificates =
            settings.observer.take().map_or_else(CertificateCounters::default, CertificateCounters::telling);
        settings.observer = Some(Arc::new(certificates.clone()));
        let registers = registers(&settings);
        let identity = SelfManaged::start(client.clone(), settings)?;
        let mut options = Self { certificates, client: Some(client), ..Self::new(listen, identity) };
        options.settings.ask_elsewhere = registers;
        Ok(options)
    }
}

/// Whether replicas write their own entries: then those of two versions may be asked for each other's hooks.
pub(crate) fn registers(settings: &identity::Settings) -> bool {
    !settings.desired.is_empty() || settings.updates.is_some()
}

impl App {
    /// Takes the addresses. Without a certificate yet, the server listens and answers probes; handshakes fail, and
    /// `/readyz` says what it waits for.
    ///
    /// # Errors
    /// The app is not in order, the certificate cannot be used or there will never be one, connections would not rest as long
    /// as the API server lets them, or an address is taken.
    pub async fn bind(self, options: Options) -> Result<Bound, ServeError> {
        self.check()?;
        let Options { identity, settings, observer, certificates, clients, client, must_reach } = options;
        let reach = must_reach.map(|target| self.reach(client.as_ref(), target)).transpose()?;
        if settings.idle_timeout < SHORTEST_IDLE {
            return Err(ServeError::Idle);
        }
        let presented = Presented::new(Arc::clone(&identity));
        // Asked first: what waits now may have one a moment later.
        let waits = identity.status().waiting_for.is_some();
        match presented.certificate() {
            Some(certificate) => drop(certificate?),
            None if !waits => return Err(ServeError::NoCertificate),
            None => {}
        }
        let known = clients.start(client.as_ref())?;
        let works = self.works(client.as_ref())?;
        let environment = self.environment(client)?;
        let lookups = environment.lookups().clone();
        let watches: Vec<_> = self.watches.iter().cloned().chain(lookups.watches()).collect();
        let mut own = self.metrics.clone();
        own.push(watch_state::metric(watches.clone()));
        let presented = Arc::new(presented);
        let server = Server::new(settings, Arc::clone(&presented) as _);
        let conditions = Asked::begin_all(self.conditions()).await.map_err(ServeError::Conditions)?;
        let unknown_keys = known.missing();
        let ready = {
            let (conditions, lookups, unknown_keys) = (conditions.clone(), lookups.clone(), known.missing());
            move || {
                let mut missing = conditions.iter().filter_map(Asked::why_not);
                let keys_are_unknown = unknown_keys.as_ref().is_some_and(|are_unknown| are_unknown());
                missing.next().is_none()
                    && !keys_are_unknown
                    && presented.missing().is_none()
                    && lookups.missing().is_empty()
            }
        };
        let telemetry = Telemetry::new(
            Arc::clone(&identity),
            &certificates,
            lookups.clone(),
            server.load(),
            Box::new(ready),
            own,
            observer,
        );
        telemetry.expect(self.hook_names());
        let lines = self.lines.clone();
        let metrics = telemetry.clone();
        let mut server = server
            .report(move || {
                let broken = watches.iter().filter_map(|(of, state)| state.line(of));
                lines.iter().map(|line| line()).chain(broken).collect()
            })
            .probes_ready_when("lookups", move || {
                let missing = lookups.missing();
                (!missing.is_empty()).then(|| missing.join(", "))
            })
            .clients(known.clients)
            .metrics(CONTENT_TYPE, move || metrics.metrics())
            .observer(telemetry);
        for condition in conditions {
            server = server.ready_when(condition.name().to_owned(), move || condition.why_not());
        }
        if let Some(are_unknown) = unknown_keys {
            server =
                server.ready_when("the keys of the token issuer", move || are_unknown().then(String::new));
        }
        let mut hooks = Vec::new();
        for registered in self.hooks() {
            let entry = &registered.entry;
            let timeout = Duration::from_secs(entry.timeout_seconds.into());
            server = server.route(entry.path.as_str(), registered.hook(&environment), timeout);
            hooks.push(entry.path.clone());
        }
        for converted in self.conversions() {
            let path = converted.path();
            server = server.route_conversion(path.as_str(), converted.conversion.hook(&converted.name));
            hooks.push(path);
        }
        if let Some(reach) = &reach {
            server = server.route(reach.path(), reach.hook(), Reach::TIMEOUT);
        }
        let server = server.bind().await?;
        // Weak: a handle that outlives the server keeps no identity alive.
        let registering = Arc::downgrade(&identity);
        server.shutdown().when_begun(move || {
            if let Some(identity) = registering.upgrade() {
                identity.draining();
            }
        });
        Ok(Bound { server, identity, reach, hooks, works, follows: known.follows })
    }
}

impl App {
    fn reach(&self, client: Option<&kube::Client>, target: Target) -> Result<Reach, AppError> {
        let missing = || AppError {
            name: self.name().to_owned(),
            problems: vec![format!(
                "whether {target} leads here is asked of a cluster: set `Options::client`"
            )],
        };
        let client = client.ok_or_else(missing)?.clone();
        Ok(Reach::new(client, target, self.name()))
    }
}

impl Bound {
    /// Where HTTPS is served.
    pub fn address(&self) -> SocketAddr {
        self.server.address()
    }

    /// Where `/livez`, `/readyz`, `/startupz` and `/metrics` are served, if they are.
    pub fn probes_address(&self) -> Option<SocketAddr> {
        self.server.probes_address()
    }

    /// The handle that ends it, from anywhere.
    pub fn shutdown(&self) -> Shutdown {
        self.server.shutdown()
    }

    /// Resolves when `/readyz` would first say `ok`, for whoever wires things by hand; an app has [`App::when_ready`].
    pub fn ready(&self) -> impl Future<Output = ()> + Send + use<> {
        self.server.ready()
    }

    /// Serves until the [`Shutdown`] handle ends it. Returns how many connections were cut off in the end. Dropped before that,
    /// as a `select!` does, it ends at once: both ports are closed, and so is every connection.
    ///
    /// # Errors
    /// Work of [`App::when_ready`] ended, or panicked, before a shutdown had begun. Calls are answered until the replica has
    /// drained.
    pub async fn serve(self) -> Result<usize, ServeError> {
        let probes = self.probes_address().map(|address| address.to_string());
        let (address, hooks) = (self.address(), self.hooks.join(","));
        let names = self.identity.present().map(|leaf| leaf.names.join(","));
        let waits_for = self.identity.status().waiting_for;
        tracing::info!(%address, probes, names, hooks, waits_for, "serving");
        let (ready, shutdown) = (self.ready(), self.shutdown());
        let (identity, works, _follows) = (self.identity, self.works, self.follows);
        let reach = self.reach.as_ref();
        let beside = async move {
            ready.await;
            let register = async {
                if let Some(reach) = reach {
                    reach.reached(&*identity).await;
                }
                identity.serving();
                std::future::pending().await
            };
            tokio::select! {
                never = register => never,
                over = work::run(works) => over,
            }
        };
        let mut serving = pin!(self.server.serve());
        let over = tokio::select! {
            cut = &mut serving => Ok(cut),
            over = beside => Err(over),
        };
        let served = match over {
            Ok(cut) => Ok(cut),
            // An operator listens to signals too.
            Err(WorkOver::Ended) if shutdown.has_begun() => Ok(serving.await),
            Err(over) => {
                let error = match over {
                    WorkOver::Ended => ServeError::WorkEnded,
                    WorkOver::Panicked => ServeError::WorkPanicked,
                };
                tracing::error!(%error, "draining");
                shutdown.drain();
                serving.await;
                Err(error)
            }
        };
        if let Some(reach) = reach {
            reach.withdraw().await;
        }
        served
    }

    /// Serves until SIGTERM has drained it or SIGINT has stopped it; a second signal ends the process at once, even while
    /// handlers that never await hold every thread of the runtime.
    ///
    /// # Errors
    /// The system refuses to tell of signals. Work of [`App::when_ready`] ended, or panicked, before a signal came.
    pub async fn serve_until_signalled(self) -> Result<(), ServeError> {
        let signalled = heed_signals(self.shutdown()).map_err(ServeError::Signals)?;
        match self.serve().await {
            Ok(0) => tracing::info!("stopped"),
            Ok(cut) => tracing::warn!(connections = cut, "stopped; connections were cut off"),
            // An operator may hear the same signal a moment earlier.
            Err(ServeError::WorkEnded) if signalled.load(Ordering::Relaxed) => tracing::info!("stopped"),
            Err(error) => return Err(error),
        }
        Ok(())
    }
}

/// Signals are heard on a thread of their own: no handler can hold it up. The result tells whether one was.
fn heed_signals(shutdown: Shutdown) -> std::io::Result<Arc<AtomicBool>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let entered = runtime.enter();
    let (mut terminate, mut interrupt) = (signal(SignalKind::terminate())?, signal(SignalKind::interrupt())?);
    drop(entered);
    let signalled = Arc::new(AtomicBool::new(false));
    let heard = Arc::clone(&signalled);
    let heed = async move {
        tokio::select! {
            _ = terminate.recv() => {
                heard.store(true, Ordering::Relaxed);
                // First done, then told: whoever reads it and asks `/readyz` is not told otherwise.
                shutdown.drain();
                tracing::info!("draining: SIGTERM");
            }
            _ = interrupt.recv() => {
                heard.store(true, Ordering::Relaxed);
                tracing::info!("stopping: SIGINT");
                shutdown.stop();
            }
        }
        tokio::select! {
            _ = terminate.recv() => {}
            _ = interrupt.recv() => {}
        }
        tracing::warn!("ending at once: a second signal");
        #[expect(clippy::disallowed_methods, reason = "leaving `main` would wait for the runtime's threads")]
        std::process::exit(0);
    };
    std::thread::Builder::new().name("signals".to_owned()).spawn(move || runtime.block_on(heed))?;
    Ok(signalled)
}
