//! What the rules said, kept until somebody explains it.

use std::sync::{Mutex, PoisonError};

use vestibule_injector::{Asked, Observer};
use vestibule_rules::diagnostic::printable;
use vestibule_rules::{Change, Decision, Mode, Outcome, Reason};

/// What the rules made of one review, or of several.
#[derive(Default)]
pub(super) struct Heard {
    /// In the order they apply.
    pub(super) changes: Vec<Change>,
    /// Rules that changed nothing.
    pub(super) idle: Vec<Idle>,
}

/// A rule that changed nothing.
pub(super) struct Idle {
    pub(super) rule: String,
    /// `rules.yaml:14`
    pub(super) place: String,
    pub(super) because: Because,
}

#[derive(PartialEq, Eq)]
pub(super) enum Because {
    NothingToDo,
    Skipped { reason: Reason, sentence: String },
    Denied,
}

/// Listens to the injector's handlers.
#[derive(Default)]
pub(super) struct Recorder(Mutex<Heard>);

impl Recorder {
    /// What was said since the last time.
    pub(super) fn take(&self) -> Heard {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

impl Observer for Recorder {
    fn decided(&self, decision: &Decision, asked: &Asked<'_>) {
        let idle = decision.verdicts.iter().filter_map(|verdict| {
            let because = match &verdict.outcome {
                Outcome::Applied => return None,
                Outcome::Skipped { reason, sentence } => {
                    Because::Skipped { reason: *reason, sentence: sentence.to_string() }
                }
                Outcome::Denied { .. } => Because::Denied,
                _ => Because::NothingToDo,
            };
            let place = format!("{}:{}", printable(&verdict.source), verdict.line);
            Some(Idle { rule: verdict.rule.to_string(), place, because })
        });
        let mut heard = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        // What is only observed is sent to nobody.
        if asked.settings().mode() == Mode::On {
            heard.changes.extend_from_slice(decision.changes());
        }
        heard.idle.extend(idle);
    }
}
