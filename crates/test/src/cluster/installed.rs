//! An app on a cluster, installed by its own manifests.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;

use k8s_openapi::api::events::v1::Event;
use kube::Api;
use kube::api::ListParams;
use serde_json::Value;
use vestibule_testenv::{self as testenv, Service};

use super::breakage::{Breakage, Breaker};
use super::missing_rights;
use super::replica::Replica;
use super::reviewed::{Reviewed, Reviews};
use super::{Cluster, TEST, or_fail};
use vestibule::identity::NamespacedName;
use vestibule::tooling::HookEntry;
use vestibule::{App, Target};
use vestibule_manifests::Installation;

/// An app that the API server calls, until this is dropped.
///
/// The installation is that of production: the objects are [`Installation::manifests`], applied unchanged; the API
/// server calls the Service by its name, at a port above 1024; each replica starts with the arguments of the
/// Deployment, and speaks to the cluster as the ServiceAccount of the manifests, under their roles. **A request that
/// the roles do not grant fails the test**: when this is dropped at the latest, a panic names it. Only the waits of the
/// certificate's first start are shorter than in production.
pub struct Installed<'c> {
    cluster: &'c Cluster,
    app: App,
    installation: Installation,
    account: NamespacedName,
    deployment: Value,
    kubeconfig: PathBuf,
    reviews: Reviews,
    breaker: Breaker,
    service: Arc<Service>,
    replicas: Vec<Replica>,
    adopted: Option<testenv::Installed>,
}

impl<'c> Installed<'c> {
    pub(super) async fn new(
        cluster: &'c Cluster,
        mut app: App,
        change: impl FnOnce(&mut Installation),
    ) -> Self {
        let (environment, home) = (cluster.environment(), &cluster.home);
        let service_name = app.name().to_owned();
        let service = Arc::new(or_fail(environment.service(home, &service_name).await));
        let target = or_fail(Target::service(&format!("{home}/{service_name}:{}", service.port())));
        let cut = Arc::clone(&service);
        let breaker = Breaker::new(move || cut.cut_connections());
        let around = breaker.clone();
        app.wrap_handlers(move |hook, handler| around.around(hook, handler));
        if cluster.shared {
            app.confine(TEST, home);
        }
        let mut installation = Installation::of(&app, target);
        // Other tests may install an app of this name at the same time.
        installation.name = format!("{home}-{}", app.name());
        installation.image = Some("registry.invalid/webhook:test".to_owned());
        change(&mut installation);

        let objects = or_fail(installation.manifests(&app));
        or_fail(environment.apply(objects.clone()).await);
        let account =
            installation.service_account().unwrap_or_else(|| panic!("it runs as no ServiceAccount"));
        or_fail(environment.wait_until_granted(&account.namespace, &account.name, &objects).await);
        let kubeconfig = environment.service_account_kubeconfig(&account.namespace, &account.name).await;
        let deployment = objects.iter().find(|object| object["kind"] == "Deployment").cloned();
        let deployment = deployment.unwrap_or_else(|| panic!("its manifests hold no Deployment"));
        let mut installed = Self {
            cluster,
            app,
            account,
            kubeconfig: or_fail(kubeconfig),
            reviews: Reviews::default(),
            breaker,
            service,
            replicas: Vec::new(),
            adopted: None,
            deployment,
            installation,
        };
        installed.scale(usize::from(installed.installation.replicas)).await;
        let live = environment.adopt(&objects).await;
        installed.adopted = Some(installed.or_explain(live).await);
        installed.reviews.clear();
        installed
    }

    /// The namespace of its Service and its Secret.
    pub fn namespace(&self) -> &str {
        &self.account.namespace
    }

    /// The name of its objects and of its configurations.
    pub fn name(&self) -> &str {
        &self.installation.name
    }

    /// The reviews that the hook of this name has decided since the app was installed, in all replicas, in order.
    ///
    /// # Panics
    /// There is no such hook.
    #[track_caller]
    pub fn reviews(&self, hook: &str) -> Vec<Reviewed> {
        self.entry(hook);
        self.reviews.of(hook)
    }

    /// The audit annotations of the hook of this name in the API server's log, in order: the handler's own keys, and
    /// values.
    ///
    /// # Panics
    /// There is no such hook, or the log cannot be read.
    pub fn audit_annotations(&self, hook: &str) -> Vec<(String, String)> {
        let prefix = self.entry(hook).qualified_name(self.app.name()) + "/";
        // Another test may have installed an app of this name, in other namespaces.
        let namespaces: BTreeSet<String> =
            self.reviews.of(hook).into_iter().filter_map(|review| review.namespace).collect();
        let log = or_fail(self.cluster.environment().audit_log());
        let events = log.iter().filter(|event| {
            event["objectRef"]["namespace"].as_str().is_none_or(|namespace| namespaces.contains(namespace))
        });
        // A stream has an event at its start and one at its end, with the same annotations.
        let mut seen = BTreeSet::new();
        let annotations = events.flat_map(|event| {
            let of_event = event["annotations"].as_object().into_iter().flatten();
            of_event.map(|(key, value)| (event["auditID"].as_str(), key, value))
        });
        let annotations = annotations.filter(|(request, key, _)| seen.insert((*request, *key)));
        let own =
            annotations.filter_map(|(_, key, value)| Some((key.strip_prefix(&prefix)?, value.as_str()?)));
        own.map(|(key, value)| (key.to_owned(), value.to_owned())).collect()
    }

