//! The handler of the hooks that inject: from a request to rules, and from their decision to a verdict.

use std::cell::Cell;
use std::sync::{Arc, Once};
use std::time::Instant;

use serde_json::Value;
use serde_json::value::RawValue;
use tokio::time::timeout_at;
use tracing::debug_span;
use vestibule::Operation;
use vestibule::admission::{Fault, FaultKind, Handler, HandlerFuture, Request, Verdict};
use vestibule::patch::{Document, DocumentError};
use vestibule_rules::{
    Decision, Mode, NamespaceFacts, NamespacedRules, Outcome, Reason, Resource, RuleSet, STATUS_ANNOTATION,
    Subject, Verb,
};

use crate::configuration::Configuration;
use crate::configuration::snapshot::{Snapshot, SnapshotState};
use crate::deadline::share_of_remaining;
use crate::namespaces::{Namespaces, NotReady};
use crate::observer::{DecisionContext, DecisionObserver};
use crate::outcome_labels::OutcomeLabels;
use crate::pending_rules::PendingRules;
use crate::verdict::verdict;

/// Applies the rules in force to the object of a request.
pub(crate) struct InjectHandler {
    configuration: Configuration,
    /// Whether the hook has the entries of required rules, and reports their outcomes, or those of all other rules. It applies
    /// all rules: the hook that is called first makes all changes, and the other finds them made.
    is_required: bool,
    namespaces: Namespaces,
    pending: Arc<PendingRules>,
    observers: Arc<[Arc<dyn DecisionObserver>]>,
    /// Logs once that the labels of namespaces are not known.
    warning: Once,
}

impl Handler for InjectHandler {
    fn handle<'a>(&'a self, request: &'a Request<'a>, deadline: Instant) -> HandlerFuture<'a> {
        /// The share of the time of a call for all its waits. The rest is for the decision.
        const WAIT_SHARE: f32 = 0.8;
        Box::pin(async move {
            // Every wait of this call ends at this instant.
            let until = share_of_remaining(deadline, WAIT_SHARE);
            let snapshot = self.configuration.current();
            if snapshot.state() == SnapshotState::Waiting {
                return Verdict::not_ready("the first rules");
            }
            if mode(&snapshot) == Mode::Off {
                return Verdict::allowed();
            }
            let namespace = request.namespace.as_deref().unwrap_or_default();
            match self.namespaces.facts(namespace, deadline).await {
                Ok(facts) => {
                    let (facts, hash) = (facts.as_deref(), injected_by(request));
                    let snapshot = match &hash {
                        Some(hash) => self.snapshot_for(snapshot, hash, request, facts, until).await,
                        None => snapshot,
                    };
                    if mode(&snapshot) == Mode::Off {
                        return Verdict::allowed();
                    }
                    let rules = hash.map_or(snapshot.rules(), |hash| snapshot.rules_to_continue(&hash));
                    self.decide(&snapshot, rules, request, facts, until).await
                }
                Err(NotReady(missing)) => Verdict::not_ready(missing),
            }
        })
    }
}

impl InjectHandler {
    pub(crate) fn new(
        configuration: Configuration,
        is_required: bool,
        namespaces: Namespaces,
        pending: Arc<PendingRules>,
        observers: Arc<[Arc<dyn DecisionObserver>]>,
    ) -> Self {
        Self { configuration, is_required, namespaces, pending, observers, warning: Once::new() }
    }

