//! The outcome of a rule as labels of metrics and fields of logs.

use vestibule_rules::{Mode, Outcome, Reason, Verdict};

/// All values of `result`.
pub(crate) const RESULTS: [&str; 6] = ["applied", "unchanged", "skipped", "denied", "observed", "other"];

/// All values of `reason`.
pub(crate) const REASONS: [&str; Reason::ALL.len() + 1] = {
    let (mut words, mut at) = ([""; Reason::ALL.len() + 1], 0);
    while at < Reason::ALL.len() {
        words[at + 1] = Reason::ALL[at].as_str();
        at += 1;
    }
    words
};

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
