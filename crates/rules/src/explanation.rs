//! A decision told step by step.

use std::collections::HashMap;
use std::sync::Arc;

use crate::decision::{Change, Decision, Outcome, Verdict};
use crate::diagnostic::Position;
use crate::merge::{Standing, Standings};
use crate::rule::{Clause, Rule};

/// What all rules together make of one object, and on which way.
pub struct Explanation {
    /// One for every rule, in the order they act in.
    pub rules: Vec<RuleExplanation>,
    /// What [`evaluate`](crate::RuleSet::evaluate) answers.
    pub decision: Decision,
}

/// The way of one rule.
pub struct RuleExplanation {
    /// The rule's name.
    pub rule: Arc<str>,
    /// The name of its source.
    pub source: Arc<str>,
    /// The line of its name.
    pub line: usize,
    /// Every gate before the rule acts, in the order in which they are asked.
    pub gates: Vec<Gate>,
    /// Every part of the rule that adds something or takes it away, in the order of the rule.
    pub clauses: Vec<ClauseExplanation>,
    /// How it came out.
    pub outcome: Outcome,
}

impl RuleExplanation {
    /// Whether some answer on the way is [presumed](Gate::presumed), and with it how it came out.
    pub fn is_presumed(&self) -> bool {
        self.gates.iter().any(|gate| gate.presumed)
    }
}

/// One question on the way, and its answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Gate {
    /// What is asked: `match.namespaces`, `opt.4` (a row of the opt-in table), `when[0]`.
    pub name: String,
    /// The line of the rule where it says so; none where no line of it does.
    pub line: Option<usize>,
    /// The answer.
    pub passage: Passage,
    /// Whether the answer may be another one: it goes by the name of an owner that only
    /// [stands for](crate::Subject::presumed_owner) the one to come.
    pub presumed: bool,
    /// The answer for people; holds names, and of values only those of opt-in keys.
    pub sentence: String,
}

impl Gate {
    pub(crate) fn not_reached(name: &str, at: Option<Position>) -> Self {
        let sentence = "it was decided before".to_owned();
        let (line, passage) = (at.map(|at| at.line), Passage::NotReached);
        Self { name: name.to_owned(), line, passage, presumed: false, sentence }
    }
}

/// Whether a gate lets a rule through.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Passage {
    /// It does.
    Passed,
    /// It does not: the rule is out.
    Failed,
    /// Nobody had to ask.
    NotReached,
}

/// What came of a part of a rule.
pub struct ClauseExplanation {
    /// `sidecars[0]`, as in [`Origin::clause`](crate::Origin).
    pub text: String,
    /// Its line.
    pub line: usize,
    /// What came of it.
    pub effect: Effect,
    /// The changes of the decision that it made, by their index: one for each container, perhaps, and one that it
    /// shares with its neighbours where a whole list was added.
    pub changes: Vec<usize>,
    /// The same for people.
    pub sentence: String,
}

/// What came of a part of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Effect {
    /// It changes the object.
    Added,
    /// It takes something away.
    Removed,
    /// The object held it already, wherever it belongs.
    There,
    /// The object holds something else in its place, to which it yields, or which a later rule wants.
    Kept,
    /// There is nothing to do: no container that it is for, nothing to take away, or an expression leaves it out.
    NotNeeded,
    /// It is why the rule fails.
    Failed,
    /// The rule is out, as a whole.
    NotReached,
}

/// Who hears of gates while rules are asked: nobody, at no cost, or an explanation.
pub(crate) trait Trace {
    /// `rule` stands before a gate. Of several answers to one question the last counts.
    fn gate(&mut self, rule: &Rule, gate: impl FnOnce() -> Gate);

    /// How the parts of the rules that act stand in the end.
    fn standings(&mut self, standings: Standings);

    /// Whether it is worth while to find out what to tell.
    fn listens(&self) -> bool;
}

impl Trace for () {
    fn gate(&mut self, _: &Rule, _: impl FnOnce() -> Gate) {}

    fn standings(&mut self, _: Standings) {}

    fn listens(&self) -> bool {
        false
    }
}

/// What was told.
#[derive(Default)]
pub(crate) struct Record {
    /// By the name of their rule.
    gates: HashMap<Arc<str>, Vec<Gate>>,
    standings: Standings,
}

impl Trace for Record {
    fn gate(&mut self, rule: &Rule, gate: impl FnOnce() -> Gate) {
        let gates = self.gates.entry(Arc::clone(&rule.name)).or_default();
        let gate = gate();
        match gates.iter_mut().find(|known| known.name == gate.name) {
            Some(known) => *known = gate,
            None => gates.push(gate),
        }
    }

    fn standings(&mut self, standings: Standings) {
        self.standings = standings;
    }

    fn listens(&self) -> bool {
        true
    }
}

impl Record {
    /// The explanation of a `decision` about `rules`, whose gates stand in `all`.
    pub(crate) fn explain(
        mut self,
        rules: &[Rule],
        decision: Decision,
        all: impl Fn(&Rule) -> Vec<Gate>,
    ) -> Explanation {
        let mut changes: HashMap<&str, Vec<(usize, &Change)>> = HashMap::new();
        for (index, change) in decision.changes().iter().enumerate() {
            changes.entry(&change.origin.rule).or_default().push((index, change));
        }
        let told = rules.iter().zip(&decision.verdicts).map(|(rule, verdict)| {
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
                clauses: clauses(rule, verdict, changes, &self.standings),
                outcome: verdict.outcome.clone(),
            }
        });
        let rules = told.collect();
        Explanation { rules, decision }
    }
}

/// What came of a part that changed nothing.
fn unchanged(standing: Option<Standing>) -> (Effect, &'static str) {
    match standing {
        Some(Standing::There) => (Effect::There, "the object holds it already"),
        Some(Standing::Yielded) => {
            (Effect::Kept, "the object holds something else in its place, and the rule yields to that")
        }
        Some(Standing::Overruled) => (Effect::Kept, "what a later rule wants stands in its place"),
        Some(Standing::Nowhere) => (Effect::NotNeeded, "it is for none of the containers"),
        None => (Effect::NotNeeded, "its expression leaves it out, or the object holds it already"),
    }
}

/// Whether `clause` is `outer`, or a part of it: one operation may add a whole list.
fn covers(outer: &str, clause: &str) -> bool {
    clause.strip_prefix(outer).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

fn clauses(
    rule: &Rule,
    verdict: &Verdict,
    changes: &[(usize, &Change)],
    standings: &Standings,
) -> Vec<ClauseExplanation> {
    let decided = |clause: &Clause| {
        let decided = verdict.clause.as_ref();
        decided.is_some_and(|decided| covers(decided, &clause.text) || covers(&clause.text, decided))
    };
    let removes = |clause: &Clause| rule.removals.iter().any(|removal| removal.clause.text == clause.text);
    let told = rule.clauses().into_iter().map(|clause| {
        let made = changes.iter().filter(|(_, change)| covers(&change.origin.clause, &clause.text));
        let made: Vec<usize> = made.map(|(index, _)| *index).collect();
        let (effect, sentence) = match &verdict.outcome {
            Outcome::Applied | Outcome::Unchanged if made.is_empty() && removes(clause) => {
                (Effect::NotNeeded, "there is nothing to take away".to_owned())
            }
            Outcome::Applied | Outcome::Unchanged if made.is_empty() => {
                let (effect, sentence) =
                    unchanged(standings.get(&(Arc::clone(&rule.name), Arc::clone(&clause.text))).copied());
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
    told.collect()
}
