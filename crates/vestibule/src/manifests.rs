//! Everything that a cluster must be told for a webhook to run there.

mod files;
mod network;
mod rights;
mod workload;

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::{Value, json};
use vestibule_identity::{NamespacedName, RegistrationName, Settings, Source};

pub use self::files::Files;
use self::rights::Right;
use self::workload::Pods;
use crate::defaults::{https_port, plain_port};
use crate::{App, AppError, RegistrationMode, Target};

/// How a webhook is installed on a cluster: what its manifests are printed from, and its `serve` is told.
///
/// [`App::installation`] makes one from what the app says of itself; each field may then be changed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Installation {
    /// What the objects are called, the configurations among them. The app's name.
    pub name: String,
    /// Where the API server finds the webhook. With a URL, no workload is printed: it runs elsewhere.
    pub target: Target,
    /// Where the certificate comes from. A CA ring that the replicas keep.
    pub identity: Source,
    /// What goes into the configurations as `caBundle`, in PEM. Empty, so that whoever keeps it is left alone.
    pub ca_bundle: String,
    /// The Secret of the CA ring. Unless given, `SERVICE-ring` beside the Service.
    pub secret: Option<NamespacedName>,
    /// The configurations whose `caBundle` the ring keeps. Unless given, those that are printed.
    pub registrations: Option<Vec<RegistrationName>>,
    /// Who writes the entries of configurations. Unless given, [the usual](RegistrationMode::usual).
    pub registration_mode: Option<RegistrationMode>,
    /// The ServiceAccount that the webhook runs as. Unless given, one of the installation's name is printed.
    pub account: Option<NamespacedName>,
    /// The container's image. Without one, no workload is printed: rights and configurations alone.
    pub image: Option<String>,
    /// How many pods. 2.
    pub replicas: u16,
    /// Whether the pods use their nodes' network, where the API server cannot reach the pods' own.
    pub host_network: bool,
    /// The HTTPS port of the pods. Unless given 10250, which managed control planes may reach; 10260 on the host's
    /// network, where 10250 is the kubelet's.
    pub port: Option<u16>,
    /// The pods' plain port, for probes and metrics. Unless given 9090; 10261 on the host's network.
    pub plain_port: Option<u16>,
    /// With mounted files: the Secret that holds them. Unless given, `NAME-tls`.
    pub mounted_secret: Option<String>,
    /// The cluster's DNS domain. `cluster.local`.
    pub cluster_domain: String,
    /// How long a pod that ends goes on taking connections. 10 s.
    pub drain_delay: Duration,
    /// How long it waits at most for connections to end; the pod's grace period is 25 s longer. 95 s.
    pub drain_timeout: Duration,
    /// The addresses that the API server calls from, as CIDRs: the HTTPS port takes no others. Any, where none is
    /// given: it is no pod, and no label selects it.
    pub api_server_cidrs: Vec<String>,
    /// The ports that the API server listens on, by its Service and behind it. 443 and 6443.
    pub api_server_ports: Vec<u16>,
    /// The pods' priority. `system-cluster-critical`: others wait for them.
    pub priority_class: Option<String>,
    /// Labels of the pods', beside `app.kubernetes.io/name`.
    pub pod_labels: BTreeMap<String, String>,
    /// Files that the pods find in folders.
    pub files: Vec<Files>,
    /// Variables of the container's, beside `POD_NAMESPACE`.
    pub env: Vec<(String, String)>,
    /// Further arguments of `serve`.
    pub arguments: Vec<String>,
}

impl Installation {
    /// An installation with every default. The name is the Service's.
    #[must_use]
    pub fn new(target: Target) -> Self {
        let name = match &target {
            Target::Service { name, .. } => name.clone(),
            Target::Url(_) => String::new(),
        };
        let server = vestibule_server::Settings::default();
        Self {
            name,
            target,
            identity: Source::SelfManaged,
            ca_bundle: String::new(),
            secret: None,
            registrations: None,
            registration_mode: None,
            account: None,
            image: None,
            replicas: 2,
            host_network: false,
            port: None,
            plain_port: None,
            mounted_secret: None,
            cluster_domain: Settings::default().cluster_domain,
            drain_delay: server.drain_delay,
            drain_timeout: server.drain_timeout,
            api_server_cidrs: Vec::new(),
            api_server_ports: vec![443, 6443],
            priority_class: Some("system-cluster-critical".to_owned()),
            pod_labels: BTreeMap::new(),
            files: Vec::new(),
            env: Vec::new(),
            arguments: Vec::new(),
        }
    }

