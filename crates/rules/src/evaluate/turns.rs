//! Rules laid in one after the other, until another evaluation would change nothing.

use std::borrow::Cow;
use std::cell::{Cell, OnceCell};
use std::collections::{BTreeMap, HashMap};

use kube_cel::cel::Value;
use vestibule_patch::{Schema, View};

use crate::explanation::{Gate, Passage};
use crate::expression::{Scope, Surroundings};
use crate::logic::instantiate;
use crate::merge::{self, Draft, Failure, Scene};
use crate::parameter::{self, Invalid};
use crate::rule::{Clause, OnError, Policy, Rule};
use crate::subject::{Layout, Received, Subject};

/// What all turns have in common.
pub(super) struct Turns<'t> {
    subject: &'t Subject<'t>,
    received: &'t Received<'t>,
    layout: &'t Layout,
    pod: Schema<'static>,
    /// How many times rules may still be laid in.
    allowance: Cell<usize>,
}

/// Why a selected rule is not laid in.
pub(super) enum Missed {
    /// A parameter has no value.
    Invalid(Invalid),
    /// A condition does not hold.
    Declined(Clause),
    Failed(Failure),
}

impl Missed {
    /// Whether the object must not pass because `rule` is missing.
    pub(super) fn denies(&self, rule: &Rule) -> bool {
        match self {
            Self::Declined(_) => false,
            Self::Failed(Failure { conflict: Some(policy), .. }) => rule.required || *policy == Policy::Deny,
            Self::Failed(_) | Self::Invalid(_) => rule.on_error == OnError::Deny,
        }
    }
}

/// What came of the rules.
pub(super) struct Laid<'d, 'r> {
    pub(super) draft: Draft<'d>,
    pub(super) missed: HashMap<&'r str, Missed>,
    /// The rules as they were laid in at last, with values for their expressions.
    pub(super) rules: Vec<Cow<'r, Rule>>,
    /// Those whose condition ended with what was laid in: it stays, and the next evaluation will not know it for theirs.
    pub(super) ended: Vec<&'r str>,
}

