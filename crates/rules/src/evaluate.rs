//! All rules over one object.

use std::collections::HashSet;
use std::sync::Arc;

use vestibule_patch::{Document, DocumentError, Schema, View};

use crate::decision::{Decision, Outcome, Reason, Verdict};
use crate::diagnostic::{Diagnostic, Position};
use crate::load;
use crate::merge::{self, Claims, Draft, Failure, Scene, contains};
use crate::rule::{OnError, Policy, Resource, Rule, Verb};
use crate::select::{self, Out};
use crate::subject::{Layout, Received, Subject, text};

/// Rules that were checked and can be used.
///
/// ```
/// use vestibule_rules::{Resource, RuleSet, Subject, Verb};
///
/// let rules = RuleSet::load(
///     [("rules.yaml", "\
/// apiVersion: vestibule.dev/v1alpha1
/// kind: Injection
/// metadata: {name: team}
/// spec:
///   match: {namespaces: {names: [blue]}}
///   pod: {labels: {team: blue}}
/// ")],
///     vestibule_patch::Schema::unknown(),
/// )
/// .unwrap();
/// let decision = rules
///     .evaluate(&Subject {
///         object: r#"{"metadata":{"name":"web"},"spec":{"containers":[{"name":"app"}]}}"#,
///         resource: Resource::Pods,
///         verb: Verb::Create,
///         subresource: "",
///         namespace: "blue",
///         facts: None,
///     })
///     .unwrap();
/// let change = decision.changes().next().unwrap();
/// assert_eq!(change.operation.path().as_str(), "/metadata/labels");
/// assert_eq!(change.origin.to_string(), "rule team, pod.labels[team] (rules.yaml:6)");
/// ```
pub struct RuleSet {
    rules: Vec<Rule>,
    warnings: Vec<Diagnostic>,
    pod: Schema<'static>,
    own_namespace: Option<String>,
    /// Rules that are not of this set, and that opt lists may name all the same.
    siblings: Vec<Arc<str>>,
}

/// A resource that rules change: what a registration needs to know.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Target {
    /// The resource.
    pub resource: Resource,
    /// Whether these are the required rules, which a request may not slip past.
    pub required: bool,
}

impl Target {
    /// The verbs under which rules change it.
    pub fn verbs(self) -> &'static [Verb] {
        self.resource.verbs()
    }
}

impl RuleSet {
    /// Reads the rules of all `(name, text)`; `pod` stands on the type of pods.
    ///
    /// # Errors
    /// Everything that is wrong with any of the documents; warnings stand among it.
    pub fn load<'s>(
        sources: impl IntoIterator<Item = (&'s str, &'s str)>,
        pod: Schema<'static>,
    ) -> Result<Self, Vec<Diagnostic>> {
        let (rules, warnings) = load::rules(sources, pod)?;
        Ok(Self { rules, warnings, pod, own_namespace: None, siblings: Vec::new() })
    }

    /// Leaves everything in the injector's own namespace alone.
    #[must_use]
    pub fn with_own_namespace(mut self, namespace: impl Into<String>) -> Self {
        self.own_namespace = Some(namespace.into());
        self
    }

    /// The required rules and the others, as sets of their own: a registration gives each its own failure policy. The
    /// warnings stay with the latter.
    #[must_use]
    pub fn split_required(self) -> (Self, Self) {
        let Self { rules, warnings, pod, own_namespace, .. } = self;
        let (required, others): (Vec<Rule>, Vec<Rule>) = rules.into_iter().partition(|rule| rule.required);
        let names = |rules: &[Rule]| rules.iter().map(|rule| Arc::clone(&rule.name)).collect();
        let (own, siblings) = (own_namespace.clone(), names(&others));
        let best_effort = Self { siblings: names(&required), rules: others, warnings, pod, own_namespace };
        (Self { rules: required, warnings: Vec::new(), pod, own_namespace: own, siblings }, best_effort)
    }

    /// What was noticed while reading, and is no error.
    pub fn warnings(&self) -> &[Diagnostic] {
        &self.warnings
    }

    /// The rules in the order they act in: by `order`, then by name.
    pub fn rules(&self) -> &[Rule] {
        &self.rules
    }

    /// What the rules change, each pair once.
    pub fn targets(&self) -> Vec<Target> {
        let pairs = self.rules.iter().flat_map(|rule| {
            rule.targets.iter().map(|resource| Target { resource: *resource, required: rule.required })
        });
        let mut targets: Vec<Target> = pairs.collect();
        targets.sort_unstable();
        targets.dedup();
        targets
    }

    /// Whether some rule cannot decide without the labels and annotations of namespaces.
    pub fn needs_namespace_facts(&self) -> bool {
        self.rules.iter().any(Rule::needs_namespace_facts)
    }

    /// What the rules make of `subject`. The same input gives the same answer; what they made, they leave alone.
    ///
    /// # Errors
    /// The object is no JSON, or nested too deeply.
    pub fn evaluate(&self, subject: &Subject<'_>) -> Result<Decision, DocumentError> {
        let document = Document::parse(subject.object)?;
        let layout = Layout::of(subject.resource);
        let received = Received::new(document.view(), &layout);
        let mut decision = Decision { verdicts: Vec::new(), warnings: Vec::new() };
        if let Some(out) = select::exclusion(subject, &received, self.own_namespace.as_deref()) {
            decision.verdicts = self.rules.iter().map(|rule| skipped(rule, &out)).collect();
            return Ok(decision);
        }
        let siblings = self.siblings.iter().map(|name| &**name);
        let names: HashSet<&str> = self.rules.iter().map(Rule::name).chain(siblings).collect();
        let outs: Vec<Option<Out>> = self
            .rules
            .iter()
            .map(|rule| select::out(rule, subject, &received, &names, &mut decision.warnings))
            .collect();
        let selected: Vec<&Rule> =
            self.rules.iter().zip(&outs).filter(|(_, out)| out.is_none()).map(|(rule, _)| rule).collect();
        let owned = owned(&selected, received.spec, self.pod);
        let claims = Claims::of(&selected, received.spec, &owned);
        let scene = Scene { layout: &layout, pod: self.pod, claims, owned };
        let mut draft = Draft::new(document.clone());
        let mut firsts = HashSet::new();
        let mut rank = 0;
        for (rule, out) in self.rules.iter().zip(&outs) {
            if let Some(out) = out {
                decision.verdicts.push(skipped(rule, out));
                continue;
            }
            let mut attempt = draft.clone();
            let verdict = match merge::lay(rule, rank, &mut firsts, &scene, &mut attempt) {
                Ok(()) => {
                    let changes = attempt.since(draft.count()).to_vec();
                    draft = attempt;
                    applied(rule, changes)
                }
                Err(failure) => failed(rule, &failure, &mut decision.warnings),
            };
            decision.verdicts.push(verdict);
            rank += 1;
        }
        Ok(decision)
    }
}

