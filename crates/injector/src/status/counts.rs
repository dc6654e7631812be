//! The counts in the status of an Injection.

use std::collections::BTreeMap;

use k8s_openapi::jiff::Timestamp;
use serde_json::{Value, json};
use vestibule_rules::Reason;

use super::content::second;
use crate::outcome_labels::OutcomeLabels;

/// The outcomes of one rule in this process.
#[derive(Clone, Default, PartialEq, Eq)]
pub(super) struct Counts {
    injected: u64,
    failed: u64,
    left_out: BTreeMap<&'static str, u64>,
}

impl Counts {
    pub(super) fn of<'c>(outcomes: impl Iterator<Item = (&'c OutcomeLabels, &'c u64)>) -> Self {
        let mut counts = Self::default();
        for (OutcomeLabels { result, reason }, count) in outcomes {
            let is_failure = Reason::ALL.iter().any(|it| it.as_str() == *reason && it.is_unexpected());
            match *result {
                "applied" => counts.injected += count,
                "denied" => counts.failed += count,
                "skipped" if is_failure => counts.failed += count,
                // A rule for another resource was not wanted.
                "skipped" if *reason != Reason::OtherResource.as_str() => {
                    *counts.left_out.entry(reason).or_default() += count;
                }
                _ => {}
            }
        }
        counts
    }

    pub(super) fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    /// Forgets these outcomes if `now` does not continue them: the counts of a rule begin anew when it was without effect for a while.
    pub(super) fn restart_if_above(&mut self, now: &Self) {
        let is_above =
            |(reason, count): (&&str, &u64)| now.left_out.get(*reason).is_none_or(|now| now < count);
        if self.injected > now.injected || self.failed > now.failed || self.left_out.iter().any(is_above) {
            *self = Self::default();
        }
    }

    /// The outcomes after `earlier`.
    pub(super) fn since(&self, earlier: &Self) -> Self {
        let left_out = self.left_out.iter().map(|(reason, count)| {
            (*reason, count.saturating_sub(earlier.left_out.get(reason).copied().unwrap_or_default()))
        });
        Self {
            injected: self.injected.saturating_sub(earlier.injected),
            failed: self.failed.saturating_sub(earlier.failed),
            left_out: left_out.filter(|(_, count)| *count > 0).collect(),
        }
    }

    /// Adds these outcomes to the stored counts, which are those of all replicas.
    pub(super) fn add_to(&self, status: &mut Value, now: Timestamp) {
        if !status["counts"].is_object() {
            status["counts"] = json!({"since": second(now), "injected": 0, "failed": 0, "leftOut": {}});
        }
        let counts = &mut status["counts"];
        let add = |place: &mut Value, count: u64| *place = json!(place.as_u64().unwrap_or_default() + count);
        add(&mut counts["injected"], self.injected);
        add(&mut counts["failed"], self.failed);
        if self.failed > 0 {
            counts["lastFailed"] = json!(second(now));
        }
        for (reason, count) in &self.left_out {
            add(&mut counts["leftOut"][reason], *count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn outcomes_are_added_once() {
        let outcome = |result, reason| OutcomeLabels { result, reason };
        let outcomes = [
            (outcome("applied", ""), 3),
            (outcome("unchanged", ""), 9),
            (outcome("denied", "conflict"), 1),
            (outcome("skipped", "conflict"), 1),
            (outcome("skipped", "opted_out"), 4),
            (outcome("skipped", "other_resource"), 7),
        ];
        let total = Counts::of(outcomes.iter().map(|(labels, count)| (labels, count)));
        let mut status =
            json!({"counts": {"since": "earlier", "injected": 10, "failed": 0, "leftOut": {"opted_out": 1}}});
        total.since(&Counts { injected: 2, ..Counts::default() }).add_to(&mut status, Timestamp::UNIX_EPOCH);
        assert_eq!(
            status["counts"],
            json!({"since": "earlier", "injected": 11, "failed": 2, "lastFailed": "1970-01-01T00:00:00Z", "leftOut": {"opted_out": 5}})
        );
        assert!(total.since(&total).is_empty());
    }
}
