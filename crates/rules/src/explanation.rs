//! Explains a decision: for each rule the gates that it passed or failed, and the effect of each of its parts.
//!
//! If an explanation is wanted, `evaluate` reports to a [`Record`] while it decides, and
//! [`RuleSet::explain`](crate::RuleSet::explain) reads the record.

use std::collections::HashMap;
use std::sync::Arc;

use crate::decision::{Change, Decision, Outcome, Verdict};
use crate::diagnostic::Position;
use crate::merge::{PartState, PartStates};
use crate::rule::{Clause, Rule};

/// The decision of all rules about one object, with the steps that led to it.
pub struct Explanation {
    /// One explanation for every rule, in the order of the rules.
    pub rules: Vec<RuleExplanation>,
    /// The result of [`evaluate`](crate::RuleSet::evaluate).
    pub decision: Decision,
}

/// The explanation of one rule.
pub struct RuleExplanation {
    /// The rule's name.
    pub rule: Arc<str>,
    /// The name of its source.
    pub source: Arc<str>,
    /// The line of its name.
    pub line: usize,
    /// Every gate before the rule acts, in the order of evaluation.
    pub gates: Vec<Gate>,
    /// Every part of the rule that adds or removes something, in the order of the rule.
    pub clauses: Vec<ClauseExplanation>,
    /// The outcome of the rule.
    pub outcome: Outcome,
}

impl RuleExplanation {
    /// Whether the answer of a gate is [presumed](Gate::presumed), and with it the outcome.
    pub fn is_presumed(&self) -> bool {
        self.gates.iter().any(|gate| gate.presumed)
    }
}

/// One question before a rule acts, and its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gate {
    /// The name of the question: `match.namespaceSelector`, `opt.4` (a row of the opt-in table),
    /// `matchConditions[small]`.
    pub name: String,
    /// The line of the rule that asks, if a line of the rule does.
    pub line: Option<usize>,
    /// The answer.
    pub result: GateResult,
    /// Whether the answer may differ in the cluster, because it depends on the name of an owner that is only
    /// [presumed](crate::Subject::presumed_owner).
    pub presumed: bool,
    /// The answer as a sentence. It contains names, and no values except those of opt-in keys.
    pub sentence: String,
}

impl Gate {
    pub(crate) fn not_reached(name: &str, at: Option<Position>) -> Self {
        let sentence = "it was decided before".to_owned();
        let (line, result) = (at.map(|at| at.line), GateResult::NotReached);
        Self { name: name.to_owned(), line, result, presumed: false, sentence }
    }
}

/// The result of a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum GateResult {
    /// The rule passes.
    Passed,
    /// The rule does not pass and is skipped.
    Failed,
    /// An earlier gate decided.
    NotReached,
}

/// The effect of a part of a rule.
pub struct ClauseExplanation {
    /// The path of the part, such as `sidecars[0]`, as in [`Origin::clause`](crate::Origin).
    pub text: String,
    /// The line of the part.
    pub line: usize,
    /// The effect.
    pub effect: Effect,
    /// The indexes of its changes in the decision. A part may have a change for each container; parts share a change that
    /// adds a whole list.
    pub changes: Vec<usize>,
    /// The effect as a sentence.
    pub sentence: String,
}

/// The effect of a part of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Effect {
    /// The part adds to the object.
    Added,
    /// The part removes from the object.
    Removed,
    /// The object has the part already, in every place of it.
    There,
    /// The object has something else in its place: the rule yields to it, or a later rule wants it.
    Kept,
    /// There is nothing to do: no container is selected, nothing is there to remove, or an expression leaves the part out.
    NotNeeded,
    /// The part is the reason why the rule fails.
    Failed,
    /// The whole rule is left out.
    NotReached,
}

/// The reports of an evaluation.
#[derive(Default)]
pub(crate) struct Record {
    /// By the name of the rule.
    gates: HashMap<Arc<str>, Vec<Gate>>,
    pub(crate) part_states: PartStates,
}

impl Record {
    /// Reports a gate of `rule`. A later report of the same gate replaces the earlier one.
    pub(crate) fn gate(&mut self, rule: &Rule, gate: Gate) {
        let gates = self.gates.entry(Arc::clone(&rule.name)).or_default();
        match gates.iter_mut().find(|known| known.name == gate.name) {
            Some(known) => *known = gate,
            None => gates.push(gate),
        }
    }

