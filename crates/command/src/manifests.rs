//! `manifests`: prints the objects that install a webhook, or compares them with a folder.

mod drift;
mod workload;

use std::path::PathBuf;
use std::process::ExitCode;
use std::time::SystemTime;

use clap::{Args, ValueEnum};
use serde_json::{Value, json};
use vestibule_identity::{NamespacedName, Settings, Source};

use self::drift::Folder;
use self::workload::WorkloadArguments;
use super::client_auth_arguments::ClientAuthArguments;
use super::cluster_arguments::ClusterArguments;
use super::conflicts::{only_with_a_ring, refuse_given};
use super::{CommandError, colour, print, say, yaml};
use vestibule::{App, Target};
use vestibule_manifests::{Installation, RegistrationMode};

/// The parts to print, and the address of the webhook.
#[derive(Args, Clone, Debug)]
pub struct ManifestsArguments {
    /// The part to print; everything unless given.
    #[arg(long, value_enum, value_name = "PART")]
    only: Option<Part>,
    /// Compares with the objects in the *.yaml, *.yml and *.json files of a folder instead of printing: differences are
    /// shown, and the exit code is 1 if there are any.
    #[arg(long, value_name = "DIR")]
    check: Option<PathBuf>,
    /// How to print.
    #[arg(long, short, value_enum, default_value = "yaml", value_name = "FORMAT")]
    output: Format,
    /// When to colour differences. `auto` follows NO_COLOR and CLICOLOR_FORCE.
    #[arg(long, value_enum, default_value = "auto", value_name = "WHEN")]
    color: colour::When,
    /// The Service in front of the webhook, with :PORT where that is not 443 [default: named as the webhook, in --namespace]
    #[arg(long, env = "VESTIBULE_SERVICE", value_name = "[NS/]NAME[:PORT]", conflicts_with = "url")]
    service: Option<String>,
    /// The URL of a webhook outside the cluster: https://HOST:PORT.
    #[arg(long, value_parser = Target::url, value_name = "URL")]
    url: Option<Target>,
    /// The source of the CA: local:DIR uses the one in DIR, or makes one there; with `self` or mounted:DIR the caBundle
    /// is left out.
    #[arg(
        long,
        env = "VESTIBULE_IDENTITY",
        value_name = "self|mounted:DIR|local:DIR",
        default_value = "self"
    )]
    identity: Source,
    /// An existing ServiceAccount that the webhook runs as [default: one is printed]
    #[arg(long, env = "VESTIBULE_SERVICE_ACCOUNT", value_name = "[NS/]NAME")]
    service_account: Option<String>,
    #[command(flatten)]
    cluster: ClusterArguments,
    #[command(flatten)]
    workload: WorkloadArguments,
    #[command(flatten)]
    clients: ClientAuthArguments,
}

/// A part of the manifests.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Part {
    /// The webhook configurations, and definitions of custom resources that are converted.
    Registration,
    /// The roles that the webhook needs, and their bindings.
    Rbac,
    /// ServiceAccount, Service, NetworkPolicy, PodDisruptionBudget, ConfigMaps and Deployment.
    Workload,
}

/// How to print objects.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    /// YAML documents.
    Yaml,
    /// A `v1` List.
    Json,
}

impl ManifestsArguments {
    /// Prints the manifests of `app` on stdout, or how a folder differs from them. The exit code is 1 where it does.
    ///
    /// # Errors
    /// The app or the identity is not in order, the folder cannot be read, or stdout cannot be written.
    pub fn run(&self, app: &App) -> Result<ExitCode, CommandError> {
        self.run_with(app, |_| {})
    }

    /// Like [`run`](Self::run), after a change to the installation: a binary with its own flags passes them to its pods.
    ///
    /// # Errors
    /// As `run`.
    pub fn run_with(
        &self,
        app: &App,
        change: impl FnOnce(&mut Installation),
    ) -> Result<ExitCode, CommandError> {
        let app = &self.cluster.at_paths(app.clone())?;
        let mut installation = self.installation(app)?;
        change(&mut installation);
        let objects = self.objects(app, &installation)?;
        let Some(folder) = &self.check else {
            let text = match self.output {
                Format::Yaml => {
                    let documents = objects.iter().map(|object| Ok("---\n".to_owned() + &yaml(object)?));
                    documents.collect::<Result<String, CommandError>>()?
                }
                Format::Json => {
                    format!("{:#}\n", json!({"apiVersion": "v1", "kind": "List", "items": objects}))
                }
            };
            return print(&text).map(|()| ExitCode::SUCCESS);
        };
        // A Namespace or a ServiceMonitor with the app's label is no part: `manifests` never prints one.
        let wanted =
            |object: &Value| Part::of(object).is_some_and(|part| self.only.is_none_or(|only| only == part));
        let folder = Folder::read(folder)?;
        let drift = folder.compare(&objects, &installation.name, wanted);
        print(&drift.text(self.color.palette())?)?;
        drift.summary().iter().for_each(|line| say(format_args!("{line}")));
        Ok(if drift.is_none() { ExitCode::SUCCESS } else { ExitCode::from(1) })
    }

    /// The namespace of the pods: that of the Service in front of them. [`None`] where the webhook runs elsewhere.
    ///
    /// # Errors
    /// Neither a flag nor the app names the address of the webhook.
    pub fn namespace(&self, app: &App) -> Result<Option<String>, CommandError> {
        let elsewhere = matches!(self.identity, Source::Local(_) | Source::Off);
        let service = self.target(app)?.service_name().filter(|_| !elsewhere);
        Ok(service.map(|service| service.namespace))
    }

