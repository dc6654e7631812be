//! The builder of a webhook: its hooks, conversions, lookups and conditions. `serve` serves it, and `manifests` prints what it needs.

pub(crate) mod background;
pub(crate) mod check;
pub(crate) mod defaults;
mod entries;
mod hooks;
mod lookups;
mod managed_registration;
mod paths;
pub(crate) mod readiness;
mod test_overrides;

use std::collections::BTreeSet;
use std::sync::Arc;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use prometheus_client::registry::Registry;
use vestibule_admission::HookKind;
use vestibule_identity::{NamespacedName, RegistrationKind, RegistrationName, Settings};

use crate::app::background::MakeWork;
use crate::app::defaults::Defaults;
use crate::app::readiness::{Condition, Holds, Line};
use crate::conversion::Conversion;
use crate::lookup::LookupDeclaration;
use crate::lookup::test_objects::Objects;
use crate::lookup::watch_state::NamedWatch;
use crate::registration::Registration;
use crate::registration::entries::{Entries, Entry};
use crate::registration::target::Target;
use check::AppError;
pub use hooks::Registered;

/// A webhook: named hooks, each with the resources it is for and its handler.
///
/// The paths, the webhook configurations and the metrics follow from the hooks. Cheap to clone; clones share their
/// handlers, so that a test can serve several replicas of one app.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use vestibule::Operation::Create;
/// use vestibule::{App, Context, FailurePolicy, Reject, on};
///
/// async fn label(mut pod: Pod, _: Context) -> Result<Pod, Reject> {
///     pod.metadata.labels.get_or_insert_default().insert("seen".to_owned(), "true".to_owned());
///     Ok(pod)
/// }
///
/// let app = App::new("labeller").mutate("label", on::<Pod>([Create]).failure_policy(FailurePolicy::Ignore), label);
/// assert!(app.check().is_ok());
/// ```
///
/// A handler that needs a value of its own, such as a client or a configuration, is a closure that owns it, or a type that
/// implements [`Mutate`](crate::Mutate) or [`Validate`](crate::Validate):
///
/// ```
/// use std::sync::Arc;
///
/// use k8s_openapi::api::core::v1::Pod;
/// use vestibule::Operation::Create;
/// use vestibule::{App, Change, Context, FailurePolicy, Reject, deny, on};
///
/// async fn ours(change: Change<Pod>, registry: Arc<str>) -> Result<(), Reject> {
///     let containers = change.object().and_then(|pod| pod.spec.as_ref()).map_or(&[][..], |spec| &spec.containers);
///     let foreign = |image: &Option<String>| !image.as_ref().is_some_and(|image| image.starts_with(&*registry));
///     match containers.iter().any(|container| foreign(&container.image)) {
///         true => Err(deny(format!("images come from {registry}"))),
///         false => Ok(()),
///     }
/// }
///
/// let registry: Arc<str> = "registry.example.com/".into();
/// let app = App::new("images").validate(
///     "ours",
///     on::<Pod>([Create]).failure_policy(FailurePolicy::Fail),
///     move |change, _: Context| ours(change, Arc::clone(&registry)),
/// );
/// assert!(app.check().is_ok());
/// ```
#[derive(Clone)]
#[must_use = "an app does nothing until it runs"]
pub struct App {
    name: String,
    hooks: Vec<Registered>,
    pub(crate) conversions: Vec<NamedConversion>,
    pub(crate) conditions: Vec<Condition>,
    pub(crate) lines: Vec<Line>,
    pub(crate) metrics: Vec<Arc<RegisterMetrics>>,
    lookups: Vec<LookupDeclaration>,
    /// Watches that the app's author started, beside the watches of its lookups.
    pub(crate) watches: Vec<NamedWatch>,
    /// The objects that lookups find instead of a cluster's, in tests.
    objects: Option<Objects>,
    pub(crate) reads_namespaces: bool,
    definitions: Vec<CustomResourceDefinition>,
    pub(crate) works: Vec<MakeWork>,
    problems: Vec<String>,
    /// The entries of the hooks in `hooks_with_entries`, which may change while the app runs.
    pub(crate) entries: Option<Entries>,
    pub(crate) hooks_with_entries: BTreeSet<String>,
    pub(crate) defaults: Defaults,
}