    /// The snapshot to decide by for an object that the rules of `hash` have changed. A create is several calls, and another
    /// replica may have answered the call before by rules that this replica does not have yet. The call waits for those rules,
    /// at most `until`, unless the rules in force would change nothing.
    async fn snapshot_for(
        &self,
        snapshot: Arc<Snapshot>,
        hash: &str,
        request: &Request<'_>,
        facts: Option<&NamespaceFacts>,
        until: Instant,
    ) -> Arc<Snapshot> {
        let (Some(object), Some(resource)) = (request.object, resource(request)) else { return snapshot };
        let can_decide = |snapshot: &Snapshot| snapshot.of_hash(hash).is_some() || mode(snapshot) != Mode::On;
        if can_decide(&snapshot) {
            return snapshot;
        }
        let decision = evaluate(snapshot.rules(), None, request, (object, resource), facts);
        if decision.is_ok_and(|decision| decision.patch().is_empty() && decision.denial().is_none()) {
            return snapshot;
        }
        let Some(end) = self.pending.wait_until(hash, &snapshot) else { return snapshot };
        let mut configuration = self.configuration.clone();
        let known = async {
            let mut next = configuration.current();
            while !can_decide(&next) {
                next = configuration.changed().await;
            }
            next
        };
        let known = timeout_at(end.min(until.into()), known).await;
        known.unwrap_or_else(|_| self.configuration.current())
    }

    /// Decides by `rules`, which are in force or were until a moment ago, and by the namespaced rules of `snapshot`. The hook for
    /// required rules fails closed and uses no namespaced rules.
    async fn decide(
        &self,
        snapshot: &Snapshot,
        rules: &RuleSet,
        request: &Request<'_>,
        facts: Option<&NamespaceFacts>,
        until: Instant,
    ) -> Verdict {
        // A DELETE has no object, and no rule is about other resources.
        let (Some(object), Some(resource)) = (request.object, resource(request)) else {
            return Verdict::allowed();
        };
        if !self.namespaces.are_known() {
            self.warning.call_once(|| {
                tracing::warn!(
                    "labels and annotations of namespaces are not known: no namespace can opt out"
                );
            });
        }
        let namespaced = (!self.is_required).then_some(&snapshot.namespaced.rules);
        let evaluate = |facts| evaluate(rules, namespaced, request, (object, resource), facts);
        let mut evaluated = evaluate(facts);
        let elsewhere = |decision| rules_elsewhere(decision, rules, request.operation);
        if let Some(watched) = self.namespaces.as_watched().filter(|_| self.is_required)
            && let Some(elsewhere) = evaluated.as_ref().ok().and_then(elsewhere)
        {
            // The API server calls this hook for namespaces of required rules only, unless the entries are wider than the rules. The
            // watch may not have reported a new label yet.
            let namespace = request.namespace.as_deref().unwrap_or_default();
            match watched.fresh_facts(namespace, until).await {
                Ok(fresh) => evaluated = evaluate(fresh.as_deref()),
                Err(_) if elsewhere == Elsewhere::Some => {}
                Err(NotReady(missing)) => return Verdict::not_ready(missing),
            }
        }
        match evaluated {
            Ok(mut decision) => {
                self.retain_reported(&mut decision, rules);
                let context = DecisionContext::new(request, resource, rules.settings());
                log(request, &decision, rules.settings().mode);
                self.observers.iter().for_each(|observer| observer.decided(&decision, &context));
                verdict(&decision, rules)
            }
            Err(error) => Fault::new(FaultKind::Undecodable, error).into(),
        }
    }

    /// Keeps the verdicts that this hook reports, so that each is reported once: those on its own rules, and changes and
    /// denials by rules of the other hook, which finds nothing left to do.
    fn retain_reported(&self, decision: &mut Decision, rules: &RuleSet) {
        let acts = rules.settings().mode == Mode::On;
        // Verdicts are in the order of the rules.
        let mut own = rules.rules().iter().map(|rule| rule.required() == self.is_required);
        decision.verdicts.retain(|verdict| {
            own.next().is_none_or(|own| {
                own || acts && matches!(verdict.outcome, Outcome::Applied | Outcome::Denied { .. })
            })
        });
    }
}

/// The required rules for such a resource that are for other namespaces than that of the object.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Elsewhere {
    All,
    Some,
}

