//! `manifests`: what a cluster must be told.

use std::io::Write;
use std::time::SystemTime;

use clap::{Args, ValueEnum};
use serde_json::Value;
use vestibule_identity::{Settings, Source};

use super::cluster::{ClusterArguments, namespaced_name, only_with_a_ring};
use super::{CommandError, say};
use crate::{App, Installation, Target};

/// What to print, and where the API server will find the webhook.
#[derive(Args, Clone, Debug)]
pub struct ManifestsArguments {
    /// The part to print; everything unless given.
    #[arg(long, value_enum)]
    only: Option<Part>,
    /// The Service in front of the webhook: NAMESPACE/NAME, with :PORT where that is not 443.
    #[arg(long, env = "VESTIBULE_SERVICE", value_name = "[NS/]NAME[:PORT]")]
    #[arg(conflicts_with = "url", required_unless_present = "url")]
    service: Option<String>,
    /// Where the API server reaches a webhook outside the cluster: https://HOST:PORT.
    #[arg(long, value_parser = Target::url)]
    url: Option<Target>,
    /// Where the CA comes from: local:DIR uses the one in DIR, or makes one there; with `self` or mounted:DIR the
    /// caBundle is left to whoever keeps it.
    #[arg(long, env = "VESTIBULE_IDENTITY", value_name = "self|mounted:DIR|local:DIR")]
    identity: Source,
    /// Where rights are printed: the ServiceAccount that the webhook runs as. Unless given, the one named as the webhook,
    /// beside its Service.
    #[arg(long, env = "VESTIBULE_SERVICE_ACCOUNT", value_name = "[NS/]NAME")]
    service_account: Option<String>,
    #[command(flatten)]
    cluster: ClusterArguments,
}

/// A part of the manifests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[non_exhaustive]
pub enum Part {
    /// The webhook configurations.
    Registration,
    /// The roles that the webhook needs, and their bindings: for `--identity self`, and to read namespaces.
    Rbac,
}

impl ManifestsArguments {
    /// Prints the manifests of `app` as YAML on stdout.
    ///
    /// # Errors
    /// The app or the identity is not in order, or nobody reads stdout.
    pub fn print(&self, app: &App) -> Result<(), CommandError> {
        let mut yaml = String::new();
        for object in self.objects(app)? {
            yaml.push_str("---\n");
            yaml.push_str(&serde_saphyr::to_string(&object).map_err(CommandError::running)?);
        }
        std::io::stdout().write_all(yaml.as_bytes()).map_err(CommandError::running)
    }

    fn objects(&self, app: &App) -> Result<Vec<Value>, CommandError> {
        // Before a CA is made for it.
        app.check().map_err(CommandError::input)?;
        let installation = self.installation(app)?;
        let rights = app.rights(&installation).map_err(CommandError::input)?;
        if rights.is_empty()
            && let Some(flag) = self.flag_about_rights()
        {
            return Err(only_with_a_ring(flag, &self.identity));
        }
        match self.only {
            Some(Part::Rbac) => Ok(rights),
            Some(Part::Registration) => {
                app.configurations(&self.trusting(installation)?).map_err(CommandError::input)
            }
            None => app.manifests(&self.trusting(installation)?).map_err(CommandError::input),
        }
    }

    fn installation(&self, app: &App) -> Result<Installation, CommandError> {
        let target = self.target()?;
        let mut installation = app.installation(target);
        installation.identity = self.identity.clone();
        let service = namespaced_name(&installation.target);
        if self.identity == Source::SelfManaged {
            // Only what is not as anybody would expect is said to the replicas.
            let settings = self.cluster.settings(app, Some(&installation.target))?;
            let usual = service.clone().and_then(|service| Settings::for_service(service).secret);
            installation.secret = settings.secret.filter(|secret| Some(secret) != usual.as_ref());
            let usual = app.registration_names(app.name());
            installation.registrations = Some(settings.registrations).filter(|names| *names != usual);
        } else {
            self.cluster.refuse_without_a_ring(&self.identity)?;
        }
        installation.registration_mode = self.cluster.registration_mode();
        installation.account = match &self.service_account {
            Some(account) => Some(self.cluster.named(account, service.as_ref())?),
            None if service.is_none() => self.cluster.named(app.name(), None).ok(),
            None => None,
        };
        Ok(installation)
    }

    fn flag_about_rights(&self) -> Option<&'static str> {
        let account = self.service_account.is_some().then_some("--service-account");
        account.or((self.only == Some(Part::Rbac)).then_some("--only rbac"))
    }

    fn trusting(&self, mut installation: Installation) -> Result<Installation, CommandError> {
        installation.ca_bundle = self.ca_bundle(&installation.target)?;
        Ok(installation)
    }

    fn target(&self) -> Result<Target, CommandError> {
        match (&self.service, &self.url) {
            (Some(service), _) => self.cluster.service(service),
            (None, Some(url)) => Ok(url.clone()),
            (None, None) => Err(CommandError::input(
                "say where the webhook is: --service NS/NAME or --url https://HOST:PORT",
            )),
        }
    }

    /// Empty where it is not ours to print: what is applied again must not touch what its keeper wrote.
    fn ca_bundle(&self, target: &Target) -> Result<String, CommandError> {
        match &self.identity {
            Source::SelfManaged => return Ok(String::new()),
            Source::Mounted(_) => {
                say(format_args!("note: caBundle is left out; whoever keeps the files must fill it in"));
                return Ok(String::new());
            }
            Source::Off => {
                return Err(CommandError::input(
                    "with `--identity off` nothing is served, and nothing can be registered",
                ));
            }
            // A folder that was misspelt would be registered without a word, and nobody would trust the server.
            Source::Local(folder) if !folder.join("ca.crt").exists() => {
                let folder = folder.display();
                say(format_args!("note: a new CA is made in {folder}; `serve` must use the same folder"));
            }
            _ => {}
        }
        let identity = self.identity.open_local(&target.dns_names(), SystemTime::now());
        let identity = identity.map_err(CommandError::input)?;
        Ok(identity.ca_bundle().unwrap_or_default().to_string())
    }
}
