//! The flags that name the cluster of a command at a terminal, and the client for it.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use kube::{Client, Config};
use vestibule_identity::cluster_config;

use super::{CommandError, kubeconfig_help, namespace};

/// The timeout of requests: a person waits for the answer.
const TIMEOUT: Duration = Duration::from_secs(10);

/// The flags that select a cluster and a namespace.
#[derive(Args, Clone, Debug)]
pub(super) struct ConnectionArguments {
    /// The namespace of names without one. Unless given, the kubeconfig context's.
    #[arg(long, short, value_name = "NS", value_parser = namespace)]
    namespace: Option<String>,
    #[command(flatten)]
    kubeconfig: KubeconfigArguments,
}

/// The flags that select a cluster.
#[derive(Args, Clone, Debug)]
pub(super) struct KubeconfigArguments {
    #[arg(long, env = "VESTIBULE_KUBECONFIG", value_name = "FILE", help = kubeconfig_help())]
    kubeconfig: Option<PathBuf>,
    /// The kubeconfig's context, if it is not the current one.
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
}

/// A client of the cluster; no request has been sent yet.
pub(super) struct Connection {
    pub(super) client: Client,
    /// The namespace of names without one.
    pub(super) namespace: String,
    /// The address of the API server.
    pub(super) address: String,
}

impl ConnectionArguments {
    pub(super) async fn connect(&self) -> Result<Connection, CommandError> {
        let connection = self.kubeconfig.connect().await?;
        let namespace = self.namespace.clone().unwrap_or(connection.namespace);
        Ok(Connection { namespace, ..connection })
    }
}

impl KubeconfigArguments {
    /// The connection has the namespace of the kubeconfig context.
    pub(super) async fn connect(&self) -> Result<Connection, CommandError> {
        let config = self.config().await?;
        let (namespace, address) = (config.default_namespace.clone(), config.cluster_url.to_string());
        let client = Client::try_from(config).map_err(|error| self.unusable(&error))?;
        Ok(Connection { client, namespace, address })
    }

    async fn config(&self) -> Result<Config, CommandError> {
        let config = cluster_config(self.kubeconfig.as_deref(), self.context.as_deref()).await;
        let mut config = config.map_err(|error| self.unusable(&error))?;
        config.connect_timeout = Some(TIMEOUT);
        (config.read_timeout, config.reset_reader_on_write) = (Some(TIMEOUT), true);
        config.default_retry = false;
        Ok(config)
    }

    fn unusable(&self, error: &dyn fmt::Display) -> CommandError {
        let advice = match (&self.context, &self.kubeconfig) {
            (Some(_), _) => "`kubectl config get-contexts` lists those there are".to_owned(),
            (None, Some(path)) => format!("`kubectl --kubeconfig {} version` tries it", path.display()),
            (None, None) => "--kubeconfig FILE names another".to_owned(),
        };
        CommandError::input(format_args!("the cluster's configuration cannot be used: {error}; {advice}"))
    }
}

impl Connection {
    /// The cluster does not answer: exit code 3.
    pub(super) fn unreachable(&self, error: impl fmt::Display) -> CommandError {
        CommandError::unreachable(format_args!(
            "{error}; does `kubectl version` reach {}? --kubeconfig and --context name another cluster",
            self.address
        ))
    }
}
