//! Which cluster, and which ring on it.

use std::fmt;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Client, Config};
use vestibule_identity::{InspectError, NamespacedName, Settings};

use super::{object_name, unreachable};
use crate::command::CommandError;

/// Somebody waits for the answer.
const PATIENCE: Duration = Duration::from_secs(10);

/// Which cluster, and which ring on it.
#[derive(Args, Clone, Debug)]
pub(super) struct RingArguments {
    #[command(flatten)]
    names: Names,
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

#[derive(Args, Clone, Debug)]
#[group(required = true, multiple = true)]
struct Names {
    /// The Service in front of the webhook.
    #[arg(long, env = "VESTIBULE_SERVICE", value_name = "[NS/]NAME")]
    service: Option<String>,
    /// The Secret that holds the ring. Unless given, NAME-ring beside the --service.
    #[arg(long, env = "VESTIBULE_SECRET", value_name = "[NS/]NAME")]
    secret: Option<String>,
}

/// A ring on a cluster.
pub(super) struct Place {
    pub(super) client: Client,
    pub(super) secret: NamespacedName,
    pub(super) service: Option<NamespacedName>,
    /// Where the API server is.
    address: String,
}

impl RingArguments {
    /// Nothing is asked of the cluster yet.
    pub(super) async fn place(&self) -> Result<Place, CommandError> {
        let config = self.config().await?;
        let namespace = self.namespace.as_deref().unwrap_or(&config.default_namespace);
        let service = self.names.service.as_deref().map(|text| {
            // As `serve` has it, a Service may come with its port.
            object_name(text.split_once(':').map_or(text, |(name, _)| name), Some(namespace))
        });
        let service = service.transpose()?;
        let secret = match (&self.names.secret, &service) {
            (Some(secret), _) => Some(object_name(secret, Some(namespace))?),
            (None, service) => service.clone().and_then(|service| Settings::for_service(service).secret),
        };
        let secret = secret
            .ok_or_else(|| CommandError::input("say which ring: --service NS/NAME or --secret NS/NAME"))?;
        let address = config.cluster_url.to_string();
        let client = Client::try_from(config).map_err(|error| self.unusable(&error))?;
        Ok(Place { client, secret, service, address })
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

impl Place {
    /// What is missing is the user's to mend; where nobody answers, nothing can be said.
    pub(super) fn failed(&self, error: InspectError) -> CommandError {
        let address = &self.address;
        match error {
            InspectError::Unreachable { .. } => unreachable(format_args!(
                "{error}; does `kubectl version` reach {address}? --kubeconfig and --context name another cluster"
            )),
            InspectError::NoRing(_) => CommandError::input(format_args!(
                "{error}; is it another one (--secret, --namespace), or has no replica run yet?"
            )),
            InspectError::Forbidden { .. } => CommandError::input(error),
            other => CommandError::running(other),
        }
    }
}