    /// The HTTPS port of the pods.
    #[must_use]
    pub fn pod_port(&self) -> u16 {
        self.port.unwrap_or_else(|| https_port(self.host_network))
    }

    /// The plain port of the pods.
    #[must_use]
    pub fn pod_plain_port(&self) -> u16 {
        self.plain_port.unwrap_or_else(|| plain_port(self.host_network))
    }

    /// The ServiceAccount that the webhook runs as.
    #[must_use]
    pub fn service_account(&self) -> Option<NamespacedName> {
        let own = || self.service().map(|service| NamespacedName { name: self.name.clone(), ..service });
        self.account.clone().or_else(own)
    }

    /// The Service, where there is one.
    #[must_use]
    pub fn service(&self) -> Option<NamespacedName> {
        match &self.target {
            Target::Service { namespace, name, .. } => {
                Some(NamespacedName { namespace: namespace.clone(), name: name.clone() })
            }
            Target::Url(_) => None,
        }
    }

    /// Who writes the entries of configurations.
    #[must_use]
    pub fn registration_mode(&self) -> RegistrationMode {
        self.registration_mode.unwrap_or(RegistrationMode::usual(&self.identity, Some(&self.target)))
    }

    /// Of a CA ring, where there is one.
    fn ring(&self, app: &App) -> Result<Option<(NamespacedName, Vec<RegistrationName>)>, String> {
        if self.identity != Source::SelfManaged {
            return Ok(None);
        }
        let of_the_service = || Settings::for_service(self.service()?).secret;
        let secret = self.secret.clone().or_else(of_the_service);
        let secret = secret.ok_or("behind a URL, the Secret of the CA ring must be named")?;
        let printed = || app.registration_names(&self.name);
        let mut registrations = self.registrations.clone().unwrap_or_else(printed);
        if self.registration_mode() == RegistrationMode::Managed {
            registrations.extend(app.left_over(&registrations));
        }
        Ok(Some((secret, registrations)))
    }

    /// Why there can be no pods of it.
    fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        match (&self.identity, &self.target) {
            (_, Target::Url(_)) => {
                problems.push("behind a URL there are no pods: an image is of no use".to_owned());
            }
            (Source::SelfManaged | Source::Mounted(_), _) => {}
            (other, _) => problems.push(format!(
                "pods cannot have the identity `{other}`: take `self`, or `mounted:DIR` with the files of a Secret"
            )),
        }
        if self.pod_port() == self.pod_plain_port() {
            problems.push(format!("both ports are {}: give one of them another number", self.pod_port()));
        }
        problems
    }
}

impl App {
    /// Every object that a cluster needs to run this webhook and to call it, ready to apply: definitions of custom
    /// resources that it converts, ServiceAccount, roles, Service, NetworkPolicy, PodDisruptionBudget, Deployment, configurations. The Namespace is not among them: it is
    /// not the webhook's to make, nor to take away.
    ///
    /// The roles hold what the app does and nothing else. Pods pass the `restricted` Pod Security Standard, unless they
    /// use their node's network.
    ///
    /// ```
    /// # use k8s_openapi::api::core::v1::Pod;
    /// # use vestibule::{App, Context, Operation::Create, Reject, Target, on};
    /// # async fn label(pod: Pod, _: Context) -> Result<Pod, Reject> { Ok(pod) }
    /// let app = App::new("labeller").mutate("label", on::<Pod>([Create]).fail_open(), label);
    /// let mut installation = app.installation(Target::service("shop/labeller")?);
    /// installation.image = Some("registry.example.com/labeller:1.0".to_owned());
    /// let kinds: Vec<_> = app.manifests(&installation)?.iter().map(|object| object["kind"].clone()).collect();
    /// assert!(kinds.contains(&"Deployment".into()) && kinds.contains(&"MutatingWebhookConfiguration".into()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The app is not in order, or cannot be installed so; every problem is named.
    pub fn manifests(&self, installation: &Installation) -> Result<Vec<Value>, AppError> {
        let mut objects = self.roles(installation)?;
        if installation.image.is_some() {
            self.not_so(installation.problems())?;
            let pods = Pods { app: self, installation };
            objects.splice(..0, pods.service_account());
            objects.extend(network::objects(&pods));
            objects.extend(pods.files());
            objects.extend(pods.deployment());
        }
        objects.extend(self.configurations(installation)?);
        // What others are made of, first.
        objects.sort_by_key(|object| !is_definition(object));
        Ok(labelled(objects, &installation.name))
    }

