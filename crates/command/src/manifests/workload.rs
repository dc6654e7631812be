//! The flags of the pods that `manifests` prints.

use std::net::IpAddr;
use std::time::Duration;

use clap::builder::BoolishValueParser;
use clap::{Args, value_parser};

use crate::CommandError;
use crate::conflicts::{refuse_given, without_an_image};
use crate::duration::duration;
use crate::image;
use vestibule_manifests::Installation;

/// How the webhook runs. A setting without a flag has the app's value, else the default of [`Installation`].
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "The pods")]
pub(super) struct WorkloadArguments {
    /// The image; without one, rights and configurations are printed, and no pods.
    #[arg(long, env = "VESTIBULE_IMAGE", value_parser = image)]
    pub(super) image: Option<String>,
    /// How many pods [default: 2]
    #[arg(long, env = "VESTIBULE_REPLICAS", value_name = "COUNT")]
    replicas: Option<u16>,
    /// The name of the objects, if it is not the webhook's name; --service names the Service.
    #[arg(long, env = "VESTIBULE_NAME")]
    name: Option<String>,
    /// Pods use their nodes' network, where the API server cannot reach theirs: with a port of their own, and without a
    /// NetworkPolicy. Without a value it is `true`; a value follows on `=`.
    #[arg(long, env = "VESTIBULE_HOST_NETWORK", value_name = "true|false")]
    #[arg(num_args = 0..=1, require_equals = true, default_missing_value = "true")]
    #[arg(value_parser = BoolishValueParser::new())]
    host_network: Option<bool>,
    /// The HTTPS port of the pods [default: 10250, on the host's network 10260]
    #[arg(long, env = "VESTIBULE_PORT", value_parser = value_parser!(u16).range(1..))]
    port: Option<u16>,
    /// The pods' plain port, for probes and metrics [default: 9090, on the host's network 10261]
    #[arg(long, env = "VESTIBULE_METRICS_PORT", value_name = "PORT", value_parser = value_parser!(u16).range(1..))]
    metrics_port: Option<u16>,
    /// Addresses that the API server calls from: the HTTPS port takes no others [default: any]
    #[arg(long, env = "VESTIBULE_API_SERVER_CIDR", value_delimiter = ',', value_name = "CIDR", value_parser = cidr)]
    api_server_cidr: Vec<String>,
    /// Ports of the API server that the pods may connect to [default: 443,6443]
    #[arg(long, env = "VESTIBULE_API_SERVER_PORT", value_delimiter = ',', value_name = "PORT")]
    #[arg(value_parser = value_parser!(u16).range(1..))]
    api_server_port: Vec<u16>,
    /// The pods' priority class, or `none` [default: system-cluster-critical]
    #[arg(long, env = "VESTIBULE_PRIORITY_CLASS", value_name = "NAME|none")]
    priority_class: Option<String>,
    /// With mounted:DIR: the Secret that holds the files [default: NAME-tls]
    #[arg(long, env = "VESTIBULE_MOUNTED_SECRET", value_name = "NAME")]
    mounted_secret: Option<String>,
    /// The DNS domain of the cluster [default: cluster.local]
    #[arg(long, env = "VESTIBULE_CLUSTER_DOMAIN", value_name = "DOMAIN")]
    cluster_domain: Option<String>,
    /// How long a pod that ends goes on taking connections [default: 10s]
    #[arg(long, env = "VESTIBULE_DRAIN_DELAY", value_name = "DURATION", value_parser = duration)]
    drain_delay: Option<Duration>,
    /// How long it waits at most for connections to end; its grace period is 25s longer [default: 95s]
    #[arg(long, env = "VESTIBULE_DRAIN_TIMEOUT", value_name = "DURATION", value_parser = duration)]
    drain_timeout: Option<Duration>,
    /// A variable of the container's; may be given several times.
    #[arg(long, value_name = "NAME=VALUE", value_parser = variable)]
    env: Vec<(String, String)>,
    /// Further arguments of `serve`, after `--`, for the pods.
    #[arg(last = true, value_name = "ARGUMENT")]
    serve: Vec<String>,
}

impl WorkloadArguments {
    pub(super) fn apply(&self, installation: &mut Installation) {
        if let Some(name) = &self.name {
            installation.name.clone_from(name);
        }
        installation.image = self.image.clone().or_else(|| installation.image.take());
        installation.replicas = self.replicas.unwrap_or(installation.replicas);
        installation.host_network = self.host_network.unwrap_or(installation.host_network);
        installation.port = self.port.or(installation.port);
        installation.plain_port = self.metrics_port.or(installation.plain_port);
        installation.mounted_secret.clone_from(&self.mounted_secret);
        installation.api_server_cidrs.clone_from(&self.api_server_cidr);
        if !self.api_server_port.is_empty() {
            installation.api_server_ports.clone_from(&self.api_server_port);
        }
        if let Some(class) = &self.priority_class {
            installation.priority_class = Some(class.clone()).filter(|class| class != "none");
        }
        if let Some(domain) = &self.cluster_domain {
            installation.cluster_domain.clone_from(domain);
        }
        installation.drain_delay = self.drain_delay.unwrap_or(installation.drain_delay);
        installation.drain_timeout = self.drain_timeout.unwrap_or(installation.drain_timeout);
        installation.env.extend(self.env.iter().cloned());
        installation.arguments.extend(self.serve.iter().cloned());
    }

    /// Refuses flags about pods if none are printed.
    pub(super) fn refuse_without_an_image(&self, pods_are_asked_for: bool) -> Result<(), CommandError> {
        let given = [
            ("--only workload", pods_are_asked_for),
            ("--replicas", self.replicas.is_some()),
            ("--host-network", self.host_network.is_some()),
            ("--port", self.port.is_some()),
            ("--metrics-port", self.metrics_port.is_some()),
            ("--api-server-cidr", !self.api_server_cidr.is_empty()),
            ("--api-server-port", !self.api_server_port.is_empty()),
            ("--priority-class", self.priority_class.is_some()),
            ("--mounted-secret", self.mounted_secret.is_some()),
            ("--cluster-domain", self.cluster_domain.is_some()),
            ("--drain-delay", self.drain_delay.is_some()),
            ("--drain-timeout", self.drain_timeout.is_some()),
            ("--env", !self.env.is_empty()),
            ("--", !self.serve.is_empty()),
        ];
        refuse_given(&given, without_an_image)
    }
}

/// A CIDR that a NetworkPolicy accepts. The API server checks the bits beyond the prefix.
fn cidr(text: &str) -> Result<String, String> {
    let parts = text
        .split_once('/')
        .and_then(|(address, prefix)| Some((address.parse::<IpAddr>().ok()?, prefix.parse::<u8>().ok()?)));
    match parts {
        Some((address, prefix)) if prefix <= if address.is_ipv4() { 32 } else { 128 } => Ok(text.to_owned()),
        _ => Err("write ADDRESS/BITS, such as 10.0.0.0/28".to_owned()),
    }
}

fn variable(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write NAME=VALUE".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_policy_gets_no_address_that_it_would_refuse() {
        for text in ["10.0.0.0/28", "fd00::/8", "0.0.0.0/0", "10.1.2.3/32"] {
            assert_eq!(cidr(text).as_deref(), Ok(text));
        }
        for text in ["", "10.0.0.0", "10.0.0.0/33", "fd00::/129", "shop/8", "10.0.0.0/"] {
            assert!(cidr(text).is_err(), "{text}");
        }
    }
}
