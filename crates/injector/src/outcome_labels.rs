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

    /// Whether they are equal. Equal words mostly stand at one address, which is cheaper to compare than their bytes.
    pub(crate) fn is(&self, other: &Self) -> bool {
        let same = |one: &'static str, other: &'static str| std::ptr::eq(one, other) || one == other;
        same(self.result, other.result) && same(self.reason, other.reason)
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;
    use std::sync::Arc;

    use super::*;

    #[test]
    fn equal_words_at_other_addresses_are_equal() {
        let labels = OutcomeLabels { result: "skipped", reason: "opted_out" };
        let elsewhere = |word: &str| -> &'static str { word.to_owned().leak() };
        assert!(labels.is(&OutcomeLabels { result: elsewhere("skipped"), reason: elsewhere("opted_out") }));
        assert!(!labels.is(&OutcomeLabels { reason: elsewhere("conflict"), ..labels }));
    }

    #[test]
    fn the_page_has_every_result() {
        let outcomes = [
            Outcome::Applied,
            Outcome::Unchanged,
            Outcome::Skipped { reason: Reason::OptedOut, sentence: Arc::from("") },
            Outcome::Denied { reason: Reason::Conflict, message: String::new() },
        ];
        // `other` is for outcomes that a later version of the rules adds.
        let mut results = BTreeSet::from(["other"]);
        for outcome in outcomes {
            let (rule, source) = (Arc::from("a"), Arc::from("rules.yaml"));
            let verdict = Verdict { rule, source, line: 1, clause: None, outcome };
            results.extend([Mode::On, Mode::Observe].map(|mode| OutcomeLabels::of(&verdict, mode).result));
        }
        let page = include_str!("../tests/pages/metrics.md");
        let row = page.lines().find(|line| line.starts_with("| `vestibule_injections_total`")).unwrap();
        let (_, words) = row.split_once("`result`: ").unwrap();
        let words = words.split_once(';').unwrap().0.split(", ").map(|word| word.trim_matches('`'));
        assert_eq!(results, words.collect());
    }
}
