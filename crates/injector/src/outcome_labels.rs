//! The outcome of a rule as labels of metrics and fields of logs.

use vestibule_rules::{Mode, Outcome, Reason, Verdict};

/// The values of `result` and `reason`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct OutcomeLabels {
    pub(crate) result: &'static str,
    /// Empty for a result without a reason.
    pub(crate) reason: &'static str,
}

impl OutcomeLabels {
    /// The labels of `verdict` under `mode`. In the mode `observe`, `applied` and `denied` become `observed`.
    pub(crate) fn of(verdict: &Verdict, mode: Mode) -> Self {
        let (result, reason) = match &verdict.outcome {
            Outcome::Applied => ("applied", None),
            Outcome::Unchanged => ("unchanged", None),
            Outcome::Skipped { reason, .. } => ("skipped", Some(*reason)),
            Outcome::Denied { reason, .. } => ("denied", Some(*reason)),
            _ => ("other", None),
        };
        let acts = matches!(result, "applied" | "denied");
        let result = if acts && mode == Mode::Observe { "observed" } else { result };
        Self { result, reason: reason.map_or("", Reason::as_str) }
    }
}