/// The containers of the selected rules, except those whose name somebody else had first.
fn owned<'r>(selected: &[&'r Rule], spec: Option<View<'_>>, pod: Schema<'_>) -> HashSet<&'r str> {
    let schema = pod.field("spec").field("containers").item();
    let foreign = |one: &&crate::rule::Injected| {
        merge::CONTAINER_LISTS.iter().any(|list| {
            let containers = spec.and_then(|spec| spec.get(list)).map(View::items).unwrap_or_default();
            containers.into_iter().any(|container| {
                text(Some(container), "name").as_deref() == Some(&one.item.key)
                    && !contains(container, &one.item.overlay, list, schema)
            })
        })
    };
    let injected = selected.iter().flat_map(|rule| &rule.injected);
    injected.filter(|one| !foreign(one)).map(|one| one.item.key.as_str()).collect()
}

fn applied(rule: &Rule, changes: Vec<crate::decision::Change>) -> Verdict {
    let outcome = if changes.is_empty() { Outcome::Unchanged } else { Outcome::Applied { changes } };
    verdict(rule, rule.at, outcome)
}

fn skipped(rule: &Rule, out: &Out) -> Verdict {
    let at = out.at.unwrap_or(rule.at);
    let sentence = out.sentence.clone();
    if out.failure && rule.required {
        return verdict(rule, at, Outcome::Denied { message: denial(rule, at, &sentence) });
    }
    verdict(rule, at, Outcome::Skipped { reason: out.reason, sentence })
}

fn failed(rule: &Rule, failure: &Failure, warnings: &mut Vec<String>) -> Verdict {
    let Failure { clause, sentence, conflict } = failure;
    let (reason, denied) = match conflict {
        Some(policy) => (Reason::Conflict, rule.required || *policy == Policy::Deny),
        None => (Reason::Error, rule.on_error == OnError::Deny),
    };
    if denied {
        return verdict(rule, clause.at, Outcome::Denied { message: denial(rule, clause.at, sentence) });
    }
    warnings.push(format!("rule {} was left out: {sentence}", rule.name));
    verdict(rule, clause.at, Outcome::Skipped { reason, sentence: sentence.clone() })
}

fn denial(rule: &Rule, at: Position, sentence: &str) -> String {
    format!("rule {} cannot be applied: {sentence} ({}:{})", rule.name, rule.source, at.line)
}

fn verdict(rule: &Rule, at: Position, outcome: Outcome) -> Verdict {
    Verdict { rule: Arc::clone(&rule.name), source: Arc::clone(&rule.source), line: at.line, outcome }
}
