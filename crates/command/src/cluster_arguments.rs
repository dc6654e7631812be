//! The flags that `serve` and `manifests` share: the cluster, the objects on it, the paths of the hooks.

use std::path::PathBuf;

use clap::Args;
use kube::Client;
use vestibule_identity::{NamespacedName, RegistrationName, Settings, Source, connect};

use super::conflicts::{only_with_a_ring, refuse_given};
use super::own_namespace::own_namespace;
use super::{CommandError, kubeconfig_help, namespace};
use vestibule::{App, Target};
use vestibule_manifests::RegistrationMode;

/// Which cluster, and which of its objects.
#[derive(Args, Clone, Debug)]
pub(super) struct ClusterArguments {
    /// The own namespace, for names without one. Unless given, the Service's, else the ServiceAccount's, else the
    /// kubeconfig context's.
    #[arg(long, short, env = "POD_NAMESPACE", value_name = "NS", value_parser = namespace_or_nothing)]
    pub(super) namespace: Option<String>,
    #[arg(long, env = "VESTIBULE_KUBECONFIG", value_name = "FILE", help = kubeconfig_help())]
    pub(super) kubeconfig: Option<PathBuf>,
    /// With `--identity self`: the Secret that holds the CA ring [default: NAME-ring beside the Service]
    #[arg(long, env = "VESTIBULE_SECRET", value_name = "[NS/]NAME")]
    secret: Option<String>,
    /// With `--identity self`: a configuration to keep the caBundle of; may be given several times. Without a kind,
    /// every kind of webhook configuration that the hooks need. Default: the configurations of the printed manifests.
    #[arg(long, env = "VESTIBULE_REGISTRATION", value_delimiter = ',')]
    #[arg(value_name = "[mutating/|validating/|crd/|apiservice/]NAME")]
    registration: Vec<String>,
    /// The writer of the entries of webhook configurations: `managed`, the webhook itself once it answers, or `static`,
    /// the person or tool that applies the manifests. Default: managed with `--identity self` and a Service.
    #[arg(long, env = "VESTIBULE_REGISTRATION_MODE", value_name = "managed|static")]
    pub(super) registration_mode: Option<RegistrationMode>,
    /// The path of a hook; may be given several times. Default: the path in the code, else /mutate/HOOK or
    /// /validate/HOOK.
    #[arg(long, env = "VESTIBULE_PATH", value_delimiter = ',', value_name = "HOOK=/PATH")]
    pub(super) path: Vec<String>,
    /// The ConfigMap in the own namespace that changes levels of log while this runs, or `off`. Unless given, APP-logging
    /// if the process connects to the cluster anyway.
    #[arg(long, env = "VESTIBULE_LOG_CONFIG_MAP", value_name = "NAME|off")]
    pub(super) log_config_map: Option<String>,
}

impl ClusterArguments {
    /// The app with its hooks at the paths of `--path`.
    pub(super) fn at_paths(&self, app: App) -> Result<App, CommandError> {
        self.path.iter().try_fold(app, |app, text| {
            let (hook, path) = text.split_once('=').ok_or_else(|| {
                CommandError::input(format_args!("`--path {text}`: write HOOK=/PATH, as in `inject=/mutate`"))
            })?;
            app.at_path(hook, path).map_err(CommandError::input)
        })
    }

    /// The client for lookups of the app. A cluster that does not answer yet is no error.
    pub(super) async fn client(&self) -> Result<Client, CommandError> {
        connect(self.kubeconfig.as_deref()).await.map_err(|error| {
            CommandError::input(format_args!(
                "the webhook needs a cluster, and no client for one can be made: {error}"
            ))
        })
    }

    /// `NS/NAME` or `NAME`, with `:PORT` or without.
    pub(super) fn service(&self, text: &str) -> Result<Target, CommandError> {
        let own = if text.contains('/') { None } else { Some(self.own_namespace(None)?) };
        Target::service_in(text, own.as_deref()).map_err(CommandError::input)
    }

    /// The settings of `--identity self`. `service` is the Service in front of the app, if there is one.
    pub(super) fn settings(&self, app: &App, service: Option<&Target>) -> Result<Settings, CommandError> {
        let (target, service) = (service, service.and_then(Target::service_name));
        let secret = self.secret.as_deref().or(app.defaults().secret.as_deref());
        let named = secret.map(|secret| self.named(secret, service.as_ref())).transpose()?;
        let mut settings = match service {
            Some(service) => Settings::for_service(service),
            None => Settings::default(),
        };
        if let Some(url @ Target::Url(_)) = target {
            settings.names = url.dns_names();
        }
        settings.secret = match named.or(settings.secret) {
            None => Some(self.named(&format!("{}-ring", app.name()), None)?),
            secret => secret,
        };
        settings.registrations = self.registrations(app)?;
        let usual = RegistrationMode::usual(&Source::SelfManaged, target);
        match (self.registration_mode.unwrap_or(usual), target) {
            (RegistrationMode::Static, _) => Ok(settings),
            (RegistrationMode::Managed, Some(target)) => {
                app.managed(settings, target).map_err(CommandError::input)
            }
            (RegistrationMode::Managed, None) => Err(CommandError::input(
                "with `--registration-mode managed` the webhook must know where it is called: give --service NS/NAME, or --url https://HOST:PORT",
            )),
        }
    }

    /// `NS/NAME`, or a `NAME` in the own namespace.
    pub(super) fn named(
        &self,
        text: &str,
        service: Option<&NamespacedName>,
    ) -> Result<NamespacedName, CommandError> {
        let own = if text.contains('/') { None } else { Some(self.own_namespace(service)?) };
        NamespacedName::parse_in(text, own.as_deref()).map_err(CommandError::input)
    }

    /// Refuses flags that only `--identity self` uses.
    pub(super) fn refuse_without_a_ring(&self, source: &Source) -> Result<(), CommandError> {
        let managed = self.registration_mode == Some(RegistrationMode::Managed);
        let given = [
            ("--secret", self.secret.is_some()),
            ("--registration-mode managed", managed),
            ("--registration", !self.registration.is_empty()),
        ];
        refuse_given(&given, |flag| only_with_a_ring(flag, source))
    }

    /// Without a flag it is the namespace of the Service, because a Service only selects pods of its own namespace.
    pub(super) fn own_namespace(&self, service: Option<&NamespacedName>) -> Result<String, CommandError> {
        match (&self.namespace, service) {
            (None, Some(service)) => Ok(service.namespace.clone()),
            (flag, _) => own_namespace(flag.as_deref(), self.kubeconfig.as_deref()),
        }
    }

    fn registrations(&self, app: &App) -> Result<Vec<RegistrationName>, CommandError> {
        if self.registration.is_empty() {
            return Ok(app.registration_names(app.name()));
        }
        let mut registrations = Vec::new();
        for text in &self.registration {
            if text.contains('/') || text.is_empty() {
                registrations.push(text.parse().map_err(CommandError::input)?);
            } else {
                registrations.extend(app.registration_names(text));
            }
        }
        Ok(registrations)
    }
}

/// A variable with an empty value counts as unset.
fn namespace_or_nothing(text: &str) -> Result<String, String> {
    if text.is_empty() { Ok(String::new()) } else { namespace(text) }
}

#[cfg(test)]
mod tests;