type RegisterMetrics = dyn Fn(&mut Registry) + Send + Sync;

/// A conversion under its name.
#[derive(Clone)]
pub(crate) struct NamedConversion {
    pub(crate) name: String,
    pub(crate) conversion: Conversion,
}

impl App {
    /// A webhook without hooks. The name is a DNS label; it names the configurations too.
    ///
    /// ```
    /// use vestibule::App;
    ///
    /// let app = App::new("labeller").service("shop/hooks").replicas(3);
    /// assert_eq!(app.name(), "labeller");
    /// ```
    pub fn new(name: impl Into<String>) -> Self {
        Self {
            name: name.into(),
            hooks: Vec::new(),
            conversions: Vec::new(),
            conditions: Vec::new(),
            lines: Vec::new(),
            metrics: Vec::new(),
            lookups: Vec::new(),
            watches: Vec::new(),
            objects: None,
            reads_namespaces: false,
            definitions: Vec::new(),
            works: Vec::new(),
            problems: Vec::new(),
            entries: None,
            hooks_with_entries: BTreeSet::new(),
            defaults: Defaults::default(),
        }
    }

    /// Converts the objects of a custom resource between its versions. The path is `/convert/NAME`.
    pub fn convert(mut self, name: &str, conversion: impl Into<Conversion>) -> Self {
        self.conversions.push(NamedConversion { name: name.to_owned(), conversion: conversion.into() });
        self
    }

    /// Adds the definition of a custom resource that needs no conversion to the manifests.
    pub fn definition(mut self, definition: CustomResourceDefinition) -> Self {
        self.definitions.push(definition);
        self
    }

    /// Makes readiness wait until `holds` first returns `true`, or `Ok`; then it is not called again. `/readyz` shows the name,
    /// and the text of an `Err`.
    ///
    /// `holds` is called ten times a second, on a thread of its own: it may block, and no call of the webhook waits for it. After a
    /// panic, `/readyz` says `panicked`, and `holds` is called again. A handler that lacks something later answers with
    /// [`too_many_requests`](crate::too_many_requests) or [`Reject::not_ready`](crate::Reject::not_ready).
    ///
    /// ```
    /// use std::path::Path;
    /// use vestibule::App;
    ///
    /// let app = App::new("demo").ready_when("the price list", || Path::new("/etc/prices").exists());
    /// ```
    pub fn ready_when<H: Holds>(mut self, name: &str, holds: impl Fn() -> H + Send + Sync + 'static) -> Self {
        self.conditions.push(Condition::new(name, holds));
        self
    }

    /// Adds a line to `/readyz?verbose`: `NAME: `, and the text that `line` returns.
    ///
    /// ```
    /// let app = vestibule::App::new("demo").reports("price list", || "of today, 3 prices".to_owned());
    /// ```
    pub fn reports(mut self, name: &str, line: impl Fn() -> String + Send + Sync + 'static) -> Self {
        let name = name.to_owned();
        self.lines.push(Arc::new(move || format!("{name}: {}", line())));
        self
    }

    /// Adds metrics of the app's own to `/metrics`, by the types of [`prometheus_client`]. Their names are served as they are
    /// registered, that of a counter with `_total` behind it; those of the framework begin with `vestibule_` or `process_`. An app
    /// with a name that is registered twice, or that is no name of OpenMetrics, is not served. Each served replica calls `register`
    /// once. `#[derive(EncodeLabelSet)]` needs prometheus-client, in the same version, among the app's own dependencies.
    ///
    /// ```
    /// use vestibule::App;
    /// use vestibule::prometheus_client::metrics::counter::Counter;
    ///
    /// let lookups = Counter::<u64>::default();
    /// let counted = lookups.clone();
    /// let app = App::new("demo").metrics(move |registry| registry.register("demo_lookups", "Prices asked for", counted.clone()));
    /// # let _ = (app, lookups);
    /// ```
    pub fn metrics(mut self, register: impl Fn(&mut Registry) + Send + Sync + 'static) -> Self {
        self.metrics.push(Arc::new(register));
        self
    }

