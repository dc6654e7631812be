//! Applies the selected rules to an object until a further evaluation would change nothing.
//!
//! [`Fixpoint::run`] is called once for an object. Its phases are nested; each method calls the one below it:
//!
//! | Phase | Repeats until | Excludes |
//! |---|---|---|
//! | [`evaluations`](Fixpoint::evaluations) | an evaluation of the result, as if it had just been received, changes nothing | |
//! | [`stable_rules`](Fixpoint::stable_rules) | no rule is excluded | a rule for which the passes do not end |
//! | [`passes`](Fixpoint::passes) | a pass over all rules changes nothing | |
//! | [`lasting_rules`](Fixpoint::lasting_rules) | no rule is excluded | rules that fail after they changed the object |
//! | [`turns`](Fixpoint::turns) | all rules are applied, or a turn changes nothing | |
//! | [`successful_rules`](Fixpoint::successful_rules) | no rule is excluded | rules that fail or whose conditions are false |
//! | [`round`](Fixpoint::round) | once | |
//!
//! The first three phases run only if an expression reads the object. A phase that excludes rules starts again from the draft that
//! it was given, so that an excluded rule leaves no change behind.

mod round;

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Deref;

use kube_cel::cel::Value;

use super::not_applied::{NotApplied, NotAppliedRules};
use crate::decision::Unsettled;
use crate::expression::{RequestScope, SharedBudget};
use crate::merge::{Draft, restore_strict_positions};
use crate::parameter;
use crate::pod::Shape;
use crate::rule::Rule;
use crate::subject::{Layout, Received, Subject};

pub(super) struct Fixpoint<'t> {
    subject: &'t Subject<'t>,
    received: &'t Received<'t>,
    layout: &'t Layout,
    shape: &'t Shape,
    /// How many more times a rule may be applied, counted over all rules and phases.
    allowance: Cell<usize>,
    /// The expression budget that all rules and phases share.
    total: SharedBudget,
}

/// The result of applying rules.
pub(super) struct Application<'d, 'r> {
    pub(super) draft: Draft<'d>,
    pub(super) not_applied: NotAppliedRules<'r>,
    /// The rules as they were applied last, with values for their expressions.
    pub(super) rules: Vec<ResolvedRule<'r>>,
    /// The rules whose conditions became false by their own changes. The changes stay; the next evaluation does not attribute
    /// them to these rules.
    pub(super) ended: Vec<&'r str>,
}

/// A rule with a value for each of its expressions. Most rules have no expressions and are borrowed, because a rule is large.
pub(super) enum ResolvedRule<'r> {
    AsWritten(&'r Rule),
    Computed(Box<Rule>),
}

impl Deref for ResolvedRule<'_> {
    type Target = Rule;

    fn deref(&self) -> &Rule {
        match self {
            Self::AsWritten(rule) => rule,
            Self::Computed(rule) => rule,
        }
    }
}

impl<'d, 'r> Application<'d, 'r> {
    fn new(draft: Draft<'d>, not_applied: NotAppliedRules<'r>, rules: Vec<ResolvedRule<'r>>) -> Self {
        Self { draft, not_applied, rules, ended: Vec::new() }
    }
}

/// The values of the parameters, by the name of the rule.
type Parameters<'r> = HashMap<&'r str, BTreeMap<String, Value>>;

/// The inputs of expressions that stay the same throughout one evaluation.
struct Evaluation<'e, 'r> {
    parameters: &'e Parameters<'r>,
    request_scope: RequestScope<'e>,
}

/// How many evaluations or passes may change the object, in addition to one for each rule.
const EXTRA_PASSES: usize = 4;

/// How many times rules may be applied to one object, in addition to [`ALLOWANCE_PER_RULE`]. Without this limit, the time for a
/// long chain of rules that depend on each other would grow with the cube of its length.
const BASE_ALLOWANCE: usize = 10_000;

const ALLOWANCE_PER_RULE: usize = 20;

impl<'t> Fixpoint<'t> {
    pub(super) fn new(
        subject: &'t Subject<'t>,
        received: &'t Received<'t>,
        layout: &'t Layout,
        shape: &'t Shape,
        total: SharedBudget,
    ) -> Self {
        Self { subject, received, layout, shape, allowance: Cell::new(0), total }
    }

