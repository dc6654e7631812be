//! Applies the selected rules to an object until a further evaluation would change nothing.
//!
//! [`Fixpoint::run`] is called once for an object. Its phases are nested; each method calls the one below it:
//!
//! | Phase | Repeats until | Excludes |
//! |---|---|---|
//! | [`evaluations`](Fixpoint::evaluations) | an evaluation of the result, as if it had just been received, changes nothing | |
//! | [`passes`](Fixpoint::passes) | a pass over all rules changes nothing | a rule for which the passes do not end |
//! | [`turns`](Fixpoint::turns) | all rules are applied, or a turn changes nothing | rules that fail after they changed the object |
//! | [`rounds`](Fixpoint::rounds) | no rule is excluded | rules that fail or whose conditions are false |
//!
//! The first two phases run only if an expression reads the object. A phase that excludes rules starts again from the draft that
//! it was given, so that an excluded rule leaves no change behind.

mod round;

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::{BTreeMap, HashMap};

use kube_cel::cel::Value;

use super::not_applied::{NotApplied, NotAppliedRules, Unsettled};
use crate::expression::{RequestScope, SharedBudget};
use crate::load::feedback::Readers;
use crate::merge::{Draft, restore_strict_positions};
use crate::parameter;
use crate::rule::Rule;
use crate::subject::{Received, Subject};

pub(super) struct Fixpoint<'t, 'r> {
    subject: &'t Subject<'t>,
    received: &'t Received<'t>,
    /// The values of the parameters, by the name of the rule.
    parameters: HashMap<&'r str, BTreeMap<String, Value>>,
    /// How many more times a rule may be applied, counted over all rules and phases.
    allowance: Cell<usize>,
    /// The expression budget that all rules and phases share.
    total: SharedBudget,
    /// The labels and annotations that rules read, if a rule computes keys of them.
    readers: Option<&'t Readers>,
}

/// The result of applying rules.
pub(super) struct Application<'d, 'r> {
    pub(super) draft: Draft<'d>,
    pub(super) not_applied: NotAppliedRules<'r>,
    /// The rules with conditions or expressions as they were applied last, with values for their expressions.
    pub(super) resolved: HashMap<&'r str, Cow<'r, Rule>>,
    /// The rules whose conditions became false by their own changes. The changes stay; the next evaluation does not attribute
    /// them to these rules.
    pub(super) ended: Vec<&'r str>,
}

impl<'d, 'r> Application<'d, 'r> {
    /// The application of no rules.
    fn unchanged(draft: &Draft<'d>) -> Self {
        let (not_applied, resolved) = (HashMap::new(), HashMap::new());
        Self { draft: draft.clone(), not_applied, resolved, ended: Vec::new() }
    }

    /// The result `next` of another application to the draft of this one.
    fn then(mut self, next: Self) -> Self {
        self.resolved.extend(next.resolved);
        Self { resolved: self.resolved, ..next }
    }
}

/// How many evaluations or passes may change the object, in addition to one for each rule.
const EXTRA_PASSES: usize = 4;

/// How many times rules may be applied to one object, in addition to [`ALLOWANCE_PER_RULE`]. Without this limit, the time for a
/// long chain of rules that depend on each other would grow with the cube of its length.
const BASE_ALLOWANCE: usize = 10_000;

const ALLOWANCE_PER_RULE: usize = 20;

impl<'t, 'r> Fixpoint<'t, 'r> {
    pub(super) fn new(
        subject: &'t Subject<'t>,
        received: &'t Received<'t>,
        total: SharedBudget,
        readers: Option<&'t Readers>,
    ) -> Self {
        let (parameters, allowance) = (HashMap::new(), Cell::new(0));
        Self { subject, received, parameters, allowance, total, readers }
    }

