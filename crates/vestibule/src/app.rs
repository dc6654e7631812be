//! The webhook as a whole: its hooks, and from them the registration and the server.

mod lookups;
#[cfg(feature = "cli")]
mod paths;
#[cfg(feature = "test")]
mod rehearsed;

use std::collections::BTreeSet;
use std::marker::PhantomData;
use std::sync::Arc;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde::Serialize;
use serde::de::DeserializeOwned;
use vestibule_admission::{Handler, Hook, HookKind};
use vestibule_identity::{NamespacedName, RegistrationKind, RegistrationName, Settings};

use crate::condition::Condition;
use crate::defaults::Defaults;
use crate::environment::Environment;
use crate::guard::Guarded;
use crate::lookup::{Declared, Objects};
use crate::name::{is_dns_label, path_problem};
use crate::on::Raw;
use crate::registration::Entry;
use crate::state::States;
use crate::typed::{Mutating, Typed, Validating};
use crate::work::MakeWork;
use crate::{Conversion, Holds, Mutate, On, Registration, Rule, Target, Validate};

/// A webhook: named hooks, each with the resources it is for and its handler.
///
/// Everything else follows from it: the paths it serves, the configurations that register it, the metrics it counts.
/// Cheap to clone; clones share their handlers and states, so that several replicas of one app can be served in a test.
///
/// ```
/// use k8s_openapi::api::core::v1::Pod;
/// use vestibule::Operation::Create;
/// use vestibule::{App, Context, Reject, on};
///
/// async fn label(mut pod: Pod, _: Context) -> Result<Pod, Reject> {
///     pod.metadata.labels.get_or_insert_default().insert("seen".to_owned(), "true".to_owned());
///     Ok(pod)
/// }
///
/// let app = App::new("labeller").mutate("label", on::<Pod>([Create]).fail_open(), label);
/// assert!(app.check().is_ok());
/// ```
#[derive(Clone)]
#[must_use = "an app does nothing until it runs"]
pub struct App {
    name: String,
    hooks: Vec<Registered>,
    conversions: Vec<Converted>,
    conditions: Vec<Condition>,
    states: States,
    lookups: Vec<Declared>,
    /// In the place of a cluster's.
    objects: Option<Objects>,
    reads_namespaces: bool,
    definitions: Vec<CustomResourceDefinition>,
    pub(crate) works: Vec<MakeWork>,
    problems: Vec<String>,
    pub(crate) defaults: Defaults,
}

/// A hook in the making: it is whole when the app is, with everything the app gives its handlers.
#[derive(Clone)]
pub(crate) struct Registered {
    pub(crate) entry: Entry,
    make: Arc<dyn Fn(&Environment) -> Hook + Send + Sync>,
}

/// A conversion under its name.
#[derive(Clone)]
pub(crate) struct Converted {
    pub(crate) name: String,
    pub(crate) conversion: Conversion,
}

