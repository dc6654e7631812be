//! Records decisions of the injector for the report.

use std::sync::{Mutex, PoisonError};

use vestibule_injector::{DecisionContext, DecisionObserver};
use vestibule_rules::diagnostic::printable;
use vestibule_rules::{Change, Decision, Mode, Outcome, Reason};

/// The changes and outcomes of one review or more.
#[derive(Default)]
pub(super) struct Recorded {
    /// In the order they apply.
    pub(super) changes: Vec<Change>,
    /// Rules that changed nothing.
    pub(super) unchanged: Vec<UnchangedRule>,
}

/// A rule that changed nothing.
pub(super) struct UnchangedRule {
    pub(super) rule: String,
    /// `rules.yaml:14`
    pub(super) place: String,
    pub(super) reason: UnchangedReason,
}

#[derive(PartialEq, Eq)]
pub(super) enum UnchangedReason {
    NothingToDo,
    Skipped { reason: Reason, sentence: String },
    Denied,
}

/// An observer of the injector.
#[derive(Default)]
pub(super) struct Recorder(Mutex<Recorded>);

impl Recorder {
    /// Takes the decisions since the last call.
    pub(super) fn take(&self) -> Recorded {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl DecisionObserver for Recorder {
    fn decided(&self, decision: &Decision, context: &DecisionContext<'_>) {
        let unchanged = decision.verdicts.iter().filter_map(|verdict| {
            let reason = match &verdict.outcome {
                Outcome::Applied => return None,
                Outcome::Skipped { reason, sentence } => {
                    UnchangedReason::Skipped { reason: *reason, sentence: sentence.to_string() }
                }
                Outcome::Denied { .. } => UnchangedReason::Denied,
                _ => UnchangedReason::NothingToDo,
            };
            let place = format!("{}:{}", printable(&verdict.source), verdict.line);
            Some(UnchangedRule { rule: verdict.rule.to_string(), place, reason })
        });
        let mut recorded = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // In the mode `observe` the API server gets no patch.
        if context.settings().mode() == Mode::On {
            recorded.changes.extend_from_slice(decision.changes());
        }
        recorded.unchanged.extend(unchanged);
    }
}
