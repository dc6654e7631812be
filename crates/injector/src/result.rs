//! How a rule came out, in the words of metrics and logs.

use vestibule_rules::{Mode, Outcome, Reason, Verdict};

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
