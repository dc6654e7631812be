//! Why a rule that is selected for an object is not applied to it.

use std::collections::HashMap;

use crate::explanation::{Gate, GateResult};
use crate::merge::Failure;
use crate::parameter::Invalid;
use crate::rule::{Clause, OnConflict, OnError, Rule};

pub(super) enum NotApplied {
    /// A parameter has no valid value.
    InvalidParameter(Invalid),
    /// A match condition is false.
    ConditionFalse(Clause),
    /// An expression has no value, or the result would conflict or be invalid.
    Failed(Failure),
    /// The evaluation of the rules does not end.
    Unsettled(Unsettled),
}

/// Why the evaluation of rules that read the object does not end.
#[derive(Clone, Copy)]
pub(super) enum Unsettled {
    /// Every evaluation would change the object again.
    NeverSettles,
    /// The rules wait for each other for more turns than an evaluation has.
    Exhausted,
}

impl Unsettled {
    pub(super) fn sentence(self) -> &'static str {
        match self {
            Self::NeverSettles => {
                "every evaluation would change the object again, since expressions read what rules write"
            }
            Self::Exhausted => "the rules wait for each other longer than an evaluation of so many may take",
        }
    }
}

/// The rules that are not applied, by name.
pub(super) type NotAppliedRules<'r> = HashMap<&'r str, NotApplied>;

impl NotApplied {
    /// Whether the object is denied because `rule` is not applied.
    pub(super) fn denies(&self, rule: &Rule) -> bool {
        match self {
            Self::ConditionFalse(_) => false,
            Self::Failed(Failure { conflict: Some(on_conflict), .. }) => {
                rule.required || *on_conflict == OnConflict::Deny
            }
            Self::Failed(_) | Self::InvalidParameter(_) | Self::Unsettled(_) => {
                rule.on_error == OnError::Deny
            }
        }
    }

    /// The gate that did not let the rule pass, if it is one of [`gates`], and the sentence for it.
    fn failed_gate(&self) -> (&str, &str) {
        match self {
            Self::InvalidParameter(Invalid { sentence, .. }) => (PARAMETERS, sentence),
            Self::ConditionFalse(clause) => (&clause.text, "it does not hold"),
            Self::Failed(Failure { clause, sentence, .. }) => (&clause.text, sentence),
            // No gate has this name: parameters and conditions let the rule pass.
            Self::Unsettled(why) => ("spec", why.sentence()),
        }
    }
}

const PARAMETERS: &str = "parameters";

/// The gates of the parameters and conditions of `rule`, none of them reached.
pub(super) fn gates(rule: &Rule) -> Vec<Gate> {
    let parameters = rule.logic.parameters.first();
    let parameters = parameters.map(|first| Gate::not_reached(PARAMETERS, Some(first.at)));
    let conditions = rule.logic.conditions.iter();
    let conditions = conditions.map(|one| Gate::not_reached(&one.clause, Some(one.expression.at)));
    parameters.into_iter().chain(conditions).collect()
}

/// The gates of the parameters and conditions of a selected rule. `presumed_owner` says that the owner's name is a placeholder.
pub(super) fn passed_gates(rule: &Rule, why: Option<&NotApplied>, presumed_owner: bool) -> Vec<Gate> {
    let failed = why.map(NotApplied::failed_gate);
    let mut gates = gates(rule);
    let first_condition = usize::from(!rule.logic.parameters.is_empty());
    for (index, gate) in gates.iter_mut().enumerate() {
        let condition = index.checked_sub(first_condition).and_then(|index| rule.logic.conditions.get(index));
        let failure = failed.filter(|(name, _)| *name == gate.name);
        let passed = if condition.is_none() { "all of them have values" } else { "it holds" };
        gate.presumed =
            presumed_owner && condition.is_some_and(|condition| condition.expression.reads.owner_name);
        let presumed = if gate.presumed { ", for a placeholder of the owner's name" } else { "" };
        gate.sentence = format!("{}{presumed}", failure.map_or(passed, |(_, sentence)| sentence));
        gate.result = if failure.is_some() { GateResult::Failed } else { GateResult::Passed };
        if failure.is_some() {
            break;
        }
    }
    gates
}
