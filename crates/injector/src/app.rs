//! The webhook that rules make.

use std::sync::Arc;

use k8s_openapi::api::rbac::v1::PolicyRule;
use vestibule::{App, FailurePolicy, On, Operation, Raw, Rule, on_raw};
use vestibule_rules::{Resource, RuleSet};

use crate::awaited::Awaited;
use crate::configuration::{CONFIG_LABEL, LAST_GOOD};
use crate::events::Events;
use crate::handler::{Injection, Share};
use crate::judge::Judge;
use crate::registration::{self, BEST_EFFORT, REQUIRED};
use crate::tally::Tally;
use crate::{Configuration, Namespaces, Observer};

/// The injector's name as an app.
pub const NAME: &str = "injector";

/// Why rules cannot be served.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StartError {
    /// A review does not carry its namespace's labels, and nobody else knows them.
    #[error(
        "these rules ask for labels of namespaces, which a review does not carry: {}; say them with \
         --namespace-labels k=v,... (for every namespace); `serve` can also ask the cluster of --kubeconfig FILE",
        rules.join(", ")
    )]
    NamespacesUnknown {
        /// The rules that ask.
        rules: Vec<String>,
    },
}

impl StartError {
    /// That rules ask for labels of namespaces, if any does.
    pub(crate) fn of_asking(rules: &RuleSet) -> Option<Self> {
        let asking = rules.rules().iter().filter(|rule| rule.needs_namespace_facts());
        let mut asking: Vec<String> = asking.map(|rule| rule.name().to_owned()).collect();
        if asking.is_empty() {
            asking.push("the exemptions of InjectorSettings".to_owned());
        }
        (rules.needs_namespace_facts()).then_some(Self::NamespacesUnknown { rules: asking })
    }
}

/// A webhook that injects by the rules in force, in two hooks: `required`, which fails closed, and `best-effort`, which
/// fails open. Each applies all rules, whichever it is called for; the API server is told of those that there are rules
/// for.
///
/// # Errors
/// Rules ask for facts about namespaces, and `namespaces` knows none.
pub fn app(configuration: impl Into<Configuration>, namespaces: Namespaces) -> Result<App, StartError> {
    observed_app(configuration, namespaces, Arc::new(()))
}

/// The same, with somebody who learns of every decision.
///
/// # Errors
/// See [`app`].
pub fn observed_app(
    configuration: impl Into<Configuration>,
    namespaces: Namespaces,
    observer: Arc<dyn Observer>,
) -> Result<App, StartError> {
    let configuration = configuration.into();
    let snapshot = configuration.current();
    let asking = StartError::of_asking(snapshot.rules());
    configuration.set_knows_namespaces(namespaces.are_known());
    let entries = configuration.entries().clone();
    let mut app = App::new(NAME);
    match asking {
        Some(error) if !namespaces.are_known() => return Err(error),
        None if configuration.config_maps().is_none() => {}
        // Or they may ask, one day.
        _ => app = app.reads_namespaces(),
    }
    let readiness = configuration.clone();
    app = app.ready_when("configuration", move || readiness.ready());
    let tally = Tally::default();
    for metric in configuration.metrics().into_iter().chain([tally.metric(&configuration)]) {
        app = app.metric(metric);
    }
    let shown = configuration.clone();
    app = app.reports("configuration", move || shown.current().to_string());
    if let Some(ready) = namespaces.ready() {
        app = app.ready_when("namespaces", ready);
    }
    for (kind, watch) in [("ConfigMap", configuration.watch()), ("Namespace", namespaces.watch())] {
        if let Some(watch) = watch {
            app = app.watches(kind, watch);
        }
    }
    let judge = configuration.judge();
    let mut observers: Vec<Arc<dyn Observer>> = vec![Arc::new(tally), observer];
    if let Some(client) = configuration.client().or_else(|| namespaces.client()) {
        observers.push(Arc::new(Events::to(client)));
    }
    let observers: Arc<[_]> = observers.into();
    // A create calls both hooks: together they wait for rules once.
    let awaited = Arc::new(Awaited::default());
    let required = Injection::new(
        configuration.clone(),
        Share::Required,
        namespaces.clone(),
        Arc::clone(&awaited),
        Arc::clone(&observers),
    );
    let best_effort = Injection::new(configuration, Share::BestEffort, namespaces, awaited, observers);
    // In this order: the API server calls the hooks of one configuration in theirs.
    let app = app.mutate_raw(REQUIRED, on().failure_policy(FailurePolicy::Fail), required);
    let app = app
        .mutate_raw(BEST_EFFORT, on().failure_policy(FailurePolicy::Ignore), best_effort)
        .entries(&entries);
    Ok(match judge {
        // Who follows ConfigMaps is on a cluster, and its owners of pods are told there.
        Some(judge) => judging(app, judge).rights([Events::right()]),
        None => app,
    })
}

/// The hook that judges ConfigMaps with rules, and the right to follow them and to keep what was good.
fn judging(app: App, judge: Judge) -> App {
    let home = format!("kubernetes.io/metadata.name={}", judge.namespace);
    let on = on_raw([Rule::new("v1", "configmaps", [Operation::Create, Operation::Update])])
        .namespaces(&home)
        .system_namespaces()
        .objects(&format!("{CONFIG_LABEL}=true"))
        // A thousand rules are proved for as long as a second, on a machine that has other work.
        .timeout_seconds(10)
        // While nobody answers, a mistake is said in the log, and the last good rules stay in force.
        .failure_policy(FailurePolicy::Ignore);
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
        // The name is not known yet when a creation is judged.
        right(&["create"], None),
    ];
    app.rights_in(&judge.namespace.clone(), rights).validate_raw("config", on, judge)
}

/// A hook is served whatever the rules are: those to come may be for any of it. Its entries say what it is called for.
fn on() -> On<Raw> {
    on_raw(Resource::ALL.iter().copied().map(registration::resources))
}
