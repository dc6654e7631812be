//! Everything around the replicas: API servers, Service, rights, registration.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::Context;
use k8s_openapi::api::admissionregistration::v1::MutatingWebhookConfiguration;
use k8s_openapi::api::authentication::v1::{TokenRequest, TokenRequestSpec};
use k8s_openapi::api::core::v1::{Secret, ServiceAccount};
use kube::api::PostParams;
use kube::{Api, Client};
use serde_json::{Value, json};
use vestibule_testenv::{Environment, Installed, Namespace, Service};

use crate::{Ledger, Options, Replica, hook};

const SERVICE: &str = "fire";
const SECRET: &str = "fire-ring";
const ACCOUNT: &str = "fire";

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
    ledger: Arc<Ledger>,
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
        let service = environment.service(home.name(), SERVICE).await?;
        let registration = format!("fire-{home}");
        let mut objects = rights(home.name(), &registration);
        objects.push(hook::configuration(&registration, target.name(), |path| service.reference(path)));
        let installed = environment.install(objects).await?;
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
            ledger: Arc::default(),
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
        Replica::start(self.environment, &command, number, Arc::clone(&self.ledger)).await
    }

    /// Sends calls to the replica while it is ready.
    ///
    /// # Errors
    /// Its readiness cannot be watched.
    pub fn route(&self, replica: &Replica) -> anyhow::Result<()> {
        Ok(self.service.add_replica(replica.hooks(), Some(replica.probes()))?)
    }

    /// Sends no more calls to the replica, and waits until those that are on their way are over.
    pub async fn unroute(&self, replica: &Replica) {
        const UNDER_WAY: Duration = Duration::from_secs(1);
        self.service.remove_replica(replica.hooks());
        tokio::time::sleep(UNDER_WAY).await;
    }

    /// Its Service.
    #[must_use]
    pub fn service(&self) -> &Service {
        &self.service
    }

    /// What happens here is counted in it.
    #[must_use]
    pub fn ledger(&self) -> &Arc<Ledger> {
        &self.ledger
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

/// What the documentation says a self-managed identity needs, and nothing else.
fn rights(namespace: &str, registration: &str) -> Vec<Value> {
    const RBAC: &str = "rbac.authorization.k8s.io";
    let object = |kind: &str, name: &str, namespace: Option<&str>, rest: (&str, Value)| {
        let mut object = json!({
            "apiVersion": format!("{RBAC}/v1"), "kind": kind,
            "metadata": { "name": name, "namespace": namespace },
        });
        object[rest.0] = rest.1;
        object
    };
    let binding = |kind: &str, name: &str, namespace_of_it: Option<&str>, role: &str| {
        let subjects = json!([{ "kind": "ServiceAccount", "name": ACCOUNT, "namespace": namespace }]);
        let mut object = object(kind, name, namespace_of_it, ("subjects", subjects));
        object["roleRef"] = json!({ "apiGroup": RBAC, "kind": role, "name": name });
        object
    };
    let events = json!({
        "apiGroups": ["", "events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"],
    });
    let own = json!([
        {
            "apiGroups": [""], "resources": ["secrets"], "resourceNames": [SECRET],
            "verbs": ["get", "list", "watch", "update", "patch"],
        },
        { "apiGroups": [""], "resources": ["secrets"], "verbs": ["create"] },
        events,
    ]);
    let everywhere = json!([{
        "apiGroups": ["admissionregistration.k8s.io"], "resources": ["mutatingwebhookconfigurations"],
        "resourceNames": [registration], "verbs": ["get", "list", "watch", "patch"],
    }]);
    vec![
        object("Role", ACCOUNT, Some(namespace), ("rules", own)),
        binding("RoleBinding", ACCOUNT, Some(namespace), "Role"),
        object("ClusterRole", registration, None, ("rules", everywhere)),
        binding("ClusterRoleBinding", registration, None, "ClusterRole"),
        object("Role", registration, Some("default"), ("rules", json!([events]))),
        binding("RoleBinding", registration, Some("default"), "Role"),
    ]
}

/// The ServiceAccount's, with a token that outlives any soak.
async fn kubeconfig(environment: &Environment, namespace: &str) -> anyhow::Result<PathBuf> {
    const LONG: i64 = 24 * 60 * 60;
    let path = environment.service_account_kubeconfig(namespace, ACCOUNT).await?;
    let accounts: Api<ServiceAccount> = Api::namespaced(environment.admin()?, namespace);
    let spec = TokenRequestSpec { expiration_seconds: Some(LONG), ..TokenRequestSpec::default() };
    let request = TokenRequest { spec: Some(spec), ..TokenRequest::default() };
    let parameters = PostParams::default();
    let answer: TokenRequest =
        accounts.create_subresource("token", ACCOUNT, &parameters, &request).await.context("a token")?;
    let mut kubeconfig: Value = serde_json::from_str(&std::fs::read_to_string(&path)?)?;
    if let Some(token) = kubeconfig.pointer_mut("/users/0/user/token") {
        *token = json!(answer.status.context("a token without status")?.token);
    }
    std::fs::write(&path, kubeconfig.to_string())?;
    Ok(path)
}
