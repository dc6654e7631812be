//! The flags that name the cluster of a command at a terminal, and its connection.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use kube::client::ClientBuilder;
use kube::client::retry::RetryPolicy;
use kube::{Client, Config};
use tower::buffer::BufferLayer;
use tower::retry::RetryLayer;
use vestibule::tooling::RequestError;
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
pub struct KubeconfigArguments {
    #[arg(long, env = "VESTIBULE_KUBECONFIG", value_name = "FILE", help = kubeconfig_help())]
    kubeconfig: Option<PathBuf>,
    /// The kubeconfig's context, if it is not the current one.
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
}

/// A client of a cluster, made of flags and a kubeconfig.
pub struct Connection {
    pub(super) client: Client,
    /// The namespace of names without one.
    pub(super) namespace: String,
    /// The address of the API server.
    address: String,
}

impl ConnectionArguments {
    pub(super) async fn connect(&self) -> Result<Connection, CommandError> {
        let connection = self.kubeconfig.connect().await?;
        let namespace = self.namespace.clone().unwrap_or(connection.namespace);
        Ok(Connection { namespace, ..connection })
    }
}

impl KubeconfigArguments {
    /// The cluster that the flags, the environment or the kubeconfig name. No request is sent yet. Requests time out after 10 s, since a
    /// person waits.
    ///
    /// # Errors
    /// The kubeconfig cannot be used, or none is there.
    pub async fn connect(&self) -> Result<Connection, CommandError> {
        let config = self.config().await?;
        let (namespace, address) = (config.default_namespace.clone(), config.cluster_url.to_string());
        let client = client(config).map_err(|error| self.unusable(&error))?;
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

/// A client that sends a request again, three times within some seconds, after 429, 503 and 504. The API server answers 429 while it
/// begins to store objects of a new kind. kube's own retries could take minutes.
fn client(config: Config) -> Result<Client, kube::Error> {
    // One command sends few requests at a time.
    let clonable = BufferLayer::new(16);
    let retries = RetryLayer::new(RetryPolicy::default());
    Ok(ClientBuilder::try_from(config)?.with_layer(&clonable).with_layer(&retries).build())
}

impl Connection {
    /// The client of the cluster.
    pub fn client(&self) -> &Client {
        &self.client
    }

    /// The namespace of the kubeconfig context.
    pub fn namespace(&self) -> &str {
        &self.namespace
    }

    /// The error, with advice if the API server does not answer (exit code 3).
    #[must_use]
    pub fn advised(&self, error: CommandError) -> CommandError {
        match error.code {
            3 => CommandError::unreachable(format_args!(
                "{error}; does `kubectl version` reach {}? --kubeconfig and --context name another cluster",
                self.address
            )),
            _ => error,
        }
    }
}

impl From<RequestError> for CommandError {
    fn from(error: RequestError) -> Self {
        match error {
            RequestError::Unauthorized => Self::input(error),
            RequestError::Refused(_) | RequestError::NotAnApiServer => Self::running(error),
            RequestError::Unreachable(_) => Self::unreachable(error),
        }
    }
}
