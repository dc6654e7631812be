//! How a rule came out, in the words of metrics and logs.

use vestibule_rules::{Mode, Outcome, Reason, Verdict};

/// All of `result`.
pub(crate) const RESULTS: [&str; 6] = ["applied", "unchanged", "skipped", "denied", "observed", "other"];

/// All of `reason`.
pub(crate) const REASONS: [&str; Reason::ALL.len() + 1] = {
    let (mut words, mut at) = ([""; Reason::ALL.len() + 1], 0);
    while at < Reason::ALL.len() {
        words[at + 1] = Reason::ALL[at].as_str();
        at += 1;
    }
    words
};

/// The words of the labels `result` and `reason`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct Words {
    pub(crate) result: &'static str,
    /// Empty where the result says it all.
    pub(crate) reason: &'static str,
}

impl Words {
    /// For what `verdict` came to under `mode`: what is only observed is neither applied nor denied.
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