/// What is wrong with an [`App`], all of it at once.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("the webhook `{name}` cannot run:\n  {}", problems.join("\n  "))]
#[non_exhaustive]
pub struct AppError {
    /// The webhook's name.
    pub name: String,
    /// One sentence each, with what to do.
    pub problems: Vec<String>,
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
            states: States::default(),
            lookups: Vec::new(),
            objects: None,
            reads_namespaces: false,
            definitions: Vec::new(),
            works: Vec::new(),
            problems: Vec::new(),
            defaults: Defaults::default(),
        }
    }

    /// Adds a hook that changes objects of type `T`. Its path is `/mutate/NAME`. What has no object to change, a DELETE,
    /// passes without the handler: [`App::validate`] judges those.
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::ConfigMap;
    /// use vestibule::Operation::Create;
    /// use vestibule::{App, Context, Reject, on};
    ///
    /// async fn owner(mut map: ConfigMap, context: Context) -> Result<ConfigMap, Reject> {
    ///     let annotations = map.metadata.annotations.get_or_insert_default();
    ///     annotations.entry("example.com/made-by".to_owned()).or_insert(context.user().username.clone());
    ///     Ok(map)
    /// }
    ///
    /// let app = App::new("demo").mutate("owner", on::<ConfigMap>([Create]).fail_open(), owner);
    /// assert!(app.check().is_ok());
    /// ```
    pub fn mutate<T, H>(self, name: &str, on: On<T>, handler: H) -> Self
    where
        T: DeserializeOwned + Serialize + Send + 'static,
        H: Mutate<T>,
    {
        let typed = typed(&on, handler);
        let make = move |environment: &Environment| Mutating(typed(environment));
        self.register(name, HookKind::Mutating, on, move |environment| Arc::new(make(environment)))
    }

    /// Adds a hook that judges changes of objects of type `T`. Its path is `/validate/NAME`.
    ///
    /// ```
    /// use k8s_openapi::api::apps::v1::Deployment;
    /// use vestibule::Operation::{Create, Update};
    /// use vestibule::{App, Change, Context, Reject, deny, on};
    ///
    /// async fn guard(change: Change<Deployment>, _: Context) -> Result<(), Reject> {
    ///     let replicas = change.object().and_then(|deployment| deployment.spec.as_ref()?.replicas);
    ///     if replicas > Some(10) { Err(deny("too many replicas")) } else { Ok(()) }
    /// }
    ///
    /// let app = App::new("demo").validate("guard", on::<Deployment>([Create, Update]).fail_closed(), guard);
    /// assert!(app.check().is_ok());
    /// ```
    pub fn validate<T, H>(self, name: &str, on: On<T>, handler: H) -> Self
    where
        T: DeserializeOwned + Send + 'static,
        H: Validate<T>,
    {
        let typed = typed(&on, handler);
        let make = move |environment: &Environment| Validating(typed(environment));
        self.register(name, HookKind::Validating, on, move |environment| Arc::new(make(environment)))
    }

    /// Adds a mutating hook whose handler reads the request as it came and makes its own patch.
    ///
    /// ```
    /// use std::time::Duration;
    /// use vestibule::Operation::Create;
    /// use vestibule::patch::{Operation, Pointer};
    /// use vestibule::{App, Handler, HandlerFuture, Request, Rule, Verdict, on_raw};
    ///
    /// struct Unlabel;
    ///
    /// impl Handler for Unlabel {
    ///     fn handle<'a>(&'a self, request: &'a Request<'a>, _: Duration) -> HandlerFuture<'a> {
    ///         let path = Pointer::root().child("metadata").child("labels");
    ///         let there = request.object.is_some_and(|object| object.get().contains(r#""labels""#));
    ///         let patch = if there { vec![Operation::Remove { path }] } else { Vec::new() };
    ///         Box::pin(async move { Verdict::mutated(patch) })
    ///     }
    /// }
    ///
    /// let on = on_raw([Rule::new("v1", "nodes", [Create])]).fail_open();
    /// assert!(App::new("demo").mutate_raw("unlabel", on, Unlabel).check().is_ok());
    /// ```
    pub fn mutate_raw(self, name: &str, on: On<Raw>, handler: impl Handler) -> Self {
        let handler: Arc<dyn Handler> = Arc::new(handler);
        self.register(name, HookKind::Mutating, on, move |_| Arc::clone(&handler))
    }

    /// Adds a validating hook whose handler reads the request as it came.
    ///
    /// ```
    /// use std::time::Duration;
    /// use vestibule::Operation::Connect;
    /// use vestibule::{App, Denial, Handler, HandlerFuture, Request, Rule, Verdict, on_raw};
    ///
    /// struct NoStreams;
    ///
    /// impl Handler for NoStreams {
    ///     fn handle<'a>(&'a self, request: &'a Request<'a>, _: Duration) -> HandlerFuture<'a> {
    ///         let exempt = request.user.username == "admin";
    ///         Box::pin(async move { if exempt { Verdict::allowed() } else { Denial::new("no streams").into() } })
    ///     }
    /// }
    ///
    /// let on = on_raw([Rule::new("v1", "pods/exec", [Connect])]).fail_closed();
    /// let app = App::new("demo").validate_raw("no-streams", on, NoStreams);
    /// assert!(app.check().is_ok());
    /// ```
    pub fn validate_raw(self, name: &str, on: On<Raw>, handler: impl Handler) -> Self {
        let handler: Arc<dyn Handler> = Arc::new(handler);
        self.register(name, HookKind::Validating, on, move |_| Arc::clone(&handler))
    }

    /// Gives handlers something to share, one value of each type: a client, a configuration, a counter. They ask for it by
    /// [`Context::state`](crate::Context::state).
    ///
    /// ```
    /// use k8s_openapi::api::core::v1::Pod;
    /// use vestibule::Operation::Create;
    /// use vestibule::{App, Change, Context, Reject, deny, on};
    ///
    /// struct Registry(&'static str);
    ///
    /// async fn ours(change: Change<Pod>, context: Context) -> Result<(), Reject> {
    ///     let Registry(registry) = context.state()?;
    ///     let containers = change.object().and_then(|pod| pod.spec.as_ref()).map_or(&[][..], |spec| &spec.containers);
    ///     let foreign = |image: &Option<String>| !image.as_ref().is_some_and(|image| image.starts_with(registry));
    ///     match containers.iter().any(|container| foreign(&container.image)) {
    ///         true => Err(deny(format!("images come from {registry}"))),
    ///         false => Ok(()),
    ///     }
    /// }
    ///
    /// let app = App::new("images")
    ///     .state(Registry("registry.example.com/"))
    ///     .validate("ours", on::<Pod>([Create]).fail_closed(), ours);
    /// assert!(app.check().is_ok());
    /// ```
    pub fn state<S: Send + Sync + 'static>(mut self, state: S) -> Self {
        if !self.states.insert(state) {
            let of = std::any::type_name::<S>();
            self.problems.push(format!("it has two states of type `{of}`: wrap one in a type of its own"));
        }
        self
    }

    /// Converts the objects of a custom resource between its versions. The path is `/convert/NAME`.
    pub fn convert(mut self, name: &str, conversion: impl Into<Conversion>) -> Self {
        self.conversions.push(Converted { name: name.to_owned(), conversion: conversion.into() });
        self
    }

    /// Prints a definition among the manifests: of a custom resource in one version, which nobody converts.
    pub fn definition(mut self, definition: CustomResourceDefinition) -> Self {
        self.definitions.push(definition);
        self
    }

    /// Holds readiness back until `holds` says `true`, or `Ok`. The name appears on `/readyz`, and what an `Err` says.
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

    /// The webhook's name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The configurations that make the API server call the hooks at `target`, trusting `ca_bundle` (PEM). An empty one
    /// is left out, so that applying the configurations does not touch what an identity wrote there.
    ///
    /// The webhook's own namespace and the system's are left out, whatever the hooks ask for.
    ///
    /// # Errors
    /// The app is not in order; every problem is named.
    pub fn registration(&self, target: &Target, ca_bundle: &str) -> Result<Registration, AppError> {
        self.check()?;
        let of = |kind: HookKind| {
            self.hooks.iter().map(|registered| &registered.entry).filter(move |entry| entry.kind == kind)
        };
        let mut registration = Registration::new(
            &self.name,
            of(HookKind::Mutating),
            of(HookKind::Validating),
            target,
            ca_bundle,
        );
        for converted in &self.conversions {
            registration.convert(&converted.path(), converted.conversion.described(), target, ca_bundle);
        }
        registration.definitions.extend(self.definitions.iter().cloned());
        Ok(registration)
    }

    /// Says that the app reads namespaces of the cluster: `manifests` then prints the right to, for an app that runs
    /// there.
    pub fn reads_namespaces(mut self) -> Self {
        self.reads_namespaces = true;
        self
    }

    /// What a [`SelfManaged`](crate::identity::SelfManaged) identity must know of this app behind `service`: its
    /// registration, by kinds and names, and the ring's Secret, `NAME-ring` beside the Service.
    pub fn identity_settings(&self, service: NamespacedName) -> Settings {
        let mut settings = Settings::for_service(service);
        settings.registrations = self.registration_names(&self.name);
        settings
    }

    pub(crate) fn needs_namespaces(&self) -> bool {
        self.reads_namespaces
    }

    /// `name` in every kind of configuration that the hooks need, and the definitions whose objects are converted.
    pub(crate) fn registration_names(&self, name: &str) -> Vec<RegistrationName> {
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

    /// Whether the app is in order.
    ///
    /// ```
    /// use vestibule::App;
    ///
    /// let problems = App::new("Demo").check().unwrap_err().problems;
    /// assert!(problems[0].contains("`Demo` is no name") && problems[1].contains("no hook"));
    /// ```
    ///
    /// # Errors
    /// Every problem is named, with what to do.
    pub fn check(&self) -> Result<(), AppError> {
        let mut problems = self.problems.clone();
        problems.extend(self.defaults.problems());
        if !is_dns_label(&self.name) {
            problems.push(format!("`{}` is no name: use lower-case letters, digits and `-`", self.name));
        }
        if self.hooks.is_empty() && self.conversions.is_empty() {
            let ways = "`.mutate(..)`, `.validate(..)` or `.convert(..)`";
            problems.push(format!("it has no hook: add one with {ways}"));
        }
        let mut taken = BTreeSet::new();
        for entry in self.hooks.iter().map(|registered| &registered.entry) {
            let name = &entry.name;
            if !taken.insert(name.clone()) {
                problems.push(format!("hook `{name}`: the name is taken; hooks need names of their own"));
                continue;
            }
            for (what, text) in
                [("path", entry.path.clone()), ("qualified name", entry.qualified_name(&self.name))]
            {
                if !taken.insert(text.clone()) {
                    problems.push(format!("hook `{name}`: the {what} `{text}` is taken by another hook"));
                }
            }
        }
        let (mut names, mut definitions) = (BTreeSet::new(), BTreeSet::new());
        for Converted { name, conversion } in &self.conversions {
            let mut found = conversion.described().problems();
            let path = conversion.path_or(name);
            if !taken.insert(path.clone()) {
                found.push(format!("the path `{path}` is taken"));
            }
            if is_dns_label(name) {
                found.extend(path_problem(&path));
            } else {
                found.push("the name uses lower-case letters, digits and `-`: it becomes a path".to_owned());
            }
            if !names.insert(name) || !definitions.insert(conversion.described().name()) {
                found.push(
                    "it is there twice; conversions need names and definitions of their own".to_owned(),
                );
            }
            problems.extend(found.into_iter().map(|problem| format!("conversion `{name}`: {problem}")));
        }
        if problems.is_empty() { Ok(()) } else { Err(AppError { name: self.name.clone(), problems }) }
    }

    pub(crate) fn hooks(&self) -> &[Registered] {
        &self.hooks
    }

    pub(crate) fn conversions(&self) -> &[Converted] {
        &self.conversions
    }

    pub(crate) fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    fn register<T>(
        mut self,
        name: &str,
        kind: HookKind,
        on: On<T>,
        handler: impl Fn(&Environment) -> Arc<dyn Handler> + Send + Sync + 'static,
    ) -> Self {
        let mut problems = on.problems(kind);
        if !is_dns_label(name) {
            problems
                .push("a hook's name uses lower-case letters, digits and `-`: it becomes a path".to_owned());
        }
        self.problems.extend(problems.into_iter().map(|problem| format!("hook `{name}`: {problem}")));
        let (on_fault, guard_finalizers) = (on.on_fault, on.guard_finalizers);
        let entry = Entry::new(name, kind, on);
        let name = entry.name.clone();
        let make = move |environment: &Environment| {
            let mut handler = handler(environment);
            if guard_finalizers {
                handler = Arc::new(Guarded(handler));
            }
            let hook = match kind {
                HookKind::Mutating => Hook::mutating(&*name, handler),
                HookKind::Validating => Hook::validating(&*name, handler),
            };
            hook.on_fault(on_fault)
        };
        self.hooks.push(Registered { entry, make: Arc::new(make) });
        self
    }
}

impl Converted {
    pub(crate) fn path(&self) -> String {
        self.conversion.path_or(&self.name)
    }
}

impl Registered {
    /// The hook, whose handler is given `environment` at every call.
    pub(crate) fn hook(&self, environment: &Environment) -> Hook {
        (self.make)(environment)
    }
}

/// A typed handler that lacks nothing but its environment.
fn typed<T, H>(on: &On<T>, handler: H) -> impl Fn(&Environment) -> Typed<T, H> + use<T, H> {
    let (rules, handler): (Arc<[Rule]>, _) = (on.rules.clone().into(), Arc::new(handler));
    move |environment| Typed {
        rules: Arc::clone(&rules),
        environment: environment.clone(),
        handler: Arc::clone(&handler),
        of: PhantomData,
    }
}

#[cfg(test)]
mod tests;
