//! Records decisions of the injector for the report.

use std::sync::{Mutex, PoisonError};

use vestibule_injector::{DecisionContext, DecisionObserver};
use vestibule_rules::{Change, Decision, Mode, Outcome, Verdict};

/// The changes and outcomes of one review or more.
#[derive(Default)]
pub(super) struct Recorded {
    /// In the order they apply.
    pub(super) changes: Vec<Change>,
    /// The verdicts of rules that changed nothing.
    pub(super) unchanged: Vec<Verdict>,
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
        let mut recorded = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // In the mode `observe` the API server gets no patch.
        if context.settings().mode == Mode::On {
            recorded.changes.extend_from_slice(decision.changes());
        }
        let is_unchanged = |verdict: &&Verdict| !matches!(verdict.outcome, Outcome::Applied);
        recorded.unchanged.extend(decision.verdicts.iter().filter(is_unchanged).cloned());
    }
}
