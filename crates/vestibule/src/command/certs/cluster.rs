//! Which cluster, and which ring on it.

use std::path::{Path, PathBuf};

use clap::Args;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use vestibule_identity::{InspectError, NamespacedName};

use super::unreachable;
use crate::command::CommandError;

/// Which cluster, and which ring on it.
#[derive(Args, Clone, Debug)]
pub(super) struct RingArguments {
    /// The Secret that holds the ring. Unless given, NAME-ring beside the --service.
    #[arg(long, env = "VESTIBULE_SECRET", value_name = "[NS/]NAME", required_unless_present = "service")]
    secret: Option<String>,
    /// The Service in front of the webhook.
    #[arg(long, env = "VESTIBULE_SERVICE", value_name = "[NS/]NAME")]
    service: Option<String>,
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

/// A ring on a cluster.
pub(super) struct Place {
    pub(super) client: Client,
    pub(super) secret: NamespacedName,
    pub(super) service: Option<NamespacedName>,
}

impl RingArguments {
    /// Nothing is asked of the cluster yet.
    pub(super) async fn place(&self) -> Result<Place, CommandError> {
        let config = config(self.kubeconfig.as_deref(), self.context.clone()).await?;
        let namespace = self.namespace.as_deref().unwrap_or(&config.default_namespace);
        let named = |text: &String| {
            // As `serve` has it, a Service may come with its port.
            let text = text.split_once(':').map_or(text.as_str(), |(name, _)| name);
            NamespacedName::parse_in(text, Some(namespace)).map_err(CommandError::input)
        };
        let service = self.service.as_ref().map(named).transpose()?;
        let secret = match (&self.secret, &service) {
            (Some(secret), _) => named(secret)?,
            (None, Some(service)) => NamespacedName {
                namespace: service.namespace.clone(),
                name: format!("{}-ring", service.name),
            },
            (None, None) => return Err(CommandError::input("say which ring: --secret NS/NAME")),
        };
        let client = Client::try_from(config).map_err(CommandError::input)?;
        Ok(Place { client, secret, service })
    }
}

async fn config(kubeconfig: Option<&Path>, context: Option<String>) -> Result<Config, CommandError> {
    let options = KubeConfigOptions { context, ..KubeConfigOptions::default() };
    let unusable = |error: &dyn std::fmt::Display| {
        CommandError::input(format_args!(
            "the cluster's configuration cannot be used: {error}; name one with --kubeconfig"
        ))
    };
    let mut config = match kubeconfig {
        Some(path) => {
            let file = Kubeconfig::read_from(path).map_err(|error| unusable(&error))?;
            Config::from_custom_kubeconfig(file, &options).await.map_err(|error| unusable(&error))?
        }
        None if options.context.is_some() => {
            Config::from_kubeconfig(&options).await.map_err(|error| unusable(&error))?
        }
        None => Config::infer().await.map_err(|error| unusable(&error))?,
    };
    // Somebody waits for the answer.
    config.connect_timeout = Some(std::time::Duration::from_secs(10));
    config.default_retry = false;
    Ok(config)
}

/// What is missing is the user's to mend; where nobody answers, nothing can be said.
pub(super) fn failed(error: InspectError) -> CommandError {
    match error {
        InspectError::Unreachable { .. } => unreachable(error),
        InspectError::Forbidden { .. } | InspectError::NoRing(_) => CommandError::input(error),
        other => CommandError::running(other),
    }
}