    /// Applies `rules` to `draft`.
    pub(super) fn run<'d, 'r>(&self, rules: &[&'r Rule], draft: &Draft<'d>) -> Application<'d, 'r> {
        let (mut parameters, mut invalid) = (HashMap::new(), HashMap::new());
        if rules.is_empty() {
            return Application::new(draft.clone(), invalid, Vec::new());
        }
        for rule in rules.iter().filter(|rule| !rule.logic.parameters.is_empty()) {
            match parameter::values(&rule.logic.parameters, self.subject, self.received, &self.total) {
                Ok(values) => drop(parameters.insert(rule.name(), values)),
                Err(why) => drop(invalid.insert(rule.name(), NotApplied::InvalidParameter(why))),
            }
        }
        let rules = without(rules, &invalid);
        let some_read = rules.iter().any(|rule| rule.logic.reads.object);
        let allowance = BASE_ALLOWANCE + ALLOWANCE_PER_RULE * rules.len();
        self.allowance.set(allowance);
        let mut applied = if some_read {
            self.evaluations(&rules, &parameters, draft)
        } else {
            self.lasting_rules(&rules, &self.evaluation(&parameters, draft), draft)
        };
        if self.is_exhausted() {
            // The rules that do not read the object get an allowance of their own.
            self.allowance.set(if some_read { allowance } else { 0 });
            applied = self.without_readers(&rules, &parameters, draft, Unsettled::Exhausted);
            if self.is_exhausted() {
                let not_applied = unsettled(&rules, Unsettled::Exhausted).collect();
                applied = Application::new(draft.clone(), not_applied, Vec::new());
            }
        }
        applied.not_applied.extend(invalid);
        applied
    }

    /// Evaluates the result as if it had just been received, as the API server may do, until that changes nothing. If it never
    /// ends, the rules that read the object are left out.
    fn evaluations<'d, 'r>(
        &self,
        rules: &[&'r Rule],
        parameters: &Parameters<'r>,
        start: &Draft<'d>,
    ) -> Application<'d, 'r> {
        let mut result = start.clone();
        let mut resolved = Vec::new();
        for _ in 0..rules.len() + EXTRA_PASSES {
            let received = result.as_received();
            let applied = self.stable_rules(rules, &self.evaluation(parameters, &received), &received);
            let Application { mut draft, mut not_applied, rules: newly_resolved, .. } = applied;
            // Positions are restored before the next evaluation, because expressions can read the order of containers.
            let acting = newly_resolved.iter().map(|rule| &**rule);
            let acting: Vec<&Rule> = acting.filter(|rule| !not_applied.contains_key(rule.name())).collect();
            restore_strict_positions(&acting, self.layout, self.shape, &mut draft);
            update(&mut resolved, newly_resolved);
            if draft.change_count() == 0 || self.is_exhausted() {
                let authors = authors(&result);
                let has_ended = |rule: &&&Rule| {
                    let why = not_applied.get(rule.name());
                    authors.contains(rule.name()) && why.is_some_and(|why| !why.denies(rule))
                };
                let ended: Vec<_> = rules.iter().filter(has_ended).map(|rule| rule.name()).collect();
                not_applied.retain(|name, _| !ended.contains(name));
                return Application { draft: result, not_applied, rules: resolved, ended };
            }
            result = result.followed_by(draft);
        }
        self.without_readers(rules, parameters, start, Unsettled::Restless)
    }

    /// Applies the rules that do not read the object. The others are not applied, for the reason `why`.
    fn without_readers<'d, 'r>(
        &self,
        rules: &[&'r Rule],
        parameters: &Parameters<'r>,
        start: &Draft<'d>,
        why: Unsettled,
    ) -> Application<'d, 'r> {
        let (readers, others): (Vec<&Rule>, Vec<&Rule>) =
            rules.iter().partition(|rule| rule.logic.reads.object);
        let mut applied = self.lasting_rules(&others, &self.evaluation(parameters, start), start);
        applied.not_applied.extend(unsettled(&readers, why));
        applied
    }

    /// Excludes a rule for which the passes do not end.
    fn stable_rules<'d, 'r>(
        &self,
        rules: &[&'r Rule],
        evaluation: &Evaluation<'_, 'r>,
        start: &Draft<'d>,
    ) -> Application<'d, 'r> {
        excluding(rules, |rules| {
            let (applied, unstable) = self.passes(rules, evaluation, start);
            (applied, unsettled(unstable.as_slice(), Unsettled::Restless).collect())
        })
    }

    /// Repeats passes over all rules until one changes nothing. If that does not happen, the result has the rule that is the cause.
    fn passes<'d, 'r>(
        &self,
        rules: &[&'r Rule],
        evaluation: &Evaluation<'_, 'r>,
        start: &Draft<'d>,
    ) -> (Application<'d, 'r>, Option<&'r Rule>) {
        let mut passes_left = rules.len() + EXTRA_PASSES;
        let mut draft = start.clone();
        let mut resolved = Vec::new();
        loop {
            let before = draft.change_count();
            let mut applied = self.lasting_rules(rules, evaluation, &draft);
            update(&mut resolved, std::mem::take(&mut applied.rules));
            let authors = authors(&applied.draft);
            let is_undone = |rule: &&'r Rule| {
                applied.not_applied.contains_key(rule.name()) && authors.contains(rule.name())
            };
            let undone = rules.iter().copied().find(is_undone);
            if undone.is_some() && !self.is_exhausted() {
                return (applied, undone);
            }
            if applied.draft.change_count() == before || self.is_exhausted() {
                return (Application { rules: resolved, ..applied }, None);
            }
            if passes_left == 0 {
                let last = applied.draft.origins().last().map(|origin| &*origin.rule);
                let restless = rules.iter().copied().find(|rule| Some(rule.name()) == last);
                return (applied, restless);
            }
            passes_left -= 1;
            draft = applied.draft;
        }
    }

    /// Excludes rules that are not applied although an earlier turn wrote changes for them: no change of a rule that is not
    /// applied may stay.
    fn lasting_rules<'d, 'r>(
        &self,
        rules: &[&'r Rule],
        evaluation: &Evaluation<'_, 'r>,
        start: &Draft<'d>,
    ) -> Application<'d, 'r> {
        excluding(rules, |rules| {
            let mut applied = self.turns(rules, evaluation, start.clone());
            if applied.not_applied.is_empty() || self.is_exhausted() {
                return (applied, HashMap::new());
            }
            let authors = authors(&applied.draft);
            let (undone, others) =
                applied.not_applied.into_iter().partition(|(rule, _)| authors.contains(rule));
            applied.not_applied = others;
            (applied, undone)
        })
    }

    /// Gives rules that were not applied another turn as long as other rules change the object: a volume that a rule mounts may
    /// be there now, and the next evaluation would find it.
    fn turns<'d, 'r>(
        &self,
        rules: &[&'r Rule],
        evaluation: &Evaluation<'_, 'r>,
        mut draft: Draft<'d>,
    ) -> Application<'d, 'r> {
        let mut turns_left = rules.len();
        let mut resolved = Vec::new();
        loop {
            let before = draft.change_count();
            let turn = self.successful_rules(rules, evaluation, &draft);
            update(&mut resolved, turn.rules);
            let not_applied = turn.not_applied;
            draft = turn.draft;
            if not_applied.is_empty()
                || draft.change_count() == before
                || turns_left == 0
                || self.is_exhausted()
            {
                return Application::new(draft, not_applied, resolved);
            }
            turns_left -= 1;
        }
    }

    fn evaluation<'e, 'r>(
        &'e self,
        parameters: &'e Parameters<'r>,
        received: &'e Draft<'_>,
    ) -> Evaluation<'e, 'r> {
        Evaluation {
            parameters,
            request_scope: RequestScope::new(self.subject, received.root(), &self.total),
        }
    }

    /// Whether the allowance is used up. Results since it was set are then discarded.
    fn is_exhausted(&self) -> bool {
        self.allowance.get() == 0
    }

    fn spend(&self, count: usize) -> bool {
        self.allowance.set(self.allowance.get().saturating_sub(count));
        !self.is_exhausted()
    }
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

/// Replaces rules in `resolved` by the `newer` ones of the same names.
fn update<'r>(resolved: &mut Vec<ResolvedRule<'r>>, newer: Vec<ResolvedRule<'r>>) {
    if resolved.is_empty() {
        *resolved = newer;
        return;
    }
    let names: HashSet<&str> = newer.iter().map(|rule| rule.name()).collect();
    resolved.retain(|rule| !names.contains(rule.name()));
    resolved.extend(newer);
}

fn without<'a, 'r>(rules: &'a [&'r Rule], excluded: &NotAppliedRules<'_>) -> Cow<'a, [&'r Rule]> {
    if excluded.is_empty() {
        return Cow::Borrowed(rules);
    }
    rules.iter().copied().filter(|rule| !excluded.contains_key(rule.name())).collect()
}

fn unsettled<'r>(rules: &[&'r Rule], why: Unsettled) -> impl Iterator<Item = (&'r str, NotApplied)> {
    rules.iter().map(move |rule| (rule.name(), NotApplied::Unsettled(why)))
}

/// The names of the rules that have changed the draft.
fn authors<'d>(draft: &'d Draft<'_>) -> HashSet<&'d str> {
    draft.authors().into_iter().map(|name| &**name).collect()
}
