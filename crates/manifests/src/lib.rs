//! The objects that install a webhook on a cluster, printed from its [`App`]: definitions of converted custom resources,
//! ServiceAccount, roles, Service, NetworkPolicy, PodDisruptionBudget, ConfigMaps, Deployment, webhook configurations.
//!
//! An [`Installation`] holds one place where a webhook runs: namespace, image, replicas, ports, identity.
//! [`Installation::of`] fills it from the app, its fields may be changed, and [`Installation::manifests`] returns the
//! objects as JSON. The command `manifests` of `vestibule-command` prints them as YAML, and the test kit installs them on a
//! real API server. Nothing here reads files, a clock or a cluster.
//!
//! Start with `installation.rs`; `workload.rs` makes the Deployment, `network.rs` what is around it, `rbac.rs` the roles.

mod files;
mod installation;
mod network;
mod rbac;
mod workload;

use serde_json::{Value, json};
use vestibule::identity::{NamespacedName, Source};
use vestibule::tooling::RegistrationMode;
use vestibule::{App, AppError, Target};

pub use self::files::Files;
pub use self::installation::Installation;
use self::rbac::Right;
use self::workload::Pods;

impl Installation {
    /// Every object that a cluster needs to run this webhook and to call it, ready to apply: definitions of custom
    /// resources that it converts, ServiceAccount, roles, Service, NetworkPolicy, PodDisruptionBudget, ConfigMaps,
    /// Deployment, configurations. The Namespace is not among them: deleting the manifests would delete everything else
    /// in it.
    ///
    /// The roles grant the rights that the app needs, and no others. Pods pass the `restricted` Pod Security Standard,
    /// unless they use their node's network.
    ///
    /// ```
    /// # use k8s_openapi::api::core::v1::Pod;
    /// # use vestibule::{App, Context, Operation::Create, Reject, Target, on, FailurePolicy};
    /// # use vestibule_manifests::Installation;
    /// # async fn label(pod: Pod, _: Context) -> Result<Pod, Reject> { Ok(pod) }
    /// let app = App::new("labeller").mutate("label", on::<Pod>([Create]).failure_policy(FailurePolicy::Ignore), label);
    /// let mut installation = Installation::of(&app, Target::service("shop/labeller")?);
    /// installation.image = Some("registry.example.com/labeller:1.0".to_owned());
    /// let kinds: Vec<_> = installation.manifests(&app)?.iter().map(|object| object["kind"].clone()).collect();
    /// assert!(kinds.contains(&"Deployment".into()) && kinds.contains(&"MutatingWebhookConfiguration".into()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The app is not in order, or the installation is not; every problem is named.
    pub fn manifests(&self, app: &App) -> Result<Vec<Value>, AppError> {
        let mut objects = self.roles(app)?;
        if self.image.is_some() {
            let pods = Pods { app, installation: self };
            objects.splice(..0, pods.service_account());
            objects.extend(network::objects(&pods));
            objects.extend(pods.files());
            objects.extend(self.objects.iter().cloned());
            objects.extend(pods.deployment());
        }
        objects.extend(self.configurations(app)?);
        // A definition comes before objects of its kind.
        objects.sort_by_key(|object| !is_definition(object));
        Ok(labelled(objects, &self.name))
    }

    /// An installation behind `target`, with the app's own defaults. The ring's Secret is in the Service's namespace
    /// unless the app names another.
    #[must_use]
    pub fn of(app: &App, target: Target) -> Self {
        let defaults = app.defaults();
        let mut installation = Self { name: app.name().to_owned(), ..Self::new(target) };
        installation.port = defaults.port;
        installation.plain_port = defaults.metrics_listen.flatten().map(|address| address.port());
        installation.host_network = defaults.host_network;
        installation.image.clone_from(&defaults.image);
        let secret = defaults.secret.as_deref().zip(installation.service());
        let named = |(text, service): (&str, NamespacedName)| {
            NamespacedName::parse_in(text, Some(&service.namespace)).ok()
        };
        installation.secret = secret.and_then(named);
        installation.replicas = defaults.replicas.unwrap_or(installation.replicas);
        installation
    }

    /// Roles and their bindings: for the CA ring, for lookups, for the log level, and those of [`App::rights`].
    ///
    /// # Errors
    /// As [`Installation::manifests`].
    pub fn roles(&self, app: &App) -> Result<Vec<Value>, AppError> {
        app.check()?;
        reject(app, self.problems())?;
        let ring = self.ring(app).or_else(|problem| reject(app, vec![problem]).map(|()| None))?;
        let mut rights = ring.map_or_else(Vec::new, |(secret, names)| rbac::of_a_ring(&secret, &names));
        // With `local:DIR` the process runs on a laptop, under the user's own rights.
        if matches!(self.identity, Source::SelfManaged | Source::Mounted(_)) {
            let to_read = app.read_rights();
            rights.extend(to_read.iter().map(|(namespace, rule)| Right::of_rule(namespace.as_deref(), rule)));
            let levels = self.followed_log_config_map(app).zip(self.service_account());
            rights.extend(
                levels.into_iter().flat_map(|(name, account)| rbac::of_log_levels(&account.namespace, &name)),
            );
            rights.extend(
                app.defaults()
                    .rights
                    .iter()
                    .map(|(namespace, rule)| Right::of_rule(namespace.as_deref(), rule)),
            );
        }
        if rights.is_empty() {
            return Ok(Vec::new());
        }
        match self.service_account() {
            Some(account) => {
                let roles = rbac::objects(&self.name, &account, rights);
                Ok(labelled(roles, &self.name))
            }
            None => {
                let problem = "behind a URL, the ServiceAccount that the webhook runs as must be named";
                reject(app, vec![problem.to_owned()]).map(|()| Vec::new())
            }
        }
    }

    fn configurations(&self, app: &App) -> Result<Vec<Value>, AppError> {
        let registration = app.registration(&self.target, &self.ca_bundle)?;
        let mut objects = match self.registration_mode() {
            RegistrationMode::Managed => registration.without_entries().objects(),
            RegistrationMode::Static => registration.objects(),
        };
        // The name of a definition is fixed by its resource.
        for object in objects.iter_mut().filter(|object| !is_definition(object)) {
            object["metadata"]["name"] = json!(self.name);
        }
        Ok(labelled(objects, &self.name))
    }
}

fn reject(app: &App, problems: Vec<String>) -> Result<(), AppError> {
    if problems.is_empty() { Ok(()) } else { Err(AppError::new(app.name(), problems)) }
}

fn is_definition(object: &Value) -> bool {
    object["kind"] == "CustomResourceDefinition"
}

fn labelled(mut objects: Vec<Value>, name: &str) -> Vec<Value> {
    for object in &mut objects {
        object["metadata"]["labels"]["app.kubernetes.io/name"] = json!(name);
    }
    objects
}

#[cfg(test)]
mod tests;
