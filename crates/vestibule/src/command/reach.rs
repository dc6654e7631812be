//! The cluster that somebody at a terminal speaks to.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};

use super::CommandError;

/// Somebody waits for the answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Which cluster, and where on it.
#[derive(Args, Clone, Debug)]
pub(super) struct ReachArguments {
    /// The namespace of names without one. Unless given, the kubeconfig context's.
    #[arg(long, short, value_name = "NS")]
    namespace: Option<String>,
    /// The kubeconfig, where it is neither in KUBECONFIG nor in ~/.kube/config.
    #[arg(long, env = "VESTIBULE_KUBECONFIG", value_name = "FILE")]
    kubeconfig: Option<PathBuf>,
    /// The kubeconfig's context, where it is not the current one.
    #[arg(long, value_name = "NAME")]
    context: Option<String>,
}

/// A cluster, of which nothing has been asked yet.
pub(super) struct Reached {
    pub(super) client: Client,
    /// Of names without one.
    pub(super) namespace: String,
    /// Where the API server is.
    pub(super) address: String,
}

impl ReachArguments {
    pub(super) async fn reach(&self) -> Result<Reached, CommandError> {
        let config = self.config().await?;
        let namespace = self.namespace.as_ref().unwrap_or(&config.default_namespace).clone();
        let address = config.cluster_url.to_string();
        let client = Client::try_from(config).map_err(|error| self.unusable(&error))?;
        Ok(Reached { client, namespace, address })
    }

    async fn config(&self) -> Result<Config, CommandError> {
        let options = KubeConfigOptions { context: self.context.clone(), ..KubeConfigOptions::default() };
        let unusable = |error: &dyn fmt::Display| self.unusable(error);
        let mut config = match &self.kubeconfig {
            Some(path) => {
                let file = Kubeconfig::read_from(path).map_err(|error| unusable(&error))?;
                Config::from_custom_kubeconfig(file, &options).await.map_err(|error| unusable(&error))?
            }
            None if options.context.is_some() => {
                Config::from_kubeconfig(&options).await.map_err(|error| unusable(&error))?
            }
            None => Config::infer().await.map_err(|error| unusable(&error))?,
        };
        config.connect_timeout = Some(PATIENCE);
        (config.read_timeout, config.reset_reader_on_write) = (Some(PATIENCE), true);
        config.default_retry = false;
        Ok(config)
    }

    fn unusable(&self, error: &dyn fmt::Display) -> CommandError {
        let advice = match (&self.context, &self.kubeconfig) {
            (Some(_), _) => "`kubectl config get-contexts` lists those there are".to_owned(),
            (None, Some(path)) => format!("`kubectl --kubeconfig {} version` tries it", path.display()),
            (None, None) => "name one with --kubeconfig".to_owned(),
        };
        CommandError::input(format_args!("the cluster's configuration cannot be used: {error}; {advice}"))
    }
}

impl Reached {
    /// Nobody answers: exit code 3.
    pub(super) fn unreachable(&self, error: impl fmt::Display) -> CommandError {
        CommandError::unreachable(format_args!(
            "{error}; does `kubectl version` reach {}? --kubeconfig and --context name another cluster",
            self.address
        ))
    }
}
