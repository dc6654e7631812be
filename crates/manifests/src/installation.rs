//! The settings of one place where a webhook runs.

use std::collections::BTreeMap;
use std::time::Duration;

use serde_json::Value;
use vestibule::identity::{NamespacedName, RegistrationName, Settings, Source};

use super::{Files, RegistrationMode};
use vestibule::tooling::{https_port, is_dns_subdomain, plain_port};
use vestibule::{App, Target};

/// How a webhook is installed on a cluster: the input of its manifests, and of the arguments of `serve` in them.
///
/// [`Installation::of`] fills one from the app; each field may then be changed.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Installation {
    /// The name of the objects and of the configurations. Default: the app's name.
    pub name: String,
    /// The Service or URL that the API server calls. With a URL no workload is printed: the webhook runs elsewhere.
    pub target: Target,
    /// The source of the certificate. Default: a CA ring that the replicas keep.
    pub identity: Source,
    /// The `caBundle` of the configurations, in PEM. Default: empty, so that applying the manifests leaves the present
    /// one.
    pub ca_bundle: String,
    /// The Secret of the CA ring. Default: `SERVICE-ring` in the namespace of the Service.
    pub secret: Option<NamespacedName>,
    /// The configurations whose `caBundle` the ring keeps. Default: the printed ones.
    pub registrations: Option<Vec<RegistrationName>>,
    /// Whether the webhook writes the entries of configurations, or the manifests hold them. Default:
    /// [`RegistrationMode::usual`].
    pub registration_mode: Option<RegistrationMode>,
    /// The ServiceAccount that the webhook runs as. Default: one with the installation's name is printed.
    pub account: Option<NamespacedName>,
    /// The container's image. Without one, only roles and configurations are printed.
    pub image: Option<String>,
    /// The ConfigMap in the namespace of the pods that changes their log levels, or `off`. Default: `APP-logging` for
    /// pods that connect to the API server for another reason.
    pub log_config_map: Option<String>,
    /// The number of pods. Default: 2.
    pub replicas: u16,
    /// Whether the pods use the network of their nodes, for clusters whose API server cannot reach pods.
    pub host_network: bool,
    /// The HTTPS port of the pods. Default: 10250, which the firewalls of managed control planes let through; 10260 on
    /// the host's network, where the kubelet has 10250.
    pub port: Option<u16>,
    /// The pods' port for probes and metrics, without TLS. Default: 9090; 10261 on the host's network.
    pub plain_port: Option<u16>,
    /// With mounted files: the Secret that holds them. Default: `NAME-tls`.
    pub mounted_secret: Option<String>,
    /// The DNS domain of the cluster. Default: `cluster.local`.
    pub cluster_domain: String,
    /// The time after SIGTERM in which a pod still accepts connections. Default: 10 s.
    pub drain_delay: Duration,
    /// The time after SIGTERM in which open connections may end; the pod's grace period is 25 s longer. Default: 95 s.
    pub drain_timeout: Duration,
    /// The addresses that the API server calls from, as CIDRs: the NetworkPolicy admits no others to the HTTPS port.
    /// Default: any address, because a policy cannot select the API server by labels.
    pub api_server_cidrs: Vec<String>,
    /// The ports of the API server: of its Service and of its endpoints. Default: 443 and 6443.
    pub api_server_ports: Vec<u16>,
    /// The priority class of the pods. Default: `system-cluster-critical`, because the creation of other pods may
    /// depend on the webhook.
    pub priority_class: Option<String>,
    /// Labels of the pods, besides `app.kubernetes.io/name`.
    pub pod_labels: BTreeMap<String, String>,
    /// Files that the pods find in folders.
    pub files: Vec<Files>,
    /// Definitions of the custom resources that the webhook reads. They are printed with and without pods.
    pub definitions: Vec<Value>,
    /// Further objects, such as a ConfigMap that the pods read over the API.
    pub objects: Vec<Value>,
    /// Whether the pods ask the API server for the public keys of its tokens, and so need a token themselves. Default:
    /// no.
    pub reads_token_keys: bool,
    /// Environment variables of the container, besides `POD_NAMESPACE`.
    pub env: Vec<(String, String)>,
    /// Further arguments of `serve`.
    pub arguments: Vec<String>,
}

