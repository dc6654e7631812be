//! Builds the injector as an [`App`]: its hooks, metrics, conditions of readiness and rights.

use std::sync::Arc;

use k8s_openapi::api::rbac::v1::PolicyRule;
use vestibule::identity::{event_rule, policy_rule};
use vestibule::{App, FailurePolicy, On, Operation, Raw, Rule, on_raw};
use vestibule_rules::{API_VERSION, CustomResource, Resource};

use crate::configuration::last_good::LAST_GOOD;
use crate::configuration::{CONFIG_LABEL, Configuration, ConfigurationCollector};
use crate::events::Events;
use crate::handler::InjectHandler;
use crate::namespaces::Namespaces;
use crate::observer::DecisionObserver;
use crate::pending_rules::PendingRules;
use crate::registration::{self, BEST_EFFORT, REQUIRED};
use crate::rule_validator::RuleValidator;
use crate::start_error::StartError;
use crate::status;

/// The injector's name as an app.
pub const NAME: &str = "injector";

/// A webhook that injects by the rules in force, with two hooks that inject: `required`, which fails closed, and `best-effort`,
/// which fails open. Each of them applies all rules. The API server is told only of the hooks that have rules.
///
/// # Errors
/// Rules need facts about namespaces, and `namespaces` knows none.
pub fn app(configuration: impl Into<Configuration>, namespaces: Namespaces) -> Result<App, StartError> {
    observed_app(configuration, namespaces, Arc::new(()))
}

/// [`app`], with an observer that is called with every decision.
///
/// # Errors
/// See [`app`].
pub fn observed_app(
    configuration: impl Into<Configuration>,
    namespaces: Namespaces,
    observer: Arc<dyn DecisionObserver>,
) -> Result<App, StartError> {
    let configuration = configuration.into();
    let snapshot = configuration.current();
    let unknown = StartError::of_rules(snapshot.rules());
    configuration.set_knows_namespaces(namespaces.are_known());
    let mut app = App::new(NAME);
    match unknown {
        Some(error) if !namespaces.are_known() => return Err(error),
        None if configuration.config_maps().is_none() => {}
        // Rules in ConfigMaps may start to need labels of namespaces while the injector runs.
        _ => app = app.reads_namespaces(),
    }
    let readiness = configuration.clone();
    app = app.ready_when("configuration", move || readiness.ready());
    if configuration.lagging.is_on() {
        app = app.rights([policy_rule("", "pods", &["list"], &[])]);
    }
    let measured = configuration.clone();
    app = app.metrics(move |registry| {
        registry.register_collector(Box::new(ConfigurationCollector(measured.clone())));
    });
    let shown = configuration.clone();
    app = app.reports("configuration", move || shown.current().to_string());
    let mut client = None;
    if let Some(watched) = &configuration.watched {
        app = app.reports_watch("ConfigMap", watched.state.clone());
        for (kind, state) in watched.objects.by_kind() {
            app = app.reports_watch(kind, state);
        }
        client = Some(&watched.client);
    }
    if let Some(watched) = namespaces.as_watched() {
        let namespaces = watched.namespaces.clone();
        app = app.reports_watch("Namespace", namespaces.state());
        app = app.ready_when("namespaces", move || namespaces.is_synced());
        client = client.or(Some(&watched.client));
    }
    let validator = RuleValidator::of(&configuration);
    let mut observers: Vec<Arc<dyn DecisionObserver>> =
        vec![Arc::new(configuration.outcomes.clone()), observer];
    if let Some(client) = client {
        observers.push(Arc::new(Events::new(client.clone())));
    }
    let observers: Arc<[_]> = observers.into();
    // The calls of one create reach both hooks, which share the wait for rules.
    let pending = Arc::new(PendingRules::default());
    let entries = configuration.entries.clone();
    let handler = move |is_required| {
        let (pending, observers) = (Arc::clone(&pending), Arc::clone(&observers));
        InjectHandler::new(configuration.clone(), is_required, namespaces.clone(), pending, observers)
    };
    // The API server calls the hooks of one configuration in this order.
    let app = app.mutate_raw(REQUIRED, on().failure_policy(FailurePolicy::Fail), handler(true));
    let app = app
        .mutate_raw(BEST_EFFORT, on().failure_policy(FailurePolicy::Ignore), handler(false))
        .entries(&entries);
    Ok(match validator {
        // Rules in ConfigMaps imply a cluster, where Events on the owners of pods are written, in any namespace.
        Some(validator) => with_validator(app, validator).rights([event_rule()]),
        None => app,
    })
}

/// Adds the hooks that validate ConfigMaps with rules and objects with rules or settings, and the rights to follow them and to store
/// the last good rules.
fn with_validator(app: App, validator: RuleValidator) -> App {
    let home = format!("kubernetes.io/metadata.name={}", validator.namespace);
    let on = on_raw([Rule::new("v1", "configmaps", [Operation::Create, Operation::Update])])
        .namespaces(&home)
        .system_namespaces()
        .objects(&format!("{CONFIG_LABEL}=true"))
        // The proof of a thousand rules takes up to a second on a machine with other work.
        .timeout_seconds(10)
        // While no replica answers, errors in rules go to the log, and the last good rules stay in force.
        .failure_policy(FailurePolicy::Ignore);
    let objects = CustomResource::ALL
        .map(|resource| Rule::new(API_VERSION, resource.plural(), [Operation::Create, Operation::Update]));
    // A rule of a namespace is refused in the namespaces where rules do not apply.
    let on_objects =
        on_raw(objects).system_namespaces().timeout_seconds(10).failure_policy(FailurePolicy::Ignore);
    let config_maps = |verbs: &[&str], names: &[&str]| policy_rule("", "configmaps", verbs, names);
    let (own_leases, all_leases) = status::lease_rights();
    let own_rights = [
        config_maps(&["list", "watch"], &[]),
        config_maps(&["get", "update"], &[LAST_GOOD]),
        // RBAC cannot limit `create` to a name: the name is not known when a creation is authorized.
        config_maps(&["create"], &[]),
        own_leases,
    ];
    app.rights_in(&validator.namespace.clone(), own_rights)
        .rights([all_leases, objects_right(&["list", "watch"], ""), objects_right(&["patch"], "/status")])
        .validate_raw("config", on, validator.clone())
        .validate_raw("objects", on_objects, validator)
}

/// A right to all objects with rules or settings, or to a subresource of them: `/status`.
fn objects_right(verbs: &[&str], subresource: &str) -> PolicyRule {
    let (group, _) = API_VERSION.split_once('/').unwrap_or_default();
    let resources = CustomResource::ALL.iter().map(|it| format!("{}{subresource}", it.plural()));
    PolicyRule { resources: Some(resources.collect()), ..policy_rule(group, "", verbs, &[]) }
}

/// Both hooks accept every resource that rules may be about, since rules change while they are served. The entries say for
/// which objects the API server calls them.
fn on() -> On<Raw> {
    on_raw(Resource::ALL.iter().copied().map(registration::resources))
}
