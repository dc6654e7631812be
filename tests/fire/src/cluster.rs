//! Everything around the replicas: API servers, Service, rights, registration.

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

/// A registered webhook without a replica, in an environment.
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
    /// Makes namespaces, Service, rights and registration; `program` is the replica.
    ///
    /// # Errors
    /// The API server refuses something.
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
        // The words of an error are worth more than the way to it.
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

    /// One more replica, which the Service sends calls to as soon as it is ready.
    ///
    /// # Errors
    /// It does not start.
    pub async fn start_replica(&self) -> anyhow::Result<Replica> {
        let replica = self.start_unrouted(|_| {}).await?;
        self.route(&replica)?;
        Ok(replica)
    }

    /// One more replica that nobody calls, with more to its command: what is said twice counts the second time.
    ///
    /// # Errors
    /// It does not start.
    pub async fn start_unrouted(&self, change: impl FnOnce(&mut Command)) -> anyhow::Result<Replica> {
        let mut command = Command::new(self.command.get_program());
        command.args(self.command.get_args());
        command.envs(self.command.get_envs().filter_map(|(name, value)| Some((name, value?))));
        change(&mut command);
        let number = self.started.fetch_add(1, Ordering::Relaxed);
        Replica::start(self.environment, &command, number, Arc::clone(&self.counters)).await
    }

    /// Sends calls to the replica while it is ready.
    ///
    /// # Errors
    /// Its readiness cannot be watched.
    pub fn route(&self, replica: &Replica) -> anyhow::Result<()> {
        Ok(self.service.add_two_port_replica(replica.hooks(), Some(replica.probes()))?)
    }

    /// Sends no more calls to the replica, and waits until those that are on their way are over.
    pub async fn unroute(&self, replica: &Replica) {
        const UNDER_WAY: Duration = Duration::from_secs(1);
        let [close, _] = replica.hooks();
        self.service.remove_replica(close);
        tokio::time::sleep(UNDER_WAY).await;
    }

    /// Its Service.
    #[must_use]
    pub fn service(&self) -> &Service {
        &self.service
    }

    /// What happens here is counted in it.
    #[must_use]
    pub fn counters(&self) -> &Arc<Counters> {
        &self.counters
    }

    /// What the API servers and testenv have to offer.
    #[must_use]
    pub fn environment(&self) -> &'e Environment {
        self.environment
    }

    /// As whom replicas speak to the API server.
    #[must_use]
    pub fn kubeconfig(&self) -> &Path {
        &self.kubeconfig
    }

    /// The namespace of Service and Secret.
    #[must_use]
    pub fn home(&self) -> &str {
        self.home.name()
    }

    /// The ServiceAccount that replicas are.
    #[must_use]
    pub fn account(&self) -> &'static str {
        ACCOUNT
    }

    /// The namespace whose ConfigMaps go past the webhook.
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

    /// Secrets beside the Service.
    ///
    /// # Errors
    /// There is no runtime.
    pub fn secrets(&self) -> anyhow::Result<Api<Secret>> {
        Ok(Api::namespaced(self.environment.admin()?, self.home.name()))
    }

    /// All configurations.
    ///
    /// # Errors
    /// There is no runtime.
    pub fn configurations(&self) -> anyhow::Result<Api<MutatingWebhookConfiguration>> {
        Ok(Api::all(self.environment.admin()?))
    }

    /// A client for each API server.
    ///
    /// # Errors
    /// There is no runtime.
    pub fn clients(&self) -> anyhow::Result<Vec<Client>> {
        let servers = [Some(self.environment.api_server()), self.environment.second()];
        servers.into_iter().flatten().map(|server| Ok(server.admin()?)).collect()
    }
}