impl Installation {
    /// An installation behind `target`, with the app's own defaults. The ring's Secret is in the Service's namespace
    /// unless the app names another.
    #[must_use]
    pub fn of(app: &App, target: Target) -> Self {
        let defaults = app.defaults();
        let server = vestibule::server::Settings::default();
        let secret = defaults.secret.as_deref().zip(target.own_namespace());
        Self {
            name: app.name().to_owned(),
            identity: Source::SelfManaged,
            ca_bundle: String::new(),
            secret: secret.and_then(|(text, own)| NamespacedName::parse_in(text, Some(own)).ok()),
            target,
            registrations: None,
            registration_mode: None,
            account: None,
            image: defaults.image.clone(),
            log_config_map: None,
            replicas: defaults.replicas.unwrap_or(2),
            host_network: defaults.host_network,
            port: defaults.port,
            plain_port: defaults.metrics_listen.flatten().map(|address| address.port()),
            mounted_secret: None,
            cluster_domain: Settings::default().cluster_domain,
            drain_delay: server.drain_delay,
            drain_timeout: server.drain_timeout,
            api_server_cidrs: Vec::new(),
            api_server_ports: vec![443, 6443],
            priority_class: Some("system-cluster-critical".to_owned()),
            pod_labels: BTreeMap::new(),
            files: Vec::new(),
            definitions: Vec::new(),
            objects: Vec::new(),
            reads_token_keys: false,
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
        let own = || {
            self.target.service_name().map(|service| NamespacedName { name: self.name.clone(), ..service })
        };
        self.account.clone().or_else(own)
    }

    /// Whether the webhook writes the entries of configurations, or the manifests hold them.
    #[must_use]
    pub fn registration_mode(&self) -> RegistrationMode {
        self.registration_mode.unwrap_or(RegistrationMode::usual(&self.identity, Some(&self.target)))
    }

    /// The Secret of the CA ring and the configurations whose `caBundle` it keeps; `None` without a ring.
    pub(super) fn ring(&self, app: &App) -> Result<Option<Settings>, String> {
        if self.identity != Source::SelfManaged {
            return Ok(None);
        }
        let of_the_service = || Settings::for_service(self.target.service_name()?).secret;
        let secret = self.secret.clone().or_else(of_the_service);
        let secret = secret.ok_or("behind a URL, the Secret of the CA ring must be named")?;
        let printed = || app.registration_names(&self.name);
        let mut registrations = self.registrations.clone().unwrap_or_else(printed);
        if self.registration_mode() == RegistrationMode::Managed {
            registrations.extend(app.unused_kinds(&registrations));
        }
        let mut settings = Settings::default();
        (settings.secret, settings.registrations) = (Some(secret), registrations);
        Ok(Some(settings))
    }

    /// Whether the pods connect to the API server for another reason than log levels.
    pub(super) fn speaks_to_the_cluster(&self, app: &App) -> bool {
        self.identity == Source::SelfManaged || self.reads_token_keys || app.reads_the_cluster()
    }

    /// The ConfigMap that changes log levels; `None` if the pods follow none.
    pub(super) fn followed_log_config_map(&self, app: &App) -> Option<String> {
        match self.log_config_map.as_deref() {
            Some("off") => None,
            Some(name) => Some(name.to_owned()),
            None => {
                let asks = self.identity == Source::SelfManaged || app.reads_the_cluster();
                asks.then(|| format!("{}-logging", app.name()))
            }
        }
    }

    /// The reasons why these settings cannot be installed.
    pub(super) fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        // The name is the value of a label too.
        if !is_dns_subdomain(&self.name) || self.name.len() > 63 {
            problems.push(format!(
                "objects cannot be called `{}`: take at most 63 lower-case letters, digits, `-` and `.`",
                self.name
            ));
        }
        // Applied, the role would take the place of the cluster's.
        if ["admin", "cluster-admin", "edit", "view"].contains(&&*self.name) {
            problems.push(format!(
                "every cluster has a ClusterRole `{0}`: take another name than `{0}`",
                self.name
            ));
        }
        if self.image.is_some() {
            problems.extend(self.problems_of_pods());
        }
        problems
    }

    fn problems_of_pods(&self) -> Vec<String> {
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
        if let (Some(account), Some(namespace)) = (&self.account, self.target.own_namespace())
            && account.namespace != namespace
        {
            problems.push(format!(
                "pods in {namespace} cannot run as {account}: name a ServiceAccount beside them"
            ));
        }
        if !is_dns_subdomain(&self.cluster_domain.to_ascii_lowercase()) {
            problems.push(format!(
                "`{}` is no DNS domain of a cluster, such as cluster.local",
                self.cluster_domain
            ));
        }
        if self.drain_delay > self.drain_timeout {
            problems.push(format!(
                "connections are accepted for {:?} of a drain that ends after {:?}: calls would be cut off; take a longer drain timeout",
                self.drain_delay, self.drain_timeout
            ));
        }
        if self.pod_port() == self.pod_plain_port() {
            problems.push(format!("both ports are {}: give one of them another number", self.pod_port()));
        }
        problems
    }
}
