//! From a request to rules, and from their decision to a verdict.

use std::cell::Cell;
use std::collections::BTreeMap;
use std::sync::{Arc, Once};
use std::time::Instant;

use serde::Deserialize;
use serde_json::value::RawValue;
use serde_json::{Value, json};
use tokio::time::timeout_at;
use tracing::debug_span;
use vestibule::patch::{Document, DocumentError};
use vestibule::{Fault, FaultKind, Handler, HandlerFuture, Operation, Request, Verdict};
use vestibule_rules::{
    Decision, Mode, NamespaceFacts, Outcome, Resource, RuleSet, STATUS_ANNOTATION, Subject, Verb,
};

use crate::deadline::within;
use crate::namespaces::NotReady;
use crate::pending_rules::PendingRules;
use crate::result::Words;
use crate::verdict::verdict;
use crate::{Asked, Configuration, Namespaces, Observer, Snapshot, State};

/// Rules as a handler of the framework.
pub(crate) struct Injection {
    configuration: Configuration,
    share: Share,
    namespaces: Namespaces,
    pending: Arc<PendingRules>,
    observers: Arc<[Arc<dyn Observer>]>,
    /// Whether it was told that nobody knows the namespaces.
    told: Once,
}

/// The rules that a hook has its entries for, and tells of. It decides by all rules: whichever hook is called first does
/// everything, and the other finds it done.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Share {
    Required,
    BestEffort,
}

impl Share {
    /// Leaves those verdicts that this hook tells of, so that nothing is told by two: the hook's own, and what it did to the
    /// object by rules of the other, which will find nothing left to do.
    fn tell(self, decision: &mut Decision, rules: &RuleSet) {
        let acts = rules.settings().mode() == Mode::On;
        // One for every rule, in their order.
        let mut own = rules.rules().iter().map(|rule| rule.required() == (self == Self::Required));
        decision.verdicts.retain(|verdict| {
            own.next().is_none_or(|own| {
                own || acts && matches!(verdict.outcome, Outcome::Applied | Outcome::Denied { .. })
            })
        });
    }
}

impl Handler for Injection {
    fn handle<'a>(&'a self, request: &'a Request<'a>, deadline: Instant) -> HandlerFuture<'a> {
        /// Of a call's time; the rest is for the decision by what is known then.
        const FOR_WAITING: f32 = 0.8;
        Box::pin(async move {
            // Every wait of this call ends at this time.
            let until = within(deadline, FOR_WAITING);
            // What is decided by one snapshot is decided by it alone.
            let snapshot = self.configuration.current();
            if snapshot.state() == State::Waiting {
                return Verdict::not_ready("the first rules");
            }
            if mode(&snapshot) == Mode::Off {
                return Verdict::allowed();
            }
            let namespace = request.namespace.as_deref().unwrap_or_default();
            match self.namespaces.facts(namespace, until).await {
                Ok(facts) => {
                    let Some(hash) = made_by(request) else {
                        return self.decide(snapshot.rules(), request, facts.as_deref());
                    };
                    let snapshot = self.moment(snapshot, &hash, request, facts.as_deref(), until).await;
                    if mode(&snapshot) == Mode::Off {
                        return Verdict::allowed();
                    }
                    self.decide(snapshot.to_go_on(&hash), request, facts.as_deref())
                }
                Err(NotReady(missing)) => Verdict::not_ready(missing),
            }
        })
    }
}

impl Injection {
    pub(crate) fn new(
        configuration: Configuration,
        share: Share,
        namespaces: Namespaces,
        pending: Arc<PendingRules>,
        observers: Arc<[Arc<dyn Observer>]>,
    ) -> Self {
        Self { configuration, share, namespaces, pending, observers, told: Once::new() }
    }

    /// The snapshot to decide by, for an object that rules of `hash` have changed. A create is several calls, and another
    /// replica may have answered the one before by rules that are still on their way to this one: they are waited for, `until`
    /// then at most, unless there is nothing to do by ours.
    async fn moment(
        &self,
        snapshot: Arc<Snapshot>,
        hash: &str,
        request: &Request<'_>,
        facts: Option<&NamespaceFacts>,
        until: Instant,
    ) -> Arc<Snapshot> {
        let (Some(object), Some(resource)) = (request.object, resource(request)) else { return snapshot };
        let is_due = |snapshot: &Snapshot| snapshot.of_hash(hash).is_some() || mode(snapshot) != Mode::On;
        if is_due(&snapshot) {
            return snapshot;
        }
        let decision = evaluate(snapshot.rules(), request, (object, resource), facts);
        if decision.is_ok_and(|decision| decision.patch().is_empty() && decision.denial().is_none()) {
            return snapshot;
        }
        let Some(end) = self.pending.wait_until(hash, &snapshot) else { return snapshot };
        let mut configuration = self.configuration.clone();
        let known = async {
            let mut next = configuration.current();
            while !is_due(&next) {
                next = configuration.changed().await;
            }
            next
        };
        let known = timeout_at(end.min(until.into()), known).await;
        known.unwrap_or_else(|_| self.configuration.current())
    }