    /// Applies `rules` to `draft`.
    pub(super) fn run<'d>(mut self, rules: &[&'r Rule], draft: &Draft<'d>) -> Application<'d, 'r> {
        if rules.is_empty() {
            return Application::unchanged(draft);
        }
        let mut invalid = HashMap::new();
        for rule in rules.iter().filter(|rule| !rule.logic.parameters.is_empty()) {
            match self.values_of(rule) {
                Ok(values) => drop(self.parameters.insert(rule.name(), values)),
                Err(why) => drop(invalid.insert(rule.name(), NotApplied::InvalidParameter(why))),
            }
        }
        let rules = without(rules, &invalid);
        let some_read = rules.iter().any(|rule| rule.logic.reads.object);
        let allowance = BASE_ALLOWANCE + ALLOWANCE_PER_RULE * rules.len();
        self.allowance.set(allowance);
        let mut applied = if some_read {
            self.evaluations(&rules, draft)
        } else {
            self.turns(&rules, &self.request_scope(draft), draft)
        };
        if self.is_exhausted() {
            // The rules that do not read the object get an allowance of their own.
            self.allowance.set(if some_read { allowance } else { 0 });
            applied = self.without_readers(&rules, draft, Unsettled::Exhausted);
            if self.is_exhausted() {
                let not_applied = unsettled(&*rules, Unsettled::Exhausted);
                applied = Application { not_applied, ..Application::unchanged(draft) };
            }
        }
        applied.not_applied.extend(invalid);
        applied
    }

    /// Evaluates the result as if it had just been received, as the API server may do, until that changes nothing. If it never
    /// ends, the rules that read the object are left out.
    fn evaluations<'d>(&self, rules: &[&'r Rule], start: &Draft<'d>) -> Application<'d, 'r> {
        let mut result = Application::unchanged(start);
        for _ in 0..rules.len() + EXTRA_PASSES {
            let received = result.draft.as_received();
            let mut next = self.passes(rules, &self.request_scope(&received), &received);
            // Positions are restored before the next evaluation, because expressions can read the order of containers.
            let acting = rules.iter().copied().filter(|rule| !next.not_applied.contains_key(rule.name()));
            let acting = with_values(acting, &next.resolved);
            restore_strict_positions(&acting, &mut next.draft);
            if next.draft.change_count() == 0 || self.is_exhausted() {
                let authors = result.draft.authors();
                let has_ended = |rule: &&&Rule| {
                    let why = next.not_applied.get(rule.name());
                    authors.contains(rule.name()) && why.is_some_and(|why| !why.denies(rule))
                };
                let ended: Vec<_> = rules.iter().filter(has_ended).map(|rule| rule.name()).collect();
                next.not_applied.retain(|name, _| !ended.contains(name));
                // The operations of the last evaluation are dropped. It has none, unless the allowance is used up.
                std::mem::swap(&mut result.draft, &mut next.draft);
                return Application { ended, ..result.then(next) };
            }
            next.draft = result.draft.followed_by(next.draft);
            result = result.then(next);
        }
        self.without_readers(rules, start, Unsettled::NeverSettles)
    }

    /// Applies the rules that do not read the object. The others are not applied, for the reason `why`.
    fn without_readers<'d>(
        &self,
        rules: &[&'r Rule],
        start: &Draft<'d>,
        why: Unsettled,
    ) -> Application<'d, 'r> {
        let (readers, others): (Vec<&Rule>, Vec<&Rule>) =
            rules.iter().partition(|rule| rule.logic.reads.object);
        let mut applied = self.turns(&others, &self.request_scope(start), start);
        applied.not_applied.extend(unsettled(&readers, why));
        applied
    }

    /// Repeats passes over all rules until one changes nothing. If that does not happen, the rule that is the cause is excluded.
    fn passes<'d>(
        &self,
        rules: &[&'r Rule],
        scope: &RequestScope<'_>,
        start: &Draft<'d>,
    ) -> Application<'d, 'r> {
        excluding(rules, |rules| {
            let mut passes_left = rules.len() + EXTRA_PASSES;
            let mut applied = Application::unchanged(start);
            loop {
                let before = applied.draft.change_count();
                let next = self.turns(rules, scope, &applied.draft);
                applied = applied.then(next);
                if self.is_exhausted() {
                    return (applied, HashMap::new());
                }
                let changes = applied.draft.change_count() > before;
                let authors = applied.draft.authors();
                let is_undone = |rule: &&&Rule| {
                    applied.not_applied.contains_key(rule.name()) && authors.contains(rule.name())
                };
                let mut cause = rules.iter().find(is_undone);
                if changes && passes_left == 0 {
                    let last = applied.draft.origins().last().map(|origin| &*origin.rule);
                    cause = cause.or_else(|| rules.iter().find(|rule| Some(rule.name()) == last));
                }
                if cause.is_some() || !changes || passes_left == 0 {
                    let excluded = unsettled(cause, Unsettled::NeverSettles);
                    return (applied, excluded);
                }
                passes_left -= 1;
            }
        })
    }

    /// Gives rules that were not applied another turn as long as other rules change the object: a volume that a rule mounts may
    /// be there now, and the next evaluation would find it. Rules that are not applied although an earlier turn wrote changes for
    /// them are excluded: no change of a rule that is not applied may stay.
    fn turns<'d>(
        &self,
        rules: &[&'r Rule],
        scope: &RequestScope<'_>,
        start: &Draft<'d>,
    ) -> Application<'d, 'r> {
        excluding(rules, |rules| {
            let mut turns_left = rules.len();
            let mut applied = Application::unchanged(start);
            loop {
                let before = applied.draft.change_count();
                let next = self.rounds(rules, scope, &applied.draft);
                applied = applied.then(next);
                if applied.not_applied.is_empty() || self.is_exhausted() {
                    return (applied, HashMap::new());
                }
                if applied.draft.change_count() == before || turns_left == 0 {
                    break;
                }
                turns_left -= 1;
            }
            let authors = applied.draft.authors();
            let (undone, others) =
                applied.not_applied.into_iter().partition(|(rule, _)| authors.contains(rule));
            (Application { not_applied: others, ..applied }, undone)
        })
    }

    /// Repeats a [`round`](Self::round) without the rules that are not applied in it, so that they leave no change and no other
    /// rule yields to them.
    fn rounds<'d>(
        &self,
        rules: &[&'r Rule],
        scope: &RequestScope<'_>,
        start: &Draft<'d>,
    ) -> Application<'d, 'r> {
        excluding(rules, |rules| {
            self.allowance.set(self.allowance.get().saturating_sub(rules.len()));
            if self.is_exhausted() {
                return (Application::unchanged(start), HashMap::new());
            }
            self.round(rules, scope, start)
        })
    }

    fn values_of(&self, rule: &Rule) -> Result<BTreeMap<String, Value>, parameter::Invalid> {
        let metadata = self.received.metadata(rule.metadata_of);
        parameter::values(&rule.logic.parameters, self.subject, metadata, &self.total)
    }

    fn request_scope<'e>(&'e self, received: &'e Draft<'_>) -> RequestScope<'e> {
        RequestScope::new(self.subject, received.root(), &self.total)
    }

    /// Whether the allowance is used up. Results since it was set are then discarded.
    fn is_exhausted(&self) -> bool {
        self.allowance.get() == 0
    }
}

