//! The webhook that rules make.

use std::sync::Arc;

use vestibule::{App, On, Operation, Raw, Rule, on_raw};
use vestibule_rules::{OWN_POD_LABEL, Resource, RuleSet, Target, Verb};

use crate::handler::Injection;
use crate::{Namespaces, Observer};

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

/// A webhook that injects by `rules`, in two hooks at most: `required`, which fails closed, and `best-effort`, which
/// fails open.
///
/// # Errors
/// Rules ask for facts about namespaces, and `namespaces` knows none.
pub fn app(rules: RuleSet, namespaces: Namespaces) -> Result<App, StartError> {
    observed_app(rules, namespaces, Arc::new(()))
}

/// The same, with somebody who learns of every decision.
///
/// # Errors
/// See [`app`].
pub fn observed_app(
    rules: RuleSet,
    namespaces: Namespaces,
    observer: Arc<dyn Observer>,
) -> Result<App, StartError> {
    let asking = rules.rules().iter().filter(|rule| rule.needs_namespace_facts());
    let asking: Vec<String> = asking.map(|rule| rule.name().to_owned()).collect();
    if !asking.is_empty() && !namespaces.are_known() {
        return Err(StartError::NamespacesUnknown { rules: asking });
    }
    let mut app = App::new("injector");
    if !asking.is_empty() {
        app = app.reads_namespaces();
    }
    if let Some(ready) = namespaces.ready() {
        app = app.ready_when("namespaces", ready);
    }
    let (required, best_effort) = rules.split_required();
    let first = Injection::new(required, namespaces.clone(), Arc::clone(&observer));
    let second = Injection::new(best_effort, namespaces, observer);
    // In this order: the API server calls the hooks of one configuration in theirs.
    let app = with_hook(app, "required", On::fail_closed, first);
    Ok(with_hook(app, "best-effort", On::fail_open, second))
}

fn with_hook(app: App, name: &str, policy: fn(On<Raw>) -> On<Raw>, injection: Injection) -> App {
    if injection.rules.rules().is_empty() {
        return app;
    }
    let on = on(&injection.rules);
    app.mutate_raw(name, policy(on), injection)
}

/// Everything the rules may change, except the injector's own pods: they must come up while it is down.
fn on(rules: &RuleSet) -> On<Raw> {
    on_raw(rules.targets().into_iter().map(rule)).objects(&format!("{OWN_POD_LABEL}!=true"))
}

fn rule(target: Target) -> Rule {
    let api_version = match target.resource {
        Resource::Pods => "v1",
        Resource::Deployments => "apps/v1",
    };
    Rule::new(api_version, target.resource.as_str(), target.verbs().iter().copied().map(operation))
}

fn operation(verb: Verb) -> Operation {
    match verb {
        Verb::Create => Operation::Create,
        Verb::Update => Operation::Update,
        Verb::Delete => Operation::Delete,
        Verb::Connect => Operation::Connect,
    }
}
