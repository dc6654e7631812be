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
mod registration_mode;
mod workload;

use serde_json::{Value, json};
use vestibule::identity::Source;
use vestibule::{App, AppError};

pub use self::files::Files;
pub use self::installation::Installation;
pub use self::registration_mode::RegistrationMode;
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
        if let (Some(image), Some(namespace)) = (&self.image, self.target.own_namespace()) {
            let pods = Pods { app, installation: self, image, namespace };
            objects.splice(..0, pods.service_account());
            objects.extend(network::objects(&pods));
            objects.extend(pods.files());
            objects.extend(self.objects.iter().cloned());
            objects.push(pods.deployment());
        }
        objects.extend(self.configurations(app)?);
        objects.extend(self.definitions.iter().cloned());
        // A definition comes before objects of its kind.
        objects.sort_by_key(|object| !is_definition(object));
        Ok(labelled(objects, &self.name))
    }

    /// The Namespace of the pods, which [`manifests`](Self::manifests) leaves out. Its labels enforce the Pod Security Standard
    /// that the pods pass: `restricted`, or `privileged` on the network of their nodes.
    ///
    /// # Errors
    /// The webhook is behind a URL: there is no namespace.
    pub fn namespace_object(&self) -> Result<Value, String> {
        let namespace =
            self.target.own_namespace().ok_or("behind a URL there are no pods, and no namespace")?;
        let standard = if self.host_network { "privileged" } else { "restricted" };
        let mut labels = json!({"app.kubernetes.io/name": self.name});
        labels["pod-security.kubernetes.io/enforce"] = json!(standard);
        Ok(
            json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace, "labels": labels}}),
        )
    }

    /// Roles and their bindings: for the CA ring, for lookups, for the log level, and those of [`App::rights`].
    ///
    /// # Errors
    /// As [`Installation::manifests`].
    pub fn roles(&self, app: &App) -> Result<Vec<Value>, AppError> {
        app.check()?;
        let refuse = |problems| AppError::new(app.name(), problems);
        let problems = self.problems();
        if !problems.is_empty() {
            return Err(refuse(problems));
        }
        let ring = self.ring(app).map_err(|problem| refuse(vec![problem]))?;
        let mut rights = ring.map(|settings| settings.policy_rules()).unwrap_or_default();
        // With `local:DIR` the process runs on a laptop, under the user's own rights.
        if matches!(self.identity, Source::SelfManaged | Source::Mounted(_)) {
            rights.extend(app.read_rights());
            let levels = self.followed_log_config_map(app).zip(self.service_account());
            rights.extend(
                levels.into_iter().flat_map(|(name, account)| rbac::of_log_levels(&account.namespace, &name)),
            );
            rights.extend(app.defaults().rights.iter().cloned());
        }
        if rights.is_empty() {
            return Ok(Vec::new());
        }
        let account = self.service_account().ok_or_else(|| {
            refuse(vec!["behind a URL, the ServiceAccount that the webhook runs as must be named".to_owned()])
        })?;
        Ok(labelled(rbac::objects(&self.name, &account, rights), &self.name))
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
        Ok(objects)
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
