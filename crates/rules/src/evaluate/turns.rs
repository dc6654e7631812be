//! Rules laid in one after the other, until another evaluation would change nothing.

mod round;

use std::borrow::Cow;
use std::cell::Cell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::ops::Deref;

use kube_cel::cel::Value;

use super::missed::{Missed, left_out};
use crate::decision::Unsettled;
use crate::expression::{RequestScope, SharedBudget};
use crate::merge::{Draft, straighten};
use crate::parameter;
use crate::pod::Shape;
use crate::rule::Rule;
use crate::subject::{Layout, Received, Subject};

/// What all turns have in common.
pub(super) struct Turns<'t> {
    subject: &'t Subject<'t>,
    received: &'t Received<'t>,
    layout: &'t Layout,
    shape: &'t Shape,
    /// How many times rules may still be laid in.
    allowance: Cell<usize>,
    /// What the expressions of all rules may still use up, in all turns together.
    total: SharedBudget,
}

/// What came of the rules.
pub(super) struct Laid<'d, 'r> {
    pub(super) draft: Draft<'d>,
    pub(super) missed: HashMap<&'r str, Missed>,
    /// The rules as they were laid in at last, with values for their expressions.
    pub(super) rules: Vec<Filled<'r>>,
    /// Those whose condition ended with what was laid in: it stays, and the next evaluation will not know it for theirs.
    pub(super) ended: Vec<&'r str>,
}

/// A rule with a value for each of its expressions. Most have none, and a rule is large.
pub(super) enum Filled<'r> {
    AsWritten(&'r Rule),
    Computed(Box<Rule>),
}

impl Deref for Filled<'_> {
    type Target = Rule;

    fn deref(&self) -> &Rule {
        match self {
            Self::AsWritten(rule) => rule,
            Self::Computed(rule) => rule,
        }
    }
}

impl<'d, 'r> Laid<'d, 'r> {
    /// Before anybody has asked which conditions ended.
    fn new(draft: Draft<'d>, missed: HashMap<&'r str, Missed>, rules: Vec<Filled<'r>>) -> Self {
        Self { draft, missed, rules, ended: Vec::new() }
    }
}

/// The values of the parameters of every rule that has any.
type Parameters<'r> = HashMap<&'r str, BTreeMap<String, Value>>;

/// What stays the same throughout one evaluation, however often rules are laid in.
struct Evaluation<'e, 'r> {
    parameters: &'e Parameters<'r>,
    /// With the object as this evaluation received it.
    request_scope: RequestScope<'e>,
}

/// How many evaluations in a row may change the object, beside one for each rule.
const PASSES: usize = 4;

/// How many times rules are laid in over one object, all rules and all turns counted, beside [`SHARE`] for each rule.
/// Without a bound, those that wait for each other in a long row take time that grows with the cube of their number.
const ALLOWANCE: usize = 10_000;

/// What each rule adds to the allowance.
const SHARE: usize = 20;

impl<'t> Turns<'t> {
    pub(super) fn new(
        subject: &'t Subject<'t>,
        received: &'t Received<'t>,
        layout: &'t Layout,
        shape: &'t Shape,
        total: SharedBudget,
    ) -> Self {
        Self { subject, received, layout, shape, allowance: Cell::new(0), total }
    }