/// The values of the parameters of every rule that has any.
type Parameters<'r> = HashMap<&'r str, BTreeMap<String, Value>>;

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
        pod: Schema<'static>,
    ) -> Self {
        Self { subject, received, layout, pod, allowance: Cell::new(0) }
    }

    /// Lays in the rules, so that another evaluation of what comes out changes nothing.
    pub(super) fn lay_all<'d, 'r>(&self, rules: &[&'r Rule], draft: &Draft<'d>) -> Laid<'d, 'r> {
        let (mut parameters, mut out) = (HashMap::new(), HashMap::new());
        for rule in rules.iter().filter(|rule| !rule.logic.parameters.is_empty()) {
            match parameter::values(rule, self.subject, self.received) {
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
            self.lay_once(&acting, &parameters, draft)
        };
        if self.is_exhausted() {
            // Those that wait for nobody get an allowance of their own.
            self.allowance.set(if some_read { allowance } else { 0 });
            laid = self.lay_without_readers(&acting, &parameters, draft, EXHAUSTED);
            if self.is_exhausted() {
                let missed = left_out(&acting, EXHAUSTED).collect();
                laid = Laid { draft: draft.clone(), missed, rules: Vec::new(), ended: Vec::new() };
            }
        }
        laid.missed.extend(out);
        laid
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
            let laid = self.lay_steadily(rules, parameters, &whole.settled());
            let Laid { draft, mut missed, rules: laid, .. } = laid;
            renew(&mut known, laid);
            if draft.count() == 0 || self.is_exhausted() {
                let settled = |rule: &&&Rule| {
                    let why = missed.get(rule.name());
                    wrote(&whole, rule.name()) && why.is_some_and(|why| !why.denies(rule))
                };
                let ended: Vec<_> = rules.iter().filter(settled).map(|rule| rule.name()).collect();
                missed.retain(|name, _| !ended.contains(name));
                return Laid { draft: whole, missed, rules: known, ended };
            }
            whole = whole.followed_by(draft);
        }
        self.lay_without_readers(rules, parameters, draft, RESTLESS)
    }

    /// Lays in those rules that do not read the object; the others are out, and `why`.
    fn lay_without_readers<'d, 'r>(
        &self,
        rules: &[&'r Rule],
        parameters: &Parameters<'r>,
        draft: &Draft<'d>,
        why: &str,
    ) -> Laid<'d, 'r> {
        let (readers, others): (Vec<&Rule>, Vec<&Rule>) =
            rules.iter().partition(|rule| rule.logic.reads_object);
        let mut laid = self.lay_once(&others, parameters, draft);
        laid.missed.extend(left_out(&readers, why));
        laid
    }

    /// One evaluation. A rule that fails over its own work, or never comes to rest, is out and all starts anew.
    fn lay_steadily<'d, 'r>(
        &self,
        rules: &[&'r Rule],
        parameters: &Parameters<'r>,
        draft: &Draft<'d>,
    ) -> Laid<'d, 'r> {
        let mut out = HashMap::new();
        loop {
            match self.pass_by_pass(&without(rules, &out), parameters, draft) {
                Ok(mut laid) => {
                    laid.missed.extend(out);
                    return laid;
                }
                Err(rule) => drop(out.insert(rule.name(), Missed::Failed(failure(rule, RESTLESS)))),
            }
        }
    }

    /// Evaluates until that changes nothing; otherwise the rule because of which it does not end.
    fn pass_by_pass<'d, 'r>(
        &self,
        rules: &[&'r Rule],
        parameters: &Parameters<'r>,
        draft: &Draft<'d>,
    ) -> Result<Laid<'d, 'r>, &'r Rule> {
        let mut passes = rules.len() + PASSES;
        let mut draft = draft.clone();
        let mut known = Vec::new();
        loop {
            let before = draft.count();
            let mut laid = self.lay_once(rules, parameters, &draft);
            renew(&mut known, std::mem::take(&mut laid.rules));
            let broken =
                |rule: &&&Rule| laid.missed.contains_key(rule.name()) && wrote(&laid.draft, rule.name());
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
        parameters: &Parameters<'r>,
        draft: &Draft<'d>,
    ) -> Laid<'d, 'r> {
        let mut out = HashMap::new();
        loop {
            let acting = without(rules, &out);
            let Laid { draft, missed, rules, ended } = self.lay_in_turns(&acting, parameters, draft.clone());
            let before = out.len();
            let (gone, missed): (HashMap<_, _>, HashMap<_, _>) =
                missed.into_iter().partition(|(rule, _)| wrote(&draft, rule));
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
        parameters: &Parameters<'r>,
        mut draft: Draft<'d>,
    ) -> Laid<'d, 'r> {
        let mut turns = rules.len();
        let mut known = Vec::new();
        loop {
            let before = draft.count();
            let turn = self.lay_most(rules, parameters, &draft);
            renew(&mut known, turn.rules);
            let mut missed = turn.missed;
            draft = turn.draft;
            // A rule may be the end of its own condition.
            missed.retain(|rule, missed| !(matches!(missed, Missed::Declined(_)) && wrote(&draft, rule)));
            if missed.is_empty() || draft.count() == before || turns == 0 || self.is_exhausted() {
                return Laid { draft, missed, rules: known, ended: Vec::new() };
            }
            turns -= 1;
        }
    }

    /// Lays in what can be laid in. With every rule that is missed all starts anew without it: what is left out leaves no
    /// trace, and nobody yields to it.
    fn lay_most<'d, 'r>(
        &self,
        rules: &[&'r Rule],
        parameters: &Parameters<'r>,
        start: &Draft<'d>,
    ) -> Laid<'d, 'r> {
        let surroundings = Surroundings::new(self.subject, start.whole());
        let mut missed = HashMap::new();
        loop {
            let acting = without(rules, &missed);
            if !self.spend(acting.len()) {
                return Laid { draft: start.clone(), missed, rules: Vec::new(), ended: Vec::new() };
            }
            let scene = Scene::new(&acting, start.at(&self.layout.spec), self.layout, self.pod);
            let mut draft = start.clone();
            let mut object = OnceCell::new();
            let mut rules_laid = Vec::new();
            for (rank, rule) in acting.iter().enumerate() {
                let before = draft.before();
                let computed = if rule.logic.is_fixed() {
                    Ok(Cow::Borrowed(*rule))
                } else {
                    computed(rule, &surroundings, draft.whole(), &object, parameters)
                };
                let laid = computed.and_then(|rule| {
                    merge::lay(&rule, rank, &scene, &mut draft).map_err(Missed::Failed)?;
                    Ok(rule)
                });
                match laid {
                    Ok(rule) => {
                        rules_laid.push(rule);
                        if draft.is_after(&before) {
                            object = OnceCell::new();
                        }
                    }
                    Err(why) => {
                        draft.go_back(before);
                        missed.insert(rule.name(), why);
                    }
                }
            }
            if acting.len() + missed.len() == rules.len() {
                return Laid { draft, missed, rules: rules_laid, ended: Vec::new() };
            }
        }
    }
}

/// `rule` for the object that is `current`; `object` is what expressions made of that.
fn computed<'r>(
    rule: &'r Rule,
    surroundings: &Surroundings<'_>,
    current: View<'_>,
    object: &OnceCell<Value>,
    parameters: &Parameters<'_>,
) -> Result<Cow<'r, Rule>, Missed> {
    let none = BTreeMap::new();
    let parameters = parameters.get(rule.name()).unwrap_or(&none);
    let scope = Scope::new(surroundings, current, object, parameters, &rule.logic.variables);
    match rule.logic.declined(&scope) {
        Ok(None) => instantiate(rule, &scope).map_err(Missed::Failed),
        Ok(Some(clause)) => Err(Missed::Declined(clause)),
        Err(failure) => Err(Missed::Failed(failure)),
    }
}

/// The gates of parameters and conditions: unasked, or as they were passed.
pub(super) fn gates(rule: &Rule, asked: Option<Option<&Missed>>) -> Vec<Gate> {
    let unasked = |name: &str, at| Gate::not_reached(name, Some(at));
    let mut gates: Vec<Gate> = Vec::new();
    if let Some(first) = rule.logic.parameters.first() {
        gates.push(unasked("parameters", first.at));
    }
    let conditions = rule.logic.when.iter().enumerate();
    gates.extend(conditions.map(|(index, condition)| unasked(&format!("when[{index}]"), condition.at)));
    let Some(missed) = asked else { return gates };
    let stopped = missed.map(|missed| match missed {
        Missed::Invalid(Invalid { sentence, .. }) => ("parameters", sentence.clone()),
        Missed::Declined(clause) => (clause.text.as_str(), "it does not hold".to_owned()),
        Missed::Failed(Failure { clause, sentence, .. }) => (clause.text.as_str(), sentence.clone()),
    });
    for gate in &mut gates {
        if let Some((name, sentence)) = &stopped
            && *name == gate.name
        {
            gate.passage = Passage::Failed;
            gate.sentence.clone_from(sentence);
            break;
        }
        gate.passage = Passage::Passed;
        let passed = if gate.name == "parameters" { "all of them have values" } else { "it holds" };
        passed.clone_into(&mut gate.sentence);
    }
    gates
}

/// Rules that were laid in once more take the place of what they were.
fn renew<'r>(known: &mut Vec<Cow<'r, Rule>>, newer: Vec<Cow<'r, Rule>>) {
    known.retain(|rule| !newer.iter().any(|other| other.name == rule.name));
    known.extend(newer);
}

fn without<'r>(rules: &[&'r Rule], out: &HashMap<&str, Missed>) -> Vec<&'r Rule> {
    rules.iter().copied().filter(|rule| !out.contains_key(rule.name())).collect()
}

fn wrote(draft: &Draft<'_>, rule: &str) -> bool {
    draft.origins().iter().any(|origin| &*origin.rule == rule)
}

/// Why such a rule is left out.
pub(crate) const RESTLESS: &str =
    "every evaluation would change the object again, since expressions read what rules write";

/// Why all that were to be laid in together are left out.
pub(crate) const EXHAUSTED: &str =
    "the rules wait for each other longer than an evaluation of so many may take";

fn left_out<'r>(rules: &[&'r Rule], why: &str) -> impl Iterator<Item = (&'r str, Missed)> {
    rules.iter().map(move |rule| (rule.name(), Missed::Failed(failure(rule, why))))
}

fn failure(rule: &Rule, why: &str) -> Failure {
    let clause = Clause { text: "spec".to_owned(), at: rule.at };
    Failure { clause, sentence: why.to_owned(), conflict: None }
}
