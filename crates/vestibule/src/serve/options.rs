//! The options of serving an app.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use vestibule_identity::{self as identity, Identity, IdentityError, SelfManaged};
use vestibule_server::{Observer, Settings};

use super::client_identity::settings::ClientSettings;
use crate::pipeline::span::CallTraces;
use crate::registration::target::Target;
use crate::telemetry::certificates::CertificateCounters;

/// The API server closes connections that were idle for 90 s, so the webhook must keep them for longer.
pub const SHORTEST_IDLE: Duration = Duration::from_secs(91);

/// The options of [`App::bind`](crate::App::bind), for programs that do not use `vestibule_command::run`.
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
    /// The source of the serving certificate.
    pub identity: Arc<dyn Identity>,
    /// Addresses, limits and times.
    pub settings: Settings,
    /// Called for every decision, beside log and metrics.
    pub observer: Option<Arc<dyn Observer>>,
    /// Continues the traces of callers; `None` where no spans are exported.
    pub traces: Option<Arc<dyn CallTraces>>,
    /// The counters of the identity, for the metrics; a clone must be the identity's observer.
    pub certificates: CertificateCounters,
    /// The clients that may call. All, unless set.
    pub clients: ClientSettings,
    /// The client of lookups and background work; needed by an app with [`App::watch`](crate::App::watch),
    /// [`App::read`](crate::App::read) or [`App::background`](crate::App::background).
    pub client: Option<kube::Client>,
    /// The target of the entries of a process outside the cluster that registers itself ([`App::managed`](crate::App::managed)).
    /// The entries are written only after a call of the API server to this target has arrived in this process.
    /// [`Options::client`] must then be allowed to get, create and delete the ValidatingWebhookConfiguration `APP-reach`, and to
    /// create ConfigMaps in the Service's namespace, which is done as a dry run. Not checked, unless set: a pod behind its Service
    /// does not need it.
    pub must_reach: Option<Target>,
    /// Called before a second signal ends the process, for example to write the lines that a log has in memory
    /// (`vestibule_command::finish_logs`). It must return soon: the process ends after it.
    pub before_exit: Option<fn()>,
}

impl Options {
    /// HTTPS on `listen`, no port for probes, and the default limits of [`Settings`].
    pub fn new(listen: SocketAddr, identity: Arc<dyn Identity>) -> Self {
        let mut settings = Settings::default();
        settings.listen = listen;
        Self {
            identity,
            settings,
            observer: None,
            traces: None,
            certificates: CertificateCounters::default(),
            clients: ClientSettings::default(),
            client: None,
            must_reach: None,
            before_exit: None,
        }
    }

    /// HTTPS on `listen`, with certificates that the replicas keep themselves in the cluster of `client`;
    /// [`App::identity_settings`](crate::App::identity_settings) makes the settings.
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
    /// The settings are incomplete, or contradict each other.
    pub fn self_managed(
        listen: SocketAddr,
        client: kube::Client,
        mut settings: identity::Settings,
    ) -> Result<Self, IdentityError> {
        let certificates = settings
            .observer
            .take()
            .map_or_else(CertificateCounters::default, CertificateCounters::with_observer);
        settings.observer = Some(Arc::new(certificates.clone()));
        let registers = registers(&settings);
        let identity = SelfManaged::start(client.clone(), settings)?;
        let mut options = Self { certificates, client: Some(client), ..Self::new(listen, identity) };
        options.settings.ask_elsewhere = registers;
        Ok(options)
    }
}

/// Whether replicas write their own entries: then replicas of two versions may be called for each other's hooks.
pub fn registers(settings: &identity::Settings) -> bool {
    !settings.desired.is_empty() || settings.updates.is_some()
}