    /// The explanation of a `decision` about `rules`. `all` returns every gate of a rule as not reached.
    pub(crate) fn explain<'r>(
        mut self,
        rules: impl Iterator<Item = &'r Rule>,
        decision: Decision,
        all: impl Fn(&Rule) -> Vec<Gate>,
    ) -> Explanation {
        let mut changes: HashMap<&str, Vec<(usize, &Change)>> = HashMap::new();
        for (index, change) in decision.changes().iter().enumerate() {
            changes.entry(&change.origin.rule).or_default().push((index, change));
        }
        let explained = rules.zip(&decision.verdicts).map(|(rule, verdict)| {
            let changes = changes.get(rule.name()).map(Vec::as_slice).unwrap_or_default();
            let mut reached = self.gates.remove(&rule.name).unwrap_or_default();
            let gates = all(rule).into_iter().map(|gate| {
                let found = reached.iter().position(|one| one.name == gate.name);
                found.map_or(gate, |index| reached.swap_remove(index))
            });
            RuleExplanation {
                rule: Arc::clone(&rule.name),
                source: Arc::clone(&rule.source),
                line: rule.at.line,
                gates: gates.collect(),
                clauses: clauses(rule, verdict, changes, &self.part_states),
                outcome: verdict.outcome.clone(),
            }
        });
        let rules = explained.collect();
        Explanation { rules, decision }
    }
}

/// The effect of a part without a change.
fn unchanged(state: Option<PartState>) -> (Effect, &'static str) {
    match state {
        Some(PartState::Present) => (Effect::There, "the object holds it already"),
        Some(PartState::Omitted) => (Effect::NotNeeded, "the object without this field means the same"),
        Some(PartState::Kept) => {
            (Effect::Kept, "the object holds something else in its place, and the rule yields to that")
        }
        Some(PartState::Overridden) => (Effect::Kept, "what a later rule wants stands in its place"),
        Some(PartState::NotSelected) => (Effect::NotNeeded, "it is for none of the containers"),
        None => (Effect::NotNeeded, "its expression leaves it out, or the object holds it already"),
    }
}

/// Whether `clause` is `outer` or within it. An operation that adds a whole list covers all its items.
fn covers(outer: &str, clause: &str) -> bool {
    clause.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

fn clauses(
    rule: &Rule,
    verdict: &Verdict,
    changes: &[(usize, &Change)],
    part_states: &PartStates,
) -> Vec<ClauseExplanation> {
    let decided = |clause: &Clause| {
        let decided = verdict.clause.as_ref();
        decided.is_some_and(|decided| covers(decided, &clause.text) || covers(&clause.text, decided))
    };
    let removes = |clause: &Clause| rule.removals.iter().any(|removal| removal.clause.text == clause.text);
    let explained = rule.clauses().into_iter().map(|clause| {
        let made = changes.iter().filter(|(_, change)| covers(&change.origin.clause, &clause.text));
        let made: Vec<usize> = made.map(|(index, _)| *index).collect();
        let (effect, sentence) = match &verdict.outcome {
            Outcome::Applied | Outcome::Unchanged if made.is_empty() && removes(clause) => {
                (Effect::NotNeeded, "there is nothing to take away".to_owned())
            }
            Outcome::Applied | Outcome::Unchanged if made.is_empty() => {
                let (effect, sentence) =
                    unchanged(part_states.get(&(Arc::clone(&rule.name), Arc::clone(&clause.text))).copied());
                (effect, sentence.to_owned())
            }
            Outcome::Applied | Outcome::Unchanged if removes(clause) => {
                (Effect::Removed, "taken away".to_owned())
            }
            Outcome::Applied | Outcome::Unchanged => (Effect::Added, "added".to_owned()),
            Outcome::Skipped { sentence, .. } if decided(clause) => (Effect::Failed, sentence.to_string()),
            Outcome::Denied { message, .. } if decided(clause) => (Effect::Failed, message.clone()),
            Outcome::Skipped { .. } | Outcome::Denied { .. } => {
                (Effect::NotReached, "the rule is left out as a whole".to_owned())
            }
        };
        ClauseExplanation {
            text: clause.text.to_string(),
            line: clause.at.line,
            effect,
            changes: made,
            sentence,
        }
    });
    explained.collect()
}