    /// The webhook's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The configurations that make the API server call the hooks at `target`, trusting `ca_bundle` (PEM). An empty `ca_bundle`
    /// is left out, so that applying the configurations does not overwrite the bundle that an identity wrote.
    ///
    /// The webhook's own namespace and the system namespaces are excluded, unless a hook includes them.
    ///
    /// # Errors
    /// The app is not in order; every problem is named.
    pub fn registration(&self, target: &Target, ca_bundle: &str) -> Result<Registration, AppError> {
        self.registration_with(&self.current_entries(), target, ca_bundle)
    }

    /// Like [`App::registration`], with the entries `given` instead of the current ones.
    pub(crate) fn registration_with(
        &self,
        given: &[Entry],
        target: &Target,
        ca_bundle: &str,
    ) -> Result<Registration, AppError> {
        self.check()?;
        let has = |kind: HookKind| self.hooks.iter().any(|registered| registered.entry.kind == kind);
        let of = |kind: HookKind| has(kind).then(|| self.entries_of(kind, given));
        let mut registration = Registration::new(
            &self.name,
            of(HookKind::Mutating).as_deref(),
            of(HookKind::Validating).as_deref(),
            target,
            ca_bundle,
        );
        for converted in &self.conversions {
            converted.conversion.described().register(
                &mut registration,
                target,
                &converted.path(),
                ca_bundle,
            );
        }
        registration.definitions.extend(self.definitions.iter().cloned());
        Ok(registration)
    }

    /// Declares that the app reads namespaces of the cluster: `manifests` then prints the RBAC rule for it.
    pub fn reads_namespaces(mut self) -> Self {
        self.reads_namespaces = true;
        self
    }

    /// The settings of a [`SelfManaged`](crate::identity::SelfManaged) identity for this app behind `service`: the kinds and
    /// names of its configurations, and the ring's Secret, `NAME-ring` beside the Service.
    pub fn identity_settings(&self, service: NamespacedName) -> Settings {
        let mut settings = Settings::for_service(service);
        settings.registrations = self.registration_names(&self.name);
        settings
    }

    /// `name` in every kind of configuration that the hooks need, and the definitions of the converted resources.
    pub fn registration_names(&self, name: &str) -> Vec<RegistrationName> {
        let kinds = [
            (HookKind::Mutating, RegistrationKind::Mutating),
            (HookKind::Validating, RegistrationKind::Validating),
        ];
        let kinds = kinds
            .into_iter()
            .filter(|(of, _)| self.hooks.iter().any(|registered| registered.entry.kind == *of));
        let hooks = kinds.map(|(_, kind)| RegistrationName { kind, name: name.to_owned() });
        let definitions = self.conversions.iter().map(|converted| RegistrationName {
            kind: RegistrationKind::CustomResource,
            name: converted.conversion.described().name().to_owned(),
        });
        hooks.chain(definitions).collect()
    }

    /// The names of hooks and conversions, as they stand in metrics and the log.
    pub(crate) fn hook_names(&self) -> impl Iterator<Item = &str> {
        let conversions = self.conversions.iter().map(|converted| &*converted.name);
        self.hooks.iter().map(|registered| &*registered.entry.name).chain(conversions)
    }

    /// The hooks, in the order in which they were added.
    pub fn hooks(&self) -> &[Registered] {
        &self.hooks
    }
}

impl NamedConversion {
    pub(crate) fn path(&self) -> String {
        self.conversion.path_or(&self.name)
    }
}

#[cfg(test)]
mod tests;