    /// An installation behind `target`, as the app says of itself. The ring's Secret is in the Service's namespace where
    /// the app names none.
    #[must_use]
    pub fn installation(&self, target: Target) -> Installation {
        let defaults = &self.defaults;
        let mut installation = Installation { name: self.name().to_owned(), ..Installation::new(target) };
        installation.port = defaults.port;
        installation.plain_port = defaults.metrics_listen.flatten().map(|address| address.port());
        installation.host_network = defaults.host_network;
        installation.image.clone_from(&defaults.image);
        let secret = defaults.secret.as_deref().zip(installation.service());
        let named = |(text, service): (&str, NamespacedName)| {
            NamespacedName::parse_in(text, Some(&service.namespace)).ok()
        };
        installation.secret = secret.and_then(named);
        installation.replicas = defaults.replicas.unwrap_or(installation.replicas);
        installation
    }

    /// Roles and their bindings: what the ring takes, and what the app reads.
    pub(crate) fn roles(&self, installation: &Installation) -> Result<Vec<Value>, AppError> {
        self.check()?;
        let ring = installation.ring(self).or_else(|problem| self.not_so(vec![problem]).map(|()| None))?;
        let mut rights = ring.map_or_else(Vec::new, |(secret, names)| rights::of_a_ring(&secret, &names));
        // With a folder of a laptop's, it is the laptop that speaks to the cluster.
        if matches!(installation.identity, Source::SelfManaged | Source::Mounted(_)) {
            rights.extend(self.rights_to_read());
            rights.extend(self.defaults.rights.iter().map(Right::of_the_author));
        }
        if rights.is_empty() {
            return Ok(Vec::new());
        }
        match installation.service_account() {
            Some(account) => {
                let roles = rights::objects(&installation.name, &account, rights);
                Ok(labelled(roles, &installation.name))
            }
            None => {
                let problem = "behind a URL, the ServiceAccount that the webhook runs as must be named";
                self.not_so(vec![problem.to_owned()]).map(|()| Vec::new())
            }
        }
    }

    pub(crate) fn configurations(&self, installation: &Installation) -> Result<Vec<Value>, AppError> {
        let registration = self.registration(&installation.target, &installation.ca_bundle)?;
        let mut objects = match installation.registration_mode() {
            RegistrationMode::Managed => registration.without_entries().objects(),
            RegistrationMode::Static => registration.objects(),
        };
        // A definition's name is its resource's.
        for object in objects.iter_mut().filter(|object| !is_definition(object)) {
            object["metadata"]["name"] = json!(installation.name);
        }
        Ok(labelled(objects, &installation.name))
    }

    /// What the app reads while it decides.
    fn rights_to_read(&self) -> Vec<Right> {
        let namespaces = || Right::new(None, "", "namespaces", &["get", "list", "watch"]);
        let reads = self.reads();
        let looked_up =
            reads.iter().map(|it| Right::new(it.namespace.as_deref(), &it.group, &it.resource, it.verbs));
        self.needs_namespaces().then(namespaces).into_iter().chain(looked_up).collect()
    }

    fn reads_the_cluster(&self) -> bool {
        self.needs_client() || self.needs_namespaces() || !self.defaults.rights.is_empty()
    }

    fn not_so(&self, problems: Vec<String>) -> Result<(), AppError> {
        if problems.is_empty() { Ok(()) } else { Err(AppError { name: self.name().to_owned(), problems }) }
    }
}

fn is_definition(object: &Value) -> bool {
    object["kind"] == "CustomResourceDefinition"
}

fn labelled(mut objects: Vec<Value>, name: &str) -> Vec<Value> {
    for object in &mut objects {
        object["metadata"]["labels"]["app.kubernetes.io/name"] = json!(name);
    }
    objects
}

#[cfg(test)]
mod tests;