    /// Lays in the rules, so that another evaluation of what comes out changes nothing.
    pub(super) fn lay_all<'d, 'r>(&self, rules: &[&'r Rule], draft: &Draft<'d>) -> Laid<'d, 'r> {
        let (mut parameters, mut out) = (HashMap::new(), HashMap::new());
        if rules.is_empty() {
            return Laid::new(draft.clone(), out, Vec::new());
        }
        for rule in rules.iter().filter(|rule| !rule.logic.parameters.is_empty()) {
            match parameter::values(rule, self.subject, self.received, &self.total) {
                Ok(values) => drop(parameters.insert(rule.name(), values)),
                Err(invalid) => drop(out.insert(rule.name(), Missed::Invalid(invalid))),
            }
        }
        let acting = without(rules, &out);
        let some_read = acting.iter().any(|rule| rule.logic.reads_object);
        let allowance = ALLOWANCE + SHARE * acting.len();
        self.allowance.set(allowance);
        let mut laid = if some_read {
            self.lay_to_rest(&acting, &parameters, draft)
        } else {
            self.lay_once(&acting, &self.evaluation(&parameters, draft), draft)
        };
        if self.is_exhausted() {
            // Those that wait for nobody get an allowance of their own.
            self.allowance.set(if some_read { allowance } else { 0 });
            laid = self.lay_without_readers(&acting, &parameters, draft, Unsettled::Exhausted);
            if self.is_exhausted() {
                let missed = left_out(&acting, Unsettled::Exhausted).collect();
                laid = Laid::new(draft.clone(), missed, Vec::new());
            }
        }
        laid.missed.extend(out);
        laid
    }

    /// One that receives what `draft` holds.
    fn evaluation<'e, 'r>(
        &'e self,
        parameters: &'e Parameters<'r>,
        draft: &'e Draft<'_>,
    ) -> Evaluation<'e, 'r> {
        Evaluation { parameters, request_scope: RequestScope::new(self.subject, draft.whole(), &self.total) }
    }

    /// Whether nothing that was laid in since the allowance was given counts.
    fn is_exhausted(&self) -> bool {
        self.allowance.get() == 0
    }

    fn spend(&self, count: usize) -> bool {
        self.allowance.set(self.allowance.get().saturating_sub(count));
        !self.is_exhausted()
    }

    /// Where expressions read the object, evaluates what comes out as if it had just been received, until that changes
    /// nothing: the API server may well do the same. Rules that read it are out where there is no end to it.
    fn lay_to_rest<'d, 'r>(
        &self,
        rules: &[&'r Rule],
        parameters: &Parameters<'r>,
        draft: &Draft<'d>,
    ) -> Laid<'d, 'r> {
        let mut whole = draft.clone();
        let mut known = Vec::new();
        for _ in 0..rules.len() + PASSES {
            let received = whole.settled();
            let laid = self.lay_steadily(rules, &self.evaluation(parameters, &received), &received);
            let Laid { mut draft, mut missed, rules: laid, .. } = laid;
            // Expressions see which container is the first, so what is moved back is moved before they are asked again.
            let acting = laid.iter().map(|rule| &**rule).filter(|rule| !missed.contains_key(rule.name()));
            let acting: Vec<&Rule> = acting.collect();
            straighten(&acting, self.layout, self.shape, &mut draft);
            renew(&mut known, laid);
            if draft.count() == 0 || self.is_exhausted() {
                let authors = authors(&whole);
                let settled = |rule: &&&Rule| {
                    let why = missed.get(rule.name());
                    authors.contains(rule.name()) && why.is_some_and(|why| !why.denies(rule))
                };
                let ended: Vec<_> = rules.iter().filter(settled).map(|rule| rule.name()).collect();
                missed.retain(|name, _| !ended.contains(name));
                return Laid { draft: whole, missed, rules: known, ended };
            }
            whole = whole.followed_by(draft);
        }
        self.lay_without_readers(rules, parameters, draft, Unsettled::Restless)
    }

    /// Lays in those rules that do not read the object; the others are out, and `why`.
    fn lay_without_readers<'d, 'r>(
        &self,
        rules: &[&'r Rule],
        parameters: &Parameters<'r>,
        draft: &Draft<'d>,
        why: Unsettled,
    ) -> Laid<'d, 'r> {
        let (readers, others): (Vec<&Rule>, Vec<&Rule>) =
            rules.iter().partition(|rule| rule.logic.reads_object);
        let mut laid = self.lay_once(&others, &self.evaluation(parameters, draft), draft);
        laid.missed.extend(left_out(&readers, why));
        laid
    }

    /// One evaluation. A rule that fails over its own work, or never comes to rest, is out and all starts anew.
    fn lay_steadily<'d, 'r>(
        &self,
        rules: &[&'r Rule],
        evaluation: &Evaluation<'_, 'r>,
        draft: &Draft<'d>,
    ) -> Laid<'d, 'r> {
        let mut out = HashMap::new();
        loop {
            match self.pass_by_pass(&without(rules, &out), evaluation, draft) {
                Ok(mut laid) => {
                    laid.missed.extend(out);
                    return laid;
                }
                Err(rule) => drop(out.insert(rule.name(), Missed::Unsettled(Unsettled::Restless))),
            }
        }
    }

    /// Evaluates until that changes nothing; otherwise the rule because of which it does not end.
    fn pass_by_pass<'d, 'r>(
        &self,
        rules: &[&'r Rule],
        evaluation: &Evaluation<'_, 'r>,
        draft: &Draft<'d>,
    ) -> Result<Laid<'d, 'r>, &'r Rule> {
        let mut passes = rules.len() + PASSES;
        let mut draft = draft.clone();
        let mut known = Vec::new();
        loop {
            let before = draft.count();
            let mut laid = self.lay_once(rules, evaluation, &draft);
            renew(&mut known, std::mem::take(&mut laid.rules));
            let authors = authors(&laid.draft);
            let broken =
                |rule: &&&Rule| laid.missed.contains_key(rule.name()) && authors.contains(rule.name());
            if let Some(rule) = rules.iter().find(broken)
                && !self.is_exhausted()
            {
                return Err(rule);
            }
            if laid.draft.count() == before || self.is_exhausted() {
                return Ok(Laid { rules: known, ..laid });
            }
            if passes == 0 {
                let last = laid.draft.origins().last().map(|origin| &*origin.rule);
                let restless = rules.iter().find(|rule| Some(rule.name()) == last);
                return restless.map_or(Ok(laid), |rule| Err(rule));
            }
            passes -= 1;
            draft = laid.draft;
        }
    }

    /// Lays in the rules. A rule that cannot keep what an earlier turn wrote for it is out for good, and all starts anew
    /// without it: of a rule that is left out nothing may stay.
    fn lay_once<'d, 'r>(
        &self,
        rules: &[&'r Rule],
        evaluation: &Evaluation<'_, 'r>,
        draft: &Draft<'d>,
    ) -> Laid<'d, 'r> {
        let mut out = HashMap::new();
        loop {
            let acting = without(rules, &out);
            let Laid { draft, missed, rules, ended } = self.lay_in_turns(&acting, evaluation, draft.clone());
            if missed.is_empty() {
                return Laid { draft, missed: out, rules, ended };
            }
            let before = out.len();
            let authors = authors(&draft);
            let (gone, missed): (HashMap<_, _>, HashMap<_, _>) =
                missed.into_iter().partition(|(rule, _)| authors.contains(rule));
            out.extend(gone);
            if out.len() == before || self.is_exhausted() {
                out.extend(missed);
                return Laid { draft, missed: out, rules, ended };
            }
        }
    }

    /// Lays in the rules. Those that were missed get another turn when others have changed the object: the volume that one
    /// mounts may be there now, and a second evaluation would find it.
    fn lay_in_turns<'d, 'r>(
        &self,
        rules: &[&'r Rule],
        evaluation: &Evaluation<'_, 'r>,
        mut draft: Draft<'d>,
    ) -> Laid<'d, 'r> {
        let mut turns = rules.len();
        let mut known = Vec::new();
        loop {
            let before = draft.count();
            let turn = self.lay_most(rules, evaluation, &draft);
            renew(&mut known, turn.rules);
            let missed = turn.missed;
            draft = turn.draft;
            if missed.is_empty() || draft.count() == before || turns == 0 || self.is_exhausted() {
                return Laid::new(draft, missed, known);
            }
            turns -= 1;
        }
    }
}

/// Rules that were laid in once more take the place of what they were.
fn renew<'r>(known: &mut Vec<Filled<'r>>, newer: Vec<Filled<'r>>) {
    if known.is_empty() {
        *known = newer;
        return;
    }
    let names: HashSet<&str> = newer.iter().map(|rule| rule.name()).collect();
    known.retain(|rule| !names.contains(rule.name()));
    known.extend(newer);
}

fn without<'a, 'r>(rules: &'a [&'r Rule], out: &HashMap<&str, Missed>) -> Cow<'a, [&'r Rule]> {
    if out.is_empty() {
        return Cow::Borrowed(rules);
    }
    rules.iter().copied().filter(|rule| !out.contains_key(rule.name())).collect()
}

/// The names of the rules that have changed something.
fn authors<'d>(draft: &'d Draft<'_>) -> HashSet<&'d str> {
    draft.authors().into_iter().map(|name| &**name).collect()
}
