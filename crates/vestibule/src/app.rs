//! The webhook as a whole: its hooks, and from them the registration and the server.

use std::collections::BTreeSet;
use std::marker::PhantomData;

use serde::Serialize;
use serde::de::DeserializeOwned;
use vestibule_admission::{Handler, Hook, HookKind};
use vestibule_identity::{NamespacedName, RegistrationKind, RegistrationName, Settings};

use crate::condition::Condition;
use crate::on::Raw;
use crate::registration::Entry;
use crate::target::is_dns_label;
use crate::typed::{Mutating, Validating};
use crate::{FailurePolicy, Holds, Mutate, On, Registration, Target, Validate};

/// A webhook: named hooks, each with the resources it is for and its handler.
///
/// Everything else follows from it: the paths it serves, the configurations that register it, the metrics it counts.
#[must_use = "an app does nothing until it runs"]
pub struct App {
    name: String,
    hooks: Vec<Registered>,
    conditions: Vec<Condition>,
    reads_namespaces: bool,
    problems: Vec<String>,
}

pub(crate) struct Registered {
    pub(crate) hook: Hook,
    pub(crate) entry: Entry,
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
    pub fn new(name: impl Into<String>) -> Self {
        let (hooks, conditions, problems) = (Vec::new(), Vec::new(), Vec::new());
        Self { name: name.into(), hooks, conditions, reads_namespaces: false, problems }
    }

    /// Adds a hook that changes objects of type `T`. Its path is `/mutate/NAME`.
    pub fn mutate<T, H>(self, name: &str, on: On<T>, handler: H) -> Self
    where
        T: DeserializeOwned + Serialize + Send + 'static,
        H: Mutate<T>,
    {
        let handler = Mutating { rules: on.rules.clone(), handler, of: PhantomData };
        self.register(Hook::mutating(name, handler), on)
    }

    /// Adds a hook that judges changes of objects of type `T`. Its path is `/validate/NAME`.
    pub fn validate<T, H>(self, name: &str, on: On<T>, handler: H) -> Self
    where
        T: DeserializeOwned + Send + 'static,
        H: Validate<T>,
    {
        let handler = Validating { rules: on.rules.clone(), handler, of: PhantomData };
        self.register(Hook::validating(name, handler), on)
    }

    /// Adds a mutating hook whose handler reads the request as it came and makes its own patch.
    pub fn mutate_raw(self, name: &str, on: On<Raw>, handler: impl Handler) -> Self {
        self.register(Hook::mutating(name, handler), on)
    }

    /// Adds a validating hook whose handler reads the request as it came.
    pub fn validate_raw(self, name: &str, on: On<Raw>, handler: impl Handler) -> Self {
        self.register(Hook::validating(name, handler), on)
    }

    /// Holds readiness back until `holds` says `true`, or `Ok`. The name appears on `/readyz`, and what an `Err` says.
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
            let hooks = self.hooks.iter().filter(move |registered| registered.hook.kind() == kind);
            hooks.map(|registered| &registered.entry)
        };
        Ok(Registration::new(&self.name, of(HookKind::Mutating), of(HookKind::Validating), target, ca_bundle))
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

    /// `name` in every kind of configuration that the hooks need.
    pub(crate) fn registration_names(&self, name: &str) -> Vec<RegistrationName> {
        let kinds = [
            (HookKind::Mutating, RegistrationKind::Mutating),
            (HookKind::Validating, RegistrationKind::Validating),
        ];
        let kinds = kinds
            .into_iter()
            .filter(|(of, _)| self.hooks.iter().any(|registered| registered.hook.kind() == *of));
        kinds.map(|(_, kind)| RegistrationName { kind, name: name.to_owned() }).collect()
    }

    /// Whether the app is in order.
    ///
    /// # Errors
    /// Every problem is named, with what to do.
    pub fn check(&self) -> Result<(), AppError> {
        let mut problems = self.problems.clone();
        if !is_dns_label(&self.name) {
            problems.push(format!("`{}` is no name: use lower-case letters, digits and `-`", self.name));
        }
        if self.hooks.is_empty() {
            problems.push("it has no hook: add one with `.mutate(..)` or `.validate(..)`".to_owned());
        }
        let mut seen = BTreeSet::new();
        for Registered { entry, .. } in &self.hooks {
            if !seen.insert(&entry.name) {
                problems
                    .push(format!("hook `{}`: the name is taken; hooks need names of their own", entry.name));
            }
        }
        if problems.is_empty() { Ok(()) } else { Err(AppError { name: self.name.clone(), problems }) }
    }

    pub(crate) fn hooks(&self) -> &[Registered] {
        &self.hooks
    }

    pub(crate) fn conditions(&self) -> &[Condition] {
        &self.conditions
    }

    fn register<T>(mut self, hook: Hook, on: On<T>) -> Self {
        let name = hook.name().to_owned();
        let mut problems = on.problems();
        if !is_dns_label(&name) {
            problems
                .push("a hook's name uses lower-case letters, digits and `-`: it becomes a path".to_owned());
        }
        self.problems.extend(problems.into_iter().map(|problem| format!("hook `{name}`: {problem}")));
        let directory = match hook.kind() {
            HookKind::Mutating => "mutate",
            HookKind::Validating => "validate",
        };
        let entry = Entry {
            path: format!("/{directory}/{name}"),
            name,
            rules: on.rules,
            namespaces: on.namespaces,
            objects: on.objects,
            // Never served: a missing policy is among the problems.
            failure_policy: on.failure_policy.unwrap_or(FailurePolicy::Closed),
            timeout_seconds: on.timeout_seconds,
        };
        self.hooks.push(Registered { hook: hook.on_fault(on.on_fault), entry });
        self
    }
}

#[cfg(test)]
mod tests;
