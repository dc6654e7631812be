//! The webhook that rules make.

use std::sync::Arc;

use k8s_openapi::api::rbac::v1::PolicyRule;
use vestibule::{App, FailurePolicy, On, Operation, Raw, Rule, on_raw};
use vestibule_rules::{API_VERSION, CustomResource, Resource};

use crate::configuration::last_good::LAST_GOOD;
use crate::configuration::{CONFIG_LABEL, Configuration, ConfigurationCollector};
use crate::events::Events;
use crate::handler::InjectHandler;
use crate::lagging_pods::{LaggingCollector, LaggingPods};
use crate::namespaces::Namespaces;
use crate::observer::DecisionObserver;
use crate::outcome_metrics::OutcomeCollector;
use crate::pending_rules::PendingRules;
use crate::registration::{self, BEST_EFFORT, REQUIRED};
use crate::rule_validator::RuleValidator;
use crate::start_error::StartError;
use crate::status;

/// The injector's name as an app.
pub const NAME: &str = "injector";

/// A webhook that injects by the rules in force, with two hooks: `required`, which fails closed, and `best-effort`, which
/// fails open. Each hook applies all rules. The API server is told only of the hooks that have rules.
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
    let metrics = configuration.outcomes().clone();
    let lagging = configuration.lagging().clone();
    if lagging.is_on() {
        app = app.rights([LaggingPods::right()]);
    }
    let counted = (metrics.clone(), lagging, configuration.clone());
    app = app.metrics(move |registry| {
        let (metrics, lagging, configuration) = counted.clone();
        registry.register_collector(Box::new(ConfigurationCollector(configuration.clone())));
        let of_pods = LaggingCollector { lagging, configuration: configuration.clone() };
        registry.register_collector(Box::new(of_pods));
        registry.register_collector(Box::new(OutcomeCollector { metrics, configuration }));
    });
    let shown = configuration.clone();
    app = app.reports("configuration", move || shown.current().to_string());
    let mut client = None;
    if let Some(watched) = configuration.watched() {
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
    let mut observers: Vec<Arc<dyn DecisionObserver>> = vec![Arc::new(metrics), observer];
    if let Some(client) = client {
        observers.push(Arc::new(Events::new(client.clone())));
    }
    let observers: Arc<[_]> = observers.into();
    // The calls of one create reach both hooks, which share the wait for rules.
    let pending = Arc::new(PendingRules::default());
    let entries = configuration.entries().clone();
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
        // Rules in ConfigMaps imply a cluster, where Events on the owners of pods are written.
        Some(validator) => with_validator(app, validator).rights([Events::right()]),
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
    let right = |verbs: &[&str], name: Option<&str>| PolicyRule {
        api_groups: Some(vec![String::new()]),
        resources: Some(vec!["configmaps".to_owned()]),
        resource_names: name.map(|name| vec![name.to_owned()]),
        verbs: verbs.iter().map(|verb| (*verb).to_owned()).collect(),
        ..PolicyRule::default()
    };
    let rights = [
        right(&["list", "watch"], None),
        right(&["get", "update"], Some(LAST_GOOD)),
        // RBAC cannot limit `create` to a name: the name is not known when a creation is authorized.
        right(&["create"], None),
    ];
    let (own_leases, all_leases) = status::replicas_rights();
    app.rights_in(&validator.namespace.clone(), rights)
        .rights_in(&validator.namespace.clone(), [own_leases])
        .rights([all_leases])
        .rights([objects_right(&["list", "watch"], ""), objects_right(&["patch"], "/status")])
        .validate_raw("config", on, validator.clone())
        .validate_raw("objects", on_objects, validator)
}

/// A right to all objects with rules or settings, or to a subresource of them: `/status`.
fn objects_right(verbs: &[&str], subresource: &str) -> PolicyRule {
    let (group, _) = API_VERSION.split_once('/').unwrap_or_default();
    PolicyRule {
        api_groups: Some(vec![group.to_owned()]),
        resources: Some(
            CustomResource::ALL.iter().map(|it| format!("{}{subresource}", it.plural())).collect(),
        ),
        verbs: verbs.iter().map(|verb| (*verb).to_owned()).collect(),
        ..PolicyRule::default()
    }
}

/// Both hooks accept every resource that rules may be about, since rules change while they are served. The entries say for
/// which objects the API server calls them.
fn on() -> On<Raw> {
    on_raw(Resource::ALL.iter().copied().map(registration::resources))
}