    fn decide(&self, rules: &RuleSet, request: &Request<'_>, facts: Option<&NamespaceFacts>) -> Verdict {
        // Without an object (DELETE), or for a resource that no rule is about, there is nothing to inject into.
        let (Some(object), Some(resource)) = (request.object, resource(request)) else {
            return Verdict::allowed();
        };
        if !self.namespaces.are_known() {
            self.told.call_once(|| {
                tracing::warn!("labels and annotations of namespaces are not known: nobody opts out by them");
            });
        }
        match evaluate(rules, request, (object, resource), facts) {
            Ok(mut decision) => {
                self.share.tell(&mut decision, rules);
                let asked = Asked::new(request, resource, rules.settings());
                log(request, &decision, rules.settings().mode());
                self.observers.iter().for_each(|observer| observer.decided(&decision, &asked));
                verdict(&decision, rules)
            }
            Err(error) => Fault::new(FaultKind::Undecodable, error).into(),
        }
    }
}

fn mode(snapshot: &Snapshot) -> Mode {
    snapshot.rules().settings().mode()
}

fn evaluate(
    rules: &RuleSet,
    request: &Request<'_>,
    (object, resource): (&RawValue, Resource),
    facts: Option<&NamespaceFacts>,
) -> Result<Decision, DocumentError> {
    // What the check of the answer reads as well.
    let read = || request.document().unwrap_or_else(|| Document::parse(object.get()));
    let document = debug_span!("decode").in_scope(read)?;
    let namespace = request.namespace.as_deref().unwrap_or_default();
    let user = user_info(request);
    let subject = Subject::new(object.get(), resource, verb(request.operation), namespace)
        .facts(facts)
        .subresource(request.subresource.as_deref().unwrap_or_default())
        .name(request.name.as_deref().unwrap_or_default())
        .old_object(request.old_object.map(RawValue::get))
        .user(Some(&user))
        .dry_run(request.dry_run)
        .document(&document);
    let (matching, handling) = (debug_span!("match").entered(), Cell::new(None));
    rules.evaluate_in_steps(&subject, || {
        drop(matching);
        handling.set(Some(debug_span!("handle").entered()));
    })
}

/// The hash of the rules that an object to be created says it was changed by, as by an earlier call for the same create.
/// By which known rules to decide is all that is taken from it: whether there is something left to do, they find out.
fn made_by(request: &Request<'_>) -> Option<String> {
    #[derive(Deserialize)]
    struct Marked {
        metadata: Metadata,
    }
    #[derive(Deserialize)]
    struct Metadata {
        annotations: BTreeMap<String, Value>,
    }
    #[derive(Deserialize)]
    struct Status {
        cfg: String,
    }
    let object = request.object?.get();
    if request.operation != Operation::Create || !object.contains(STATUS_ANNOTATION) {
        return None;
    }
    let marked: Marked = serde_json::from_str(object).ok()?;
    let status = marked.metadata.annotations.get(STATUS_ANNOTATION)?.as_str()?;
    serde_json::from_str(status).ok().map(|status: Status| status.cfg)
}

/// Why a pod was left alone is the question asked most; the answer holds names only.
fn log(request: &Request<'_>, decision: &Decision, mode: Mode) {
    if !tracing::enabled!(tracing::Level::DEBUG) {
        return;
    }
    let name = request.display_name();
    for verdict in &decision.verdicts {
        let Words { result, reason } = Words::of(verdict, mode);
        let (name, rule) = (name.as_deref(), &*verdict.rule);
        tracing::debug!(name, rule, result, reason, "a rule has decided");
    }
}

/// The user as the API server wrote it, for rules that ask who it is.
fn user_info(request: &Request<'_>) -> String {
    let user = &request.user;
    let mut info = json!({"username": user.username, "uid": user.uid, "groups": user.groups});
    let extra = user.extra.and_then(|extra| serde_json::from_str::<Value>(extra.get()).ok());
    if let (Some(extra), Some(members)) = (extra, info.as_object_mut()) {
        members.insert("extra".to_owned(), extra);
    }
    info.to_string()
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
