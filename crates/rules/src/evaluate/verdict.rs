//! The verdicts of rules that are skipped or not applied.

use std::sync::Arc;

use vestibule_patch::Patch;

use super::not_applied::NotApplied;
use crate::decision::{Decision, Outcome, Reason, Verdict};
use crate::diagnostic::{self, Position};
use crate::merge::Failure;
use crate::parameter::Invalid;
use crate::rule::{Clause, Rule};
use crate::select::Skip;

/// The verdict of a rule that is not selected for the object.
pub(super) fn skipped(rule: &Rule, skip: &Skip) -> Verdict {
    let at = skip.at.unwrap_or(rule.at);
    let sentence = Arc::clone(&skip.sentence);
    let outcome = if skip.failure && rule.required {
        Outcome::Denied { reason: skip.reason, message: denial(rule, at, &sentence) }
    } else {
        Outcome::Skipped { reason: skip.reason, sentence }
    };
    verdict(rule, at, outcome)
}

/// The verdict of a selected rule that is not applied. Unless a condition is false, the user gets a warning or a denial.
pub(super) fn not_applied(rule: &Rule, why: &NotApplied, warnings: &mut Vec<String>) -> Verdict {
    let spec = Clause::new("spec", rule.at);
    let (clause, sentence, reason) = match why {
        NotApplied::ConditionFalse(clause) => {
            let sentence = format!("`{}` does not hold", clause.text).into();
            return clause_verdict(
                rule,
                clause,
                Outcome::Skipped { reason: Reason::MatchConditionFalse, sentence },
            );
        }
        NotApplied::InvalidParameter(Invalid { clause, sentence }) => {
            (clause, sentence.as_str(), Reason::InvalidParameter)
        }
        NotApplied::Failed(Failure { clause, sentence, conflict }) => {
            (clause, sentence.as_str(), conflict.map_or(Reason::Error, |_| Reason::Conflict))
        }
        NotApplied::Unsettled(why) => (&spec, why.sentence(), Reason::Error),
    };
    if why.denies(rule) {
        let message = denial(rule, clause.at, sentence);
        return clause_verdict(rule, clause, Outcome::Denied { reason, message });
    }
    warnings.push(format!("rule {} was left out: {sentence}", rule.name));
    clause_verdict(rule, clause, Outcome::Skipped { reason, sentence: sentence.into() })
}

pub(super) fn verdict(rule: &Rule, at: Position, outcome: Outcome) -> Verdict {
    let (rule, source) = (Arc::clone(&rule.name), Arc::clone(&rule.source));
    Verdict { rule, source, line: at.line, clause: None, outcome }
}

/// Removes all changes from a decision that denies the object.
pub(super) fn discard_changes(decision: &mut Decision) {
    decision.patch = Patch::default();
    decision.origins.clear();
    for verdict in &mut decision.verdicts {
        if let Outcome::Applied = verdict.outcome {
            let sentence = Arc::from("another rule denies the object");
            verdict.outcome = Outcome::Skipped { reason: Reason::ObjectDenied, sentence };
        }
    }
}

fn denial(rule: &Rule, at: Position, sentence: &str) -> String {
    format!("rule {} cannot be applied: {sentence} ({})", rule.name, diagnostic::place(&rule.source, at.line))
}

fn clause_verdict(rule: &Rule, clause: &Clause, outcome: Outcome) -> Verdict {
    Verdict { clause: Some(clause.text.to_string()), ..verdict(rule, clause.at, outcome) }
}