/// Which required rules are for other namespaces, if the watch may have missed a label that makes one of them match; `decision` was made
/// by `rules`.
///
/// The API server calls the hook once for each label that required rules restrict namespaces by, so a rule that acts explains the call. If
/// rules have acted already or have nothing to do, the call may be for another label, and only a new object can get by without the rule
/// of that label.
fn rules_elsewhere(decision: &Decision, rules: &RuleSet, operation: Operation) -> Option<Elsewhere> {
    let verdicts = rules.rules().iter().zip(&decision.verdicts);
    let required = verdicts.filter(|(rule, _)| rule.required()).map(|(_, verdict)| &verdict.outcome);
    let (mut elsewhere, mut here) = (false, false);
    for outcome in required {
        match outcome {
            Outcome::Applied | Outcome::Denied { .. } => return None,
            Outcome::Skipped { reason: Reason::NamespaceNotMatched, .. } => elsewhere = true,
            Outcome::Skipped { reason: Reason::OtherResource, .. } => {}
            _ => here = true,
        }
    }
    match (elsewhere, here) {
        (true, false) => Some(Elsewhere::All),
        (true, true) if operation == Operation::Create => Some(Elsewhere::Some),
        _ => None,
    }
}

fn mode(snapshot: &Snapshot) -> Mode {
    snapshot.rules().settings().mode
}

fn evaluate(
    rules: &RuleSet,
    namespaced: Option<&NamespacedRules>,
    request: &Request<'_>,
    (object, resource): (&RawValue, Resource),
    facts: Option<&NamespaceFacts>,
) -> Result<Decision, DocumentError> {
    // The check of the answer uses the same parsed document.
    let read = || request.document().unwrap_or_else(|| Document::parse(object.get()));
    let document = debug_span!("decode").in_scope(read)?;
    let namespace = request.namespace.as_deref().unwrap_or_default();
    let subject = Subject::new(object.get(), resource, verb(request.operation), namespace)
        .facts(facts)
        .subresource(request.subresource.as_deref().unwrap_or_default())
        .name(request.name.as_deref().unwrap_or_default())
        .old_object(request.old_object.map(RawValue::get))
        .user(Some(request.user.as_json()))
        .dry_run(request.dry_run)
        .document(&document);
    let (matching, handling) = (debug_span!("match").entered(), Cell::new(None));
    rules.evaluate_in_steps(namespaced, &subject, || {
        drop(matching);
        handling.set(Some(debug_span!("handle").entered()));
    })
}

/// The hash in the status annotation of an object that is being created: the rules by which an earlier call of the same
/// create changed it. The hash only selects among known rules, which then decide anew what is missing.
fn injected_by(request: &Request<'_>) -> Option<String> {
    if request.operation != Operation::Create {
        return None;
    }
    // The evaluation reports an object that is no document.
    let object = request.document()?.ok()?;
    let status = object.view().get("metadata")?.get("annotations")?.get(STATUS_ANNOTATION)?.as_str()?;
    let status: Value = serde_json::from_str(&status).ok()?;
    Some(status.get("cfg")?.as_str()?.to_owned())
}

/// Logs the outcome of each rule, with names and no values.
fn log(request: &Request<'_>, decision: &Decision, mode: Mode) {
    if !tracing::enabled!(tracing::Level::DEBUG) {
        return;
    }
    let name = request.display_name();
    for verdict in &decision.verdicts {
        let OutcomeLabels { result, reason } = OutcomeLabels::of(verdict, mode);
        let (name, rule) = (name.as_deref(), &*verdict.rule);
        tracing::debug!(name, rule, result, reason, "a rule has decided");
    }
}

fn resource(request: &Request<'_>) -> Option<Resource> {
    Resource::of(&request.resource.group, &request.resource.resource)
}

fn verb(operation: Operation) -> Verb {
    match operation {
        Operation::Create => Verb::Create,
        Operation::Update => Verb::Update,
        Operation::Delete => Verb::Delete,
        Operation::Connect => Verb::Connect,
    }
}

#[cfg(test)]
mod tests;
