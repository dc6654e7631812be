//! The objects around the replicas of a soak: namespaces, Service, RBAC and webhook configuration.

mod rights;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::core::v1::Secret;
use kube::{Api, Client};
use vestibule_testenv::{Environment, Installed, Namespace, Service};

use self::rights::kubeconfig;
pub use self::rights::{ACCOUNT, grant};
use crate::{Counters, Options, Replica, hook};

const SERVICE: &str = "fire";
const SECRET: &str = "fire-ring";

/// A registered webhook, to which replicas can be added.
pub struct Cluster<'e> {
    environment: &'e Environment,
    home: Namespace,
    target: Namespace,
    service: Service,
    registration: String,
    kubeconfig: PathBuf,
    command: Command,
    started: AtomicUsize,
    counters: Arc<Counters>,
    _installed: Installed,
}

impl<'e> Cluster<'e> {
    /// Creates namespaces, Service, RBAC and webhook configuration; `program` is the replica.
    ///
    /// # Errors
    /// The API server refuses an object.
    pub async fn prepare(
        environment: &'e Environment,
        program: &Path,
        options: &Options,
    ) -> anyhow::Result<Self> {
        let (home, target) = (environment.namespace(&[]).await?, environment.namespace(&[]).await?);
        let service = environment.two_port_service(home.name(), SERVICE).await?;
        let registration = format!("fire-{home}");
        let named = format!("mutating/{registration}").parse()?;
        grant(environment, home.name(), SECRET, &[named]).await?;
        let configuration = hook::configuration(&registration, target.name(), &service);
        let installed = environment.install([configuration]).await?;
        let kubeconfig = kubeconfig(environment, home.name()).await?;
        let mut command = Command::new(program);
        command.arg("--kubeconfig").arg(&kubeconfig).args([
            format!("--namespace={home}"),
            format!("--service={SERVICE}"),
            format!("--secret={SECRET}"),
            format!("--registration=mutating/{registration}"),
            format!("--order={}", options.order.as_str()),
        ]);
        // Errors are compared and counted, without backtraces.
        command.args(options.timing.arguments()).env("RUST_BACKTRACE", "0");
        Ok(Self {
            environment,
            home,
            target,
            service,
            registration,
            kubeconfig,
            command,
            started: AtomicUsize::new(0),
            counters: Arc::default(),
            _installed: installed,
        })
    }

    /// Starts a replica that gets calls through the Service as soon as it is ready.
    ///
    /// # Errors
    /// The replica does not start.
    pub async fn start_replica(&self) -> anyhow::Result<Replica> {
        let replica = self.start_unrouted(|_| {}).await?;
        self.route(&replica)?;
        Ok(replica)
    }

    /// Starts a replica that is not an endpoint of the Service. `change` may add arguments; a repeated flag overrides the
    /// first.
    ///
    /// # Errors
    /// The replica does not start.
    pub async fn start_unrouted(&self, change: impl FnOnce(&mut Command)) -> anyhow::Result<Replica> {
        let mut command = Command::new(self.command.get_program());
        command.args(self.command.get_args());
        command.envs(self.command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        change(&mut command);
        let number = self.started.fetch_add(1, Ordering::Relaxed);
        Replica::start(self.environment, &command, number, Arc::clone(&self.counters)).await
    }

    /// Adds the replica to the Service, which calls it while it is ready.
    ///
    /// # Errors
    /// The replica's readiness cannot be watched.
    pub fn route(&self, replica: &Replica) -> anyhow::Result<()> {
        Ok(self.service.add_two_port_replica(replica.hooks(), Some(replica.probes()))?)
    }

    /// Removes the replica from the Service, and waits 1 s for calls in flight.
    pub async fn unroute(&self, replica: &Replica) {
        const UNDER_WAY: Duration = Duration::from_secs(1);
        let [close, _] = replica.hooks();
        self.service.remove_replica(close);
        tokio::time::sleep(UNDER_WAY).await;
    }

    /// The Service.
    #[must_use]
    pub fn service(&self) -> &Service {
        &self.service
    }

    /// The counters of calls, certificates and writes.
    #[must_use]
    pub fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }

    /// The environment with the API servers.
    #[must_use]
    pub fn environment(&self) -> &'e Environment {
        self.environment
    }

    /// The kubeconfig of the replicas.
    #[must_use]
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// The namespace of Service and Secret.
    #[must_use]
    pub fn home(&self) -> &str {
        self.home.name()
    }

    /// The namespace whose ConfigMaps the webhook mutates.
    #[must_use]
    pub fn target(&self) -> &str {
        self.target.name()
    }

    /// The name of the MutatingWebhookConfiguration.
    #[must_use]
    pub fn registration(&self) -> &str {
        &self.registration
    }

    /// The name of the Secret.
    #[must_use]
    pub fn secret(&self) -> &'static str {
        SECRET
    }

    /// The Secrets in the namespace of the Service.
    ///
    /// # Errors
    /// No client can be made.
    pub fn secrets(&self) -> anyhow::Result<Api<Secret>> {
        Ok(Api::namespaced(self.environment.admin()?, self.home.name()))
    }

    /// The MutatingWebhookConfigurations.
    ///
    /// # Errors
    /// No client can be made.
    pub fn configurations(&self) -> anyhow::Result<Api<MutatingWebhookConfiguration>> {
        Ok(Api::all(self.environment.admin()?))
    }

    /// A client for each API server.
    ///
    /// # Errors
    /// No client can be made.
    pub fn clients(&self) -> anyhow::Result<Vec<Client>> {
        let servers = [Some(self.environment.api_server()), self.environment.second()];
        servers.into_iter().flatten().map(|server| Ok(server.admin()?)).collect()
    }
}
