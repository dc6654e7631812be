//! Defaults of an app for its installation, which flags and environment variables of its binary override.

use std::net::SocketAddr;

use k8s_openapi::api::rbac::v1::PolicyRule;

use crate::app::App;
use crate::registration::target::Target;

/// The values of flags and environment variables that are not given.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct Defaults {
    /// [`App::service`].
    pub service: Option<String>,
    /// [`App::secret`].
    pub secret: Option<String>,
    /// [`App::port`].
    pub port: Option<u16>,
    /// [`App::metrics_listen`]; `Some(None)` is nowhere.
    pub metrics_listen: Option<Option<SocketAddr>>,
    /// [`App::host_network`].
    pub host_network: bool,
    /// [`App::image`].
    pub image: Option<String>,
    /// [`App::replicas`].
    pub replicas: Option<u16>,
    /// [`App::rights`] for every namespace (`None`), [`App::rights_in`] for one.
    pub rights: Vec<(Option<String>, PolicyRule)>,
}

/// The HTTPS port: one that managed control planes may reach; on the host's network, where it is the kubelet's, another.
pub fn https_port(host_network: bool) -> u16 {
    if host_network { 10260 } else { 10250 }
}

/// The plain port, for probes and metrics.
pub fn plain_port(host_network: bool) -> u16 {
    if host_network { 10261 } else { 9090 }
}

impl App {
    /// The Service in front of the webhook, `[NAMESPACE/]NAME[:PORT]`: without a namespace it is in the webhook's own, and
    /// its port is 443. Unless set, `manifests` names it as the app. `--service` wins.
    pub fn service(mut self, service: impl Into<String>) -> Self {
        self.defaults.service = Some(service.into());
        self
    }

    /// The Secret that holds the CA ring, `[NAMESPACE/]NAME`. Unless set, `SERVICE-ring` beside the Service. `--secret` wins.
    pub fn secret(mut self, secret: impl Into<String>) -> Self {
        self.defaults.secret = Some(secret.into());
        self
    }

    /// The HTTPS port, on every address. Unless set 10250, which managed control planes may reach; 10260 on the host's
    /// network, where 10250 is the kubelet's. `--port` and `--listen` win.
    pub fn port(mut self, port: u16) -> Self {
        self.defaults.port = Some(port);
        self
    }

    /// The address of probes and metrics, without TLS; [`None`] for no such port. Unless set, port 9090 on every address; 10261
    /// on the host's network. `--metrics-listen` wins.
    pub fn metrics_listen(mut self, address: impl Into<Option<SocketAddr>>) -> Self {
        self.defaults.metrics_listen = Some(address.into());
        self
    }

    /// The pods use their nodes' network, where the API server cannot reach the pods' own: other default ports, and other
    /// manifests. `--host-network` says so too.
    pub fn host_network(mut self) -> Self {
        self.defaults.host_network = true;
        self
    }

    /// The image that `manifests` prints a Deployment of. `--image` wins.
    pub fn image(mut self, image: impl Into<String>) -> Self {
        self.defaults.image = Some(image.into());
        self
    }

    /// How many pods `manifests` asks for; 2 unless set. `--replicas` wins.
    pub fn replicas(mut self, replicas: u16) -> Self {
        self.defaults.replicas = Some(replicas);
        self
    }

    /// Adds rights on the cluster to the ones that the framework derives: for a client that the handlers use, or an operator in
    /// the same process. Wildcards are refused.
    ///
    /// ```
    /// use k8s_openapi::api::rbac::v1::PolicyRule;
    /// let events = PolicyRule {
    ///     api_groups: Some(vec!["events.k8s.io".to_owned()]),
    ///     resources: Some(vec!["events".to_owned()]),
    ///     verbs: vec!["create".to_owned()],
    ///     ..PolicyRule::default()
    /// };
    /// let app = vestibule::App::new("labeller").rights([events]);
    /// ```
    pub fn rights(mut self, rights: impl IntoIterator<Item = PolicyRule>) -> Self {
        self.defaults.rights.extend(rights.into_iter().map(|right| (None, right)));
        self
    }

    /// Like [`App::rights`], in one namespace only.
    ///
    /// ```
    /// use k8s_openapi::api::rbac::v1::PolicyRule;
    /// let settings = PolicyRule {
    ///     api_groups: Some(vec![String::new()]),
    ///     resources: Some(vec!["configmaps".to_owned()]),
    ///     resource_names: Some(vec!["settings".to_owned()]),
    ///     verbs: vec!["get".to_owned()],
    ///     ..PolicyRule::default()
    /// };
    /// let app = vestibule::App::new("labeller").rights_in("shop", [settings]);
    /// ```
    pub fn rights_in(mut self, namespace: &str, rights: impl IntoIterator<Item = PolicyRule>) -> Self {
        self.defaults.rights.extend(rights.into_iter().map(|right| (Some(namespace.to_owned()), right)));
        self
    }
}

impl Defaults {
    /// The problems of these defaults, each with its remedy.
    pub(crate) fn problems(&self) -> Vec<String> {
        let mut problems = Vec::new();
        if let Some(service) = &self.service
            && Target::service_in(service, Some("own")).is_err()
        {
            problems.push(format!("`.service(\"{service}\")`: write [NAMESPACE/]NAME[:PORT]"));
        }
        if let Some(secret) = &self.secret
            && secret.split('/').any(str::is_empty) | (secret.matches('/').count() > 1)
        {
            problems.push(format!("`.secret(\"{secret}\")`: write [NAMESPACE/]NAME"));
        }
        if self.port == Some(0) {
            problems.push("`.port(0)`: the API server must find it; take a number".to_owned());
        }
        let wildcard = |rule: &&PolicyRule| {
            let lists = [&rule.api_groups, &rule.resources, &rule.non_resource_urls];
            lists.into_iter().flatten().flatten().chain(&rule.verbs).any(|word| word.contains('*'))
        };
        if self.rights.iter().map(|(_, rule)| rule).find(wildcard).is_some() {
            problems.push(
                "`.rights(..)`: name what is needed instead of `*`: a stolen token of the ServiceAccount \
                           carries these rights"
                    .to_owned(),
            );
        }
        problems
    }
}