    /// The Events (`events.k8s.io/v1`) in its namespace, and Events about objects outside namespaces that have its
    /// name.
    ///
    /// # Panics
    /// The API server does not list them.
    pub async fn events(&self) -> Vec<Event> {
        or_fail(self.listed_events().await)
    }

    async fn listed_events(&self) -> Result<Vec<Event>, kube::Error> {
        let mut events = Vec::new();
        for namespace in [self.namespace(), "default"] {
            let api: Api<Event> = Api::namespaced(self.cluster.client(), namespace);
            events.extend(api.list(&ListParams::default()).await?.items);
        }
        let ours = |event: &Event| {
            let regarding = event.regarding.as_ref().and_then(|regarding| regarding.name.as_deref());
            event.metadata.namespace.as_deref() == Some(self.namespace()) || regarding == Some(self.name())
        };
        events.retain(ours);
        Ok(events)
    }

    /// From now on the hook of this name fails in this way, in all replicas.
    ///
    /// # Panics
    /// There is no such hook.
    #[track_caller]
    pub fn break_with(&self, hook: &str, breakage: Breakage) {
        self.entry(hook);
        self.breaker.set(hook, Some(breakage));
    }

    /// From now on the hook works again.
    ///
    /// # Panics
    /// There is no such hook.
    #[track_caller]
    pub fn mend(&self, hook: &str) {
        self.entry(hook);
        self.breaker.set(hook, None);
    }

    /// Starts replicas, or drains the oldest, until this number runs. Returns when all of them are ready.
    ///
    /// # Panics
    /// They do not start, or do not become ready.
    pub async fn scale(&mut self, replicas: usize) {
        while self.replicas.len() < replicas {
            let replica =
                Replica::start(self.app.clone(), &self.deployment, &self.kubeconfig, self.reviews.clone());
            let replica = or_fail(replica.await);
            or_fail(self.service.add_replica(replica.address, replica.probes));
            self.replicas.push(replica);
        }
        while self.replicas.len() > replicas {
            let replica = self.replicas.remove(0);
            let address = replica.address;
            replica.drain().await;
            self.service.remove_replica(address);
        }
        let ready = self.service.wait_for_replicas(replicas).await;
        self.or_explain(ready).await;
    }

    /// The requests that the API server has refused the app because a rule is missing: `create secrets in shop`.
    ///
    /// # Panics
    /// The audit log cannot be read.
    pub fn forbidden(&self) -> Vec<String> {
        or_fail(self.refusals())
    }

    fn refusals(&self) -> Result<Vec<String>, testenv::Error> {
        let log = self.cluster.environment().audit_log()?;
        Ok(missing_rights::of(&log, &self.account))
    }

    /// Panics with the error, the refused requests, the warnings of the replicas, and the readiness of each.
    async fn or_explain<T>(&self, outcome: Result<T, testenv::Error>) -> T {
        let error = match outcome {
            Ok(outcome) => return outcome,
            Err(error) => error,
        };
        let mut text = error.to_string();
        for right in self.refusals().unwrap_or_default() {
            text.push_str(&format!(
                "\n  the API server refused it to {right}: its manifests print no rule for that"
            ));
        }
        text.push_str(&warnings(&self.listed_events().await.unwrap_or_default()));
        for replica in &self.replicas {
            text.push_str(&format!("\n  a replica says: {}", replica.readiness().await));
        }
        panic!("{text}");
    }

    #[track_caller]
    fn entry(&self, hook: &str) -> &HookEntry {
        let entries = || self.app.hooks().iter().map(|registered| &registered.entry);
        let Some(entry) = entries().find(|entry| entry.name == hook) else {
            let names: Vec<_> = entries().map(|entry| &*entry.name).collect();
            let names = if names.is_empty() { "none".to_owned() } else { names.join(", ") };
            panic!("there is no hook `{hook}`; there is {names}");
        };
        entry
    }
}

impl Drop for Installed<'_> {
    fn drop(&mut self) {
        // The API server must not call replicas that have stopped.
        drop(self.adopted.take());
        self.replicas.clear();
        if std::thread::panicking() {
            return;
        }
        let refused = self.refusals().unwrap_or_default();
        assert!(
            refused.is_empty(),
            "the API server refused {} to {}: its manifests print no rule for that",
            self.installation.name,
            refused.join(", ")
        );
    }
}

/// A line for each Event that is a warning, such as about a registration that the API server refuses.
fn warnings(events: &[Event]) -> String {
    let warnings = events.iter().filter(|event| event.type_.as_deref() == Some("Warning"));
    warnings
        .map(|event| format!("\n  an Event says: {}", event.note.as_deref().unwrap_or_default()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_explanation_has_the_warnings() {
        let event = |kind: &str, note: &str| Event {
            type_: Some(kind.to_owned()),
            note: Some(note.to_owned()),
            ..Event::default()
        };
        let events = [event("Normal", "registered"), event("Warning", "entries cannot be written")];
        assert_eq!(warnings(&events), "\n  an Event says: entries cannot be written");
    }
}
