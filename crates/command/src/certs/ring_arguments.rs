//! The flags that name a cluster and a ring on it.

use clap::Args;
use vestibule_identity::{NamespacedName, Settings};

use super::object_name;
use super::objects::{ObjectError, Objects};
use crate::CommandError;
use crate::connection::{Connection, ConnectionArguments};

/// Which cluster, and which ring on it.
#[derive(Args, Clone, Debug)]
pub(super) struct RingArguments {
    #[command(flatten)]
    names: Names,
    #[command(flatten)]
    connection: ConnectionArguments,
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
pub(super) struct RingOnCluster {
    connection: Connection,
    pub(super) secret: NamespacedName,
    pub(super) service: Option<NamespacedName>,
}

impl RingArguments {
    /// Sends no request yet.
    pub(super) async fn connect(&self) -> Result<RingOnCluster, CommandError> {
        let connection = self.connection.connect().await?;
        let namespace = connection.namespace();
        let service = self.names.service.as_deref().map(|text| {
            // As with `serve`, a Service may come with its port.
            object_name(text.split_once(':').map_or(text, |(name, _)| name), Some(namespace))
        });
        let service = service.transpose()?;
        let secret = match (&self.names.secret, &service) {
            (Some(secret), _) => Some(object_name(secret, Some(namespace))?),
            (None, service) => service.clone().and_then(|service| Settings::for_service(service).secret),
        };
        let secret = secret
            .ok_or_else(|| CommandError::input("say which ring: --service NS/NAME or --secret NS/NAME"))?;
        Ok(RingOnCluster { connection, secret, service })
    }
}

impl RingOnCluster {
    pub(super) fn objects(&self) -> Objects {
        Objects(self.connection.client().clone())
    }

    /// A missing object or right is bad input; a cluster that does not answer has an exit code of its own.
    pub(super) fn failed(&self, error: ObjectError) -> CommandError {
        match error {
            ObjectError::Unreachable(_) => self.connection.advised(CommandError::unreachable(error)),
            ObjectError::NoRing(_) => CommandError::input(format_args!(
                "{error}; is it another one (--secret, --namespace), or has no replica run yet?"
            )),
            ObjectError::UnusableRing(..) => CommandError::input(format_args!(
                "{error}; is it another one (--secret, --namespace)? `certs show` says what is in it"
            )),
            ObjectError::Forbidden(_) => CommandError::input(error),
            ObjectError::Refused(_) => CommandError::running(error),
        }
    }
}
