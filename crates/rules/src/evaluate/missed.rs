//! Rules that are for an object and are not laid into it all the same.

use crate::decision::Unsettled;
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
    /// The evaluation of the rules does not end.
    Unsettled(Unsettled),
}

impl Missed {
    /// Whether the object must not pass because `rule` is missing.
    pub(super) fn denies(&self, rule: &Rule) -> bool {
        match self {
            Self::Declined(_) => false,
            Self::Failed(Failure { conflict: Some(policy), .. }) => rule.required || *policy == Policy::Deny,
            Self::Failed(_) | Self::Invalid(_) | Self::Unsettled(_) => rule.on_error == OnError::Deny,
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
        // No gate has this name: parameters and conditions let the rule pass.
        Missed::Unsettled(why) => ("spec", why.sentence().to_owned()),
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

pub(super) fn left_out<'r>(rules: &[&'r Rule], why: Unsettled) -> impl Iterator<Item = (&'r str, Missed)> {
    rules.iter().map(move |rule| (rule.name(), Missed::Unsettled(why)))
}