/// `rules` with the values of their expressions, if they are `resolved`.
pub(super) fn with_values<'a>(
    rules: impl Iterator<Item = &'a Rule>,
    resolved: &'a HashMap<&str, Cow<'_, Rule>>,
) -> Vec<&'a Rule> {
    rules.map(|rule| resolved.get(rule.name()).map_or(rule, |resolved| &**resolved)).collect()
}

/// Calls `attempt` with `rules`, and again without the rules that it returns, until it returns none.
fn excluding<'d, 'r>(
    rules: &[&'r Rule],
    attempt: impl Fn(&[&'r Rule]) -> (Application<'d, 'r>, NotAppliedRules<'r>),
) -> Application<'d, 'r> {
    let mut excluded = HashMap::new();
    loop {
        let (mut applied, more) = attempt(&without(rules, &excluded));
        if more.is_empty() {
            applied.not_applied.extend(excluded);
            return applied;
        }
        excluded.extend(more);
    }
}

fn without<'a, 'r>(rules: &'a [&'r Rule], excluded: &NotAppliedRules<'_>) -> Cow<'a, [&'r Rule]> {
    if excluded.is_empty() {
        return Cow::Borrowed(rules);
    }
    rules.iter().copied().filter(|rule| !excluded.contains_key(rule.name())).collect()
}

fn unsettled<'a, 'r: 'a>(
    rules: impl IntoIterator<Item = &'a &'r Rule>,
    why: Unsettled,
) -> NotAppliedRules<'r> {
    rules.into_iter().map(|rule| (rule.name(), NotApplied::Unsettled(why))).collect()
}
