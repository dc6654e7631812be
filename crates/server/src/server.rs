//! The builder of a server: routes, conditions of readiness, clients, observer.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use vestibule_admission::{ConversionHook, Hook};

use crate::bind_error::BindError;
use crate::body::BodyReader;
use crate::bound::{Bound, listen};
use crate::certificate::PresentCertificate;
use crate::client::Clients;
use crate::limits::{Limits, Usage};
use crate::observer::{NoObserver, Observer, PanicGuard};
use crate::pipeline::{Pipeline, Route, Target};
use crate::probes::{Lines, Metrics, Probes};
use crate::readiness::{Condition, Readiness};
use crate::settings::Settings;
use crate::shutdown::Shutdown;
use crate::tls::Handshakes;

/// The time that kube-apiserver waits for every conversion (docs/apiserver.md, Conversion).
const CONVERSION_TIMEOUT: Duration = Duration::from_secs(30);

/// A server that is being configured.
pub struct Server {
    settings: Settings,
    certificate: Arc<dyn PresentCertificate>,
    routes: BTreeMap<String, Route>,
    duplicate_path: Option<String>,
    hook_conditions: Vec<Condition>,
    probe_conditions: Vec<Condition>,
    report: Lines,
    metrics: Option<Metrics>,
    clients: Clients,
    observer: Arc<dyn Observer>,
    usage: Usage,
}

impl Server {
    /// A server without hooks.
    pub fn new(settings: Settings, certificate: Arc<dyn PresentCertificate>) -> Self {
        Self {
            usage: Usage::new(Arc::new(Limits::of(&settings))),
            settings,
            certificate,
            routes: BTreeMap::new(),
            duplicate_path: None,
            hook_conditions: Vec::new(),
            probe_conditions: Vec::new(),
            report: Arc::new(Vec::new),
            metrics: None,
            clients: Clients::default(),
            observer: Arc::new(NoObserver),
        }
    }

    /// Serves `hook` at exactly `path`. Its handler gets `timeout` (the registration's `timeoutSeconds`) or the time that the caller
    /// asks for, the smaller of both, less the time that the answer needs for its way back ([`budget`](crate::budget)).
    #[must_use]
    pub fn route(self, path: impl Into<String>, hook: Hook, timeout: Duration) -> Self {
        let hook = match self.settings.max_depth {
            Some(levels) => hook.max_depth(levels),
            None => hook,
        };
        let max_body = self.settings.max_body;
        self.add(path.into(), Route { target: Target::Review(hook), max_body, timeout })
    }

    /// Serves the conversion of a custom resource at exactly `path`, within the same limits. The API server waits 30 s for every
    /// conversion.
    #[must_use]
    pub fn route_conversion(self, path: impl Into<String>, hook: ConversionHook) -> Self {
        let (target, max_body) = (Target::Conversion(hook), self.settings.max_conversion_body);
        self.add(path.into(), Route { target, max_body, timeout: CONVERSION_TIMEOUT })
    }

    /// Adds a condition, beside the serving certificate, without which no hook is called. `why_not` returns [`None`] while it holds,
    /// else the reason in a few words or an empty text. It is called at every request, so it must be cheap; a panic in it counts
    /// as the reason `panicked`.
    #[must_use]
    pub fn hooks_ready_when(
        mut self,
        name: impl Into<String>,
        why_not: impl Fn() -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.hook_conditions.push(Condition::new(name.into(), why_not));
        self
    }

    /// Adds a condition of `/readyz` only: hooks are called without it. `why_not` returns a reason that is shown alone, without
    /// `name`. It is for a need of some hooks; these answer [`Verdict::not_ready`] themselves.
    ///
    /// [`Verdict::not_ready`]: vestibule_admission::Verdict::not_ready
    #[must_use]
    pub fn probes_ready_when(
        mut self,
        name: impl Into<String>,
        why_not: impl Fn() -> Option<String> + Send + Sync + 'static,
    ) -> Self {
        self.probe_conditions.push(Condition::sentence(name, why_not));
        self
    }

    /// Adds lines for people below the conditions in `/readyz?verbose`.
    #[must_use]
    pub fn report(mut self, lines: impl Fn() -> Vec<String> + Send + Sync + 'static) -> Self {
        self.report = Arc::new(lines);
        self
    }

    /// Serves the text that `write` returns at `/metrics`, as `content_type`.
    #[must_use]
    pub fn metrics(
        mut self,
        content_type: &'static str,
        write: impl Fn() -> String + Send + Sync + 'static,
    ) -> Self {
        self.metrics = Some(Metrics { content_type, write: Arc::new(write) });
        self
    }

    /// Authenticates the clients of hooks and conversions. Probes stay open on both ports.
    #[must_use]
    pub fn clients(mut self, clients: Clients) -> Self {
        self.clients = clients;
        self
    }

    /// Reports events to `observer`. A panic of the observer is caught, and the call that it was told of continues.
    #[must_use]
    pub fn observer(mut self, observer: impl Observer) -> Self {
        self.observer = Arc::new(PanicGuard(observer));
        self
    }

    /// The use of the server's limits, for metrics that are set up before the [observer](Self::observer).
    pub fn usage(&self) -> Usage {
        self.usage.clone()
    }

    /// Binds the addresses.
    ///
    /// # Errors
    /// An address that cannot be bound, two hooks at one path, or a path that does not begin with `/`.
    pub async fn bind(self) -> Result<Bound, BindError> {
        let Self { settings, certificate, observer, clients, metrics, report, .. } = self;
        if let Some(path) = self.duplicate_path {
            return Err(BindError::Path { path });
        }
        if let Some(path) = self.routes.keys().find(|path| !path.starts_with('/')) {
            return Err(BindError::Relative { path: path.clone() });
        }
        let shutdown = Shutdown::new();
        let handshakes =
            Handshakes::new(settings.tls_min, Arc::clone(&certificate), clients.ask_for_certificates())?;
        let (hook_conditions, probe_conditions) = (self.hook_conditions, self.probe_conditions);
        let readiness =
            Arc::new(Readiness::new(hook_conditions, probe_conditions, certificate, shutdown.phases()));
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
        let limits = Arc::clone(self.usage.limits());
        let pipeline = Arc::new(Pipeline {
            routes: self.routes,
            bodies: BodyReader::new(settings.body_timeout, Arc::clone(&limits)),
            limits,
            readiness,
            probes: over_https,
            clients,
            observer,
            ask_elsewhere: settings.ask_elsewhere,
        });
        Ok(Bound { settings: Arc::new(settings), listener, address, probes, handshakes, pipeline, shutdown })
    }

    fn add(mut self, path: String, route: Route) -> Self {
        if self.routes.insert(path.clone(), route).is_some() {
            self.duplicate_path = Some(path);
        }
        self
    }
}
