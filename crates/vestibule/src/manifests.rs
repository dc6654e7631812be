//! Everything that a cluster must be told for a webhook to run there.

mod files;
mod installation;
mod network;
mod rights;
mod workload;

use serde_json::{Value, json};
use vestibule_identity::{NamespacedName, Source};

pub use self::files::Files;
pub use self::installation::Installation;
use self::rights::Right;
use self::workload::Pods;
use crate::{App, AppError, RegistrationMode, Target};

impl App {
    /// Every object that a cluster needs to run this webhook and to call it, ready to apply: definitions of custom
    /// resources that it converts, ServiceAccount, roles, Service, NetworkPolicy, PodDisruptionBudget, files, Deployment,
    /// configurations. The Namespace is not among them: it is not the webhook's to make, nor to take away.
    ///
    /// The roles hold what the app does and nothing else. Pods pass the `restricted` Pod Security Standard, unless they
    /// use their node's network.
    ///
    /// ```
    /// # use k8s_openapi::api::core::v1::Pod;
    /// # use vestibule::{FailurePolicy, App, Context, Operation::Create, Reject, Target, on};
    /// # async fn label(pod: Pod, _: Context) -> Result<Pod, Reject> { Ok(pod) }
    /// let app = App::new("labeller").mutate("label", on::<Pod>([Create]).failure_policy(FailurePolicy::Ignore), label);
    /// let mut installation = app.installation(Target::service("shop/labeller")?);
    /// installation.image = Some("registry.example.com/labeller:1.0".to_owned());
    /// let kinds: Vec<_> = app.manifests(&installation)?.iter().map(|object| object["kind"].clone()).collect();
    /// assert!(kinds.contains(&"Deployment".into()) && kinds.contains(&"MutatingWebhookConfiguration".into()));
    /// # Ok::<(), Box<dyn std::error::Error>>(())
    /// ```
    ///
    /// # Errors
    /// The app is not in order, or cannot be installed so; every problem is named.
    pub fn manifests(&self, installation: &Installation) -> Result<Vec<Value>, AppError> {
        let mut objects = self.roles(installation)?;
        if installation.image.is_some() {
            let pods = Pods { app: self, installation };
            objects.splice(..0, pods.service_account());
            objects.extend(network::objects(&pods));
            objects.extend(pods.files());
            objects.extend(installation.objects.iter().cloned());
            objects.extend(pods.deployment());
        }
        objects.extend(self.configurations(installation)?);
        // What others are made of, first.
        objects.sort_by_key(|object| !is_definition(object));
        Ok(labelled(objects, &installation.name))
    }

    /// An installation behind `target`, as the app says of itself. The ring's Secret is in the Service's namespace where
    /// the app names none.
    #[must_use]
    pub fn installation(&self, target: Target) -> Installation {
        let defaults = &self.defaults;
        let mut installation = Installation { name: self.name().to_owned(), ..Installation::new(target) };
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

    /// Roles and their bindings: what the ring takes, and what the app reads.
    pub(crate) fn roles(&self, installation: &Installation) -> Result<Vec<Value>, AppError> {
        self.check()?;
        self.not_so(installation.problems())?;
        let ring = installation.ring(self).or_else(|problem| self.not_so(vec![problem]).map(|()| None))?;
        let mut rights = ring.map_or_else(Vec::new, |(secret, names)| rights::of_a_ring(&secret, &names));
        // With a folder of a laptop's, it is the laptop that speaks to the cluster.
        if matches!(installation.identity, Source::SelfManaged | Source::Mounted(_)) {
            rights.extend(self.rights_to_read());
            let levels = installation.followed_log_config_map(self).zip(installation.service_account());
            rights.extend(
                levels
                    .into_iter()
                    .flat_map(|(name, account)| rights::of_log_levels(&account.namespace, &name)),
            );
            rights.extend(
                self.defaults
                    .rights
                    .iter()
                    .map(|(namespace, rule)| Right::of_the_author(namespace.as_deref(), rule)),
            );
        }
        if rights.is_empty() {
            return Ok(Vec::new());
        }
        match installation.service_account() {
            Some(account) => {
                let roles = rights::objects(&installation.name, &account, rights);
                Ok(labelled(roles, &installation.name))
            }
            None => {
                let problem = "behind a URL, the ServiceAccount that the webhook runs as must be named";
                self.not_so(vec![problem.to_owned()]).map(|()| Vec::new())
            }
        }
    }

    pub(crate) fn configurations(&self, installation: &Installation) -> Result<Vec<Value>, AppError> {
        let registration = self.registration(&installation.target, &installation.ca_bundle)?;
        let mut objects = match installation.registration_mode() {
            RegistrationMode::Managed => registration.without_entries().objects(),
            RegistrationMode::Static => registration.objects(),
        };
        // A definition's name is its resource's.
        for object in objects.iter_mut().filter(|object| !is_definition(object)) {
            object["metadata"]["name"] = json!(installation.name);
        }
        Ok(labelled(objects, &installation.name))
    }

    /// What the app reads while it decides.
    fn rights_to_read(&self) -> Vec<Right> {
        let namespaces = || Right::new(None, "", "namespaces", &["get", "list", "watch"]);
        let reads = self.reads();
        let looked_up =
            reads.iter().map(|it| Right::new(it.namespace.as_deref(), &it.group, &it.resource, it.verbs));
        self.needs_namespaces().then(namespaces).into_iter().chain(looked_up).collect()
    }

    pub(crate) fn reads_the_cluster(&self) -> bool {
        self.needs_client() || self.needs_namespaces() || !self.defaults.rights.is_empty()
    }

    fn not_so(&self, problems: Vec<String>) -> Result<(), AppError> {
        if problems.is_empty() { Ok(()) } else { Err(AppError { name: self.name().to_owned(), problems }) }
    }
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