    fn objects(&self, app: &App, installation: &Installation) -> Result<Vec<Value>, CommandError> {
        if self.identity != Source::SelfManaged {
            self.cluster.refuse_without_a_ring(&self.identity)?;
        }
        // No CA is made for an app that is not in order.
        app.check().map_err(CommandError::input)?;
        let roles = installation.roles(app).map_err(CommandError::input)?;
        if roles.is_empty() {
            let about_an_account = self.service_account.is_some() && self.workload.image.is_none();
            let about_rights =
                [("--service-account", about_an_account), ("--only rbac", self.only == Some(Part::Rbac))];
            refuse_given(&about_rights, |flag| only_with_a_ring(flag, &self.identity))?;
        }
        if self.only == Some(Part::Rbac) {
            return Ok(roles);
        }
        if installation.image.is_none() {
            self.workload.refuse_without_an_image(self.only == Some(Part::Workload))?;
            self.clients.refuse_without_an_image()?;
            if self.only.is_none() && !matches!(self.identity, Source::Local(_)) && self.url.is_none() {
                say(format_args!("note: without --image there are rights and configurations, and no pods"));
            }
        }
        let mut trusting = installation.clone();
        if self.only != Some(Part::Workload) {
            trusting.ca_bundle = self.ca_bundle(&installation.target)?;
        }
        if trusting.registration_mode() == RegistrationMode::Static {
            note_definitions_of_others(app, &trusting)?;
        }
        let mut objects = trusting.manifests(app).map_err(CommandError::input)?;
        objects.retain(|object| self.only.is_none() || Part::of(object) == self.only);
        Ok(objects)
    }

    fn installation(&self, app: &App) -> Result<Installation, CommandError> {
        let mut installation = Installation::of(app, self.target(app)?);
        installation.identity = self.identity.clone();
        let service = installation.target.service_name();
        if self.identity == Source::SelfManaged {
            // Replicas get a flag only for a value other than the default.
            let settings = self.cluster.settings(app, Some(&installation.target))?;
            let usual = service.clone().and_then(|service| Settings::for_service(service).secret);
            installation.secret = settings.secret.filter(|secret| Some(secret) != usual.as_ref());
            let usual = app.registration_names(app.name());
            installation.registrations = Some(settings.registrations).filter(|names| *names != usual);
        }
        installation.registration_mode = self.cluster.registration_mode;
        installation.log_config_map = self.cluster.log_config_map.clone();
        installation.account = match &self.service_account {
            Some(account) => Some(self.cluster.named(account, service.as_ref())?),
            None if service.is_none() => self.cluster.named(app.name(), None).ok(),
            None => None,
        };
        if service.is_none() || matches!(self.identity, Source::Local(_)) {
            // The app's own image is for pods, and there are none.
            installation.image = None;
        }
        installation.arguments.extend(self.cluster.path.iter().map(|path| format!("--path={path}")));
        self.workload.apply(&mut installation);
        if let Some(service) = service.filter(|service| self.shares_service(app, &installation, service)) {
            say(format_args!(
                "note: --name does not rename the Service {service}; a second installation in this namespace needs a --service of its own"
            ));
        }
        self.clients.apply(app, &mut installation)?;
        Ok(installation)
    }

    /// Whether another installation with another `--name` would have the same Service, and so this one's calls.
    fn shares_service(&self, app: &App, installation: &Installation, service: &NamespacedName) -> bool {
        self.service.is_none() && installation.name != app.name() && service.name != installation.name
    }

    fn target(&self, app: &App) -> Result<Target, CommandError> {
        let usual = || {
            let in_its_own = self.cluster.namespace.as_ref().map(|_| app.name());
            app.defaults().service.as_deref().or(in_its_own)
        };
        match (&self.url, self.service.as_deref().or_else(usual)) {
            (Some(url), _) => Ok(url.clone()),
            (None, Some(service)) => self.cluster.service(service),
            (None, None) => Err(CommandError::input(
                "say where the webhook is: --namespace NS, --service NS/NAME, or --url https://HOST:PORT",
            )),
        }
    }

    /// Empty if the replicas or another tool keep it: applying the manifests again must not overwrite it.
    fn ca_bundle(&self, target: &Target) -> Result<String, CommandError> {
        match &self.identity {
            Source::SelfManaged => return Ok(String::new()),
            Source::Mounted(_) => {
                say(format_args!(
                    "note: caBundle is left out; the deployment of these files must fill it in"
                ));
                return Ok(String::new());
            }
            Source::Off => {
                return Err(CommandError::input(
                    "with `--identity off` nothing is served, and nothing can be registered",
                ));
            }
            // A misspelt folder would silently register a CA that did not sign the server's certificate.
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

impl Part {
    /// [`None`] for what is never printed.
    fn of(object: &Value) -> Option<Self> {
        match object["kind"].as_str()? {
            "Role" | "RoleBinding" | "ClusterRole" | "ClusterRoleBinding" => Some(Self::Rbac),
            "MutatingWebhookConfiguration"
            | "ValidatingWebhookConfiguration"
            | "CustomResourceDefinition" => Some(Self::Registration),
            "ServiceAccount"
            | "Service"
            | "NetworkPolicy"
            | "PodDisruptionBudget"
            | "ConfigMap"
            | "Deployment" => Some(Self::Workload),
            _ => None,
        }
    }
}

/// Prints the `spec.conversion` that the owner of a definition must write. A webhook that registers itself writes it.
fn note_definitions_of_others(app: &App, installation: &Installation) -> Result<(), CommandError> {
    let registration = app.registration(&installation.target, "").map_err(CommandError::input)?;
    for (name, conversion) in registration.conversions {
        let conversion = serde_json::to_string(&conversion).map_err(CommandError::running)?;
        say(format_args!(
            "note: the owner of the definition {name} must write its spec.conversion: {conversion}"
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests;
