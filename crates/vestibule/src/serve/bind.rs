//! Binds the addresses of an app. All that serving needs is made here, so that errors show before the first call.

use std::sync::Arc;
use std::time::Duration;

use prometheus_client::registry::Registry;
use vestibule_identity::Identity;
use vestibule_server::{ClientAuthentication, PresentCertificate, Server};

use super::certificate_source::CertificateSource;
use super::options::{Options, SHORTEST_IDLE};
use super::reachability::ReachCheck;
use super::{Bound, ServeError};
use crate::app::App;
use crate::app::check::AppError;
use crate::app::readiness::PolledCondition;
use crate::pipeline::environment::Environment;
use crate::registration::target::Target;
use crate::telemetry::{self, CONTENT_TYPE, Telemetry, gauges, process};

impl App {
    /// Binds the addresses. While there is no certificate, the server listens and answers probes; handshakes fail, and `/readyz`
    /// says for what it waits.
    ///
    /// # Errors
    /// The app has problems, the certificate cannot be used or there will never be one, the idle timeout is shorter than the API
    /// server's, or an address is in use.
    pub async fn bind(self, options: Options) -> Result<Bound, ServeError> {
        self.check()?;
        let Options {
            identity,
            settings,
            observer,
            traces,
            certificates,
            clients,
            client,
            must_reach,
            before_exit,
        } = options;
        let reach = must_reach.map(|target| self.reach(client.as_ref(), target)).transpose()?;
        if settings.idle_timeout < SHORTEST_IDLE {
            return Err(ServeError::Idle);
        }
        let presented = Arc::new(certificate_source(&identity)?);
        if clients.authentication == ClientAuthentication::Require && !self.conversions.is_empty() {
            tracing::warn!(
                "clients must authenticate, and the API server calls conversions without credentials: every read and write of a \
                 converted resource fails; observe clients instead, or limit their addresses by a NetworkPolicy"
            );
        }
        let client_identity = clients.start(client.as_ref())?;
        let works = self.works(client.as_ref())?;
        let mut environment = self.environment(client)?;
        environment.traces.clone_from(&traces);
        let lookups = environment.lookups.clone();
        let watches: Vec<_> = self.watches.iter().cloned().chain(lookups.watches()).collect();
        let server = Server::new(settings, Arc::clone(&presented) as _);
        let conditions =
            PolledCondition::begin_all(&self.conditions).await.map_err(ServeError::Conditions)?;
        let required_keys = client_identity.required_keys;
        let ready = {
            let (conditions, lookups, keys) = (conditions.clone(), lookups.clone(), required_keys.clone());
            move || {
                conditions.iter().all(|condition| condition.why_not().is_none())
                    && !keys.as_ref().is_some_and(|keys| keys.are_missing())
                    && presented.missing().is_none()
                    && lookups.missing().is_empty()
            }
        };
        let mut registry = Registry::default();
        let telemetry = Telemetry::register(&mut registry, observer, traces);
        telemetry.start_at_zero(self.hook_names());
        gauges::register_server(&mut registry, server.usage(), ready);
        certificates.register(&mut registry, Arc::clone(&identity));
        gauges::register_watches(&mut registry, lookups.clone(), watches.clone());
        process::register(&mut registry);
        self.metrics.iter().for_each(|register| register(&mut registry));
        let problems = telemetry::problems(&telemetry::page(&registry));
        if !problems.is_empty() {
            return Err(AppError::new(self.name(), problems).into());
        }
        let lines = self.lines.clone();
        let mut server = server
            .report(move || {
                let broken = watches.iter().filter_map(|(of, state)| state.line(of));
                lines.iter().map(|line| line()).chain(broken).collect()
            })
            .probes_ready_when("lookups", move || {
                let missing = lookups.missing();
                (!missing.is_empty()).then(|| missing.join(", "))
            })
            .clients(client_identity.clients)
            .metrics(CONTENT_TYPE, move || telemetry::page(&registry))
            .observer(telemetry);
        for condition in conditions {
            server = server.hooks_ready_when(condition.name().to_owned(), move || condition.why_not());
        }
        if let Some(keys) = required_keys {
            server = server.hooks_ready_when("the keys of the token issuer", move || {
                keys.are_missing().then(String::new)
            });
        }
        let (mut server, hooks) = self.routes(server, &environment);
        if let Some(reach) = &reach {
            server = server.route(reach.path(), reach.hook(), ReachCheck::TIMEOUT);
        }
        let server = server.bind().await?;
        // Weak, so that a shutdown handle that outlives the server does not keep the identity alive.
        let registering = Arc::downgrade(&identity);
        server.shutdown().when_begun(move || {
            if let Some(identity) = registering.upgrade() {
                identity.draining();
            }
        });
        Ok(Bound { server, identity, reach, hooks, works, reloads: client_identity.reloads, before_exit })
    }

    /// `server` with the paths of hooks and conversions, and these paths.
    fn routes(&self, mut server: Server, environment: &Environment) -> (Server, Vec<String>) {
        let mut paths = Vec::new();
        for registered in self.hooks() {
            let entry = &registered.entry;
            let timeout = Duration::from_secs(entry.on.timeout_seconds.into());
            server = server.route(entry.path.as_str(), registered.hook(environment), timeout);
            paths.push(entry.path.clone());
        }
        for converted in &self.conversions {
            let path = converted.path();
            server = server.route_conversion(path.as_str(), converted.conversion.hook(&converted.name));
            paths.push(path);
        }
        (server, paths)
    }

    fn reach(&self, client: Option<&kube::Client>, target: Target) -> Result<ReachCheck, AppError> {
        let Some(client) = client else {
            let problem = format!(
                "the API server must confirm that {target} reaches this process: set `Options::client`"
            );
            return Err(AppError::new(self.name(), vec![problem]));
        };
        Ok(ReachCheck::new(client.clone(), target, self.name()))
    }
}

/// The certificates of an identity that has one or waits for one.
fn certificate_source(identity: &Arc<dyn Identity>) -> Result<CertificateSource, ServeError> {
    // Read before the certificate: an identity that waits now may have one a moment later.
    let waits = identity.status().waiting_for.is_some();
    let source = CertificateSource::new(Arc::clone(identity));
    match source.certificate() {
        Some(certificate) => drop(certificate?),
        None if !waits => return Err(ServeError::NoCertificate),
        None => {}
    }
    Ok(source)
}
