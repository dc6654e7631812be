//! Rules that are for an object and are not laid into it all the same.

use crate::explanation::{Gate, Passage};
use crate::merge::Failure;
use crate::parameter::Invalid;
use crate::rule::{Clause, OnError, Policy, Rule};

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

/// The gates of parameters and conditions: unasked, or as they were passed; by an owner's name that is not known yet, where it
/// is `presumed`.
pub(super) fn gates(rule: &Rule, asked: Option<Option<&Missed>>, presumed: bool) -> Vec<Gate> {
    let unasked = |name: &str, at| Gate::not_reached(name, Some(at));
    let parameters = rule.logic.parameters.first().map(|first| (unasked("parameters", first.at), false));
    let conditions = rule.logic.when.iter().enumerate();
    let conditions = conditions.map(|(index, condition)| {
        (unasked(&format!("when[{index}]"), condition.at), presumed && condition.reads_owner_name)
    });
    let mut gates: Vec<(Gate, bool)> = parameters.into_iter().chain(conditions).collect();
    let told = |gates: Vec<(Gate, bool)>| gates.into_iter().map(|(gate, _)| gate).collect();
    let Some(missed) = asked else { return told(gates) };
    let stopped = missed.map(|missed| match missed {
        Missed::Invalid(Invalid { sentence, .. }) => ("parameters", sentence.clone()),
        Missed::Declined(clause) => (&*clause.text, "it does not hold".to_owned()),
        Missed::Failed(Failure { clause, sentence, .. }) => (&*clause.text, sentence.clone()),
    });
    for (gate, presumed) in &mut gates {
        let stopped = stopped.as_ref().filter(|(name, _)| *name == gate.name);
        let passed = if gate.name == "parameters" { "all of them have values" } else { "it holds" };
        let sentence = stopped.map_or(passed, |(_, sentence)| sentence);
        let by = if *presumed { ", by a name that stands for the one to come" } else { "" };
        gate.sentence = format!("{sentence}{by}");
        gate.presumed = *presumed;
        gate.passage = if stopped.is_some() { Passage::Failed } else { Passage::Passed };
        if stopped.is_some() {
            break;
        }
    }
    told(gates)
}

/// Why such a rule is left out.
pub(crate) const RESTLESS: &str =
    "every evaluation would change the object again, since expressions read what rules write";

/// Why all that were to be laid in together are left out.
pub(crate) const EXHAUSTED: &str =
    "the rules wait for each other longer than an evaluation of so many may take";

pub(super) fn left_out<'r>(rules: &[&'r Rule], why: &str) -> impl Iterator<Item = (&'r str, Missed)> {
    rules.iter().map(move |rule| (rule.name(), Missed::Failed(failure(rule, why))))
}

pub(super) fn failure(rule: &Rule, why: &str) -> Failure {
    let clause = Clause { text: "spec".into(), at: rule.at };
    Failure { clause, sentence: why.to_owned(), conflict: None }
}
