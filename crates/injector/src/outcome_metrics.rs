//! The metric of the outcomes of rules.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use vestibule::prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use vestibule::prometheus_client::metrics::MetricType;
use vestibule::prometheus_client::metrics::counter::ConstCounter;
use vestibule_rules::{Decision, Mode, Rule, Verdict};

use crate::configuration::snapshot::Snapshot;
use crate::observer::{DecisionContext, DecisionObserver};
use crate::outcome_labels::OutcomeLabels;

/// Counts outcomes by rule, result and reason. No label holds a value of an object.
#[derive(Clone, Default)]
pub(crate) struct OutcomeMetrics(Arc<Mutex<Table>>);

/// One row for each rule. Every decision counts an outcome for every rule. A lookup by name would be a large part of the cost of a
/// rule that does not match, so rows are found by their order.
#[derive(Default)]
struct Table {
    rows: Vec<Row>,
    by_name: BTreeMap<Arc<str>, usize>,
}

struct Row {
    rule: Arc<str>,
    /// Few: most rules have the same outcome for most objects.
    counts: Vec<(OutcomeLabels, Count)>,
    /// The row that was counted after this row the last time. The order of rules seldom changes, so this guess is mostly right.
    next: usize,
}

struct Count {
    all: u64,
    /// A dry run is a call like any other, but makes no object.
    dry_runs: u64,
}

impl OutcomeMetrics {
    /// The outcomes of one rule for the status of its object, without those of dry runs.
    pub(crate) fn of_rule(&self, rule: &str) -> BTreeMap<OutcomeLabels, u64> {
        let table = self.lock();
        let row = table.by_name.get(rule).and_then(|index| table.rows.get(*index));
        let counts = row.into_iter().flat_map(|row| &row.counts);
        let counts = counts.map(|(labels, count)| (*labels, count.all - count.dry_runs));
        counts.filter(|(_, count)| *count > 0).collect()
    }

    /// Drops the counts of rules that are not in `snapshot`, so that renaming rules grows neither the memory nor the number of series.
    pub(crate) fn retain(&self, snapshot: &Snapshot) {
        let names = names(snapshot);
        self.lock().retain(&names);
    }

    /// Writes `vestibule_injections_total` of the rules of `snapshot`.
    pub(crate) fn encode(&self, snapshot: &Snapshot, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        let names = names(snapshot);
        // The counts are copied, so that no decision waits while the page is written.
        let counted: BTreeMap<Arc<str>, BTreeMap<OutcomeLabels, u64>> = {
            let mut table = self.lock();
            table.retain(&names);
            table.rows.iter().map(|row| (Arc::clone(&row.rule), row.counts())).collect()
        };
        if counted.is_empty() {
            return Ok(());
        }
        let (help, kind) = ("Outcomes of rules.", MetricType::Counter);
        let mut metric = encoder.encode_descriptor("vestibule_injections", help, None, kind)?;
        for (rule, counts) in &counted {
            for (OutcomeLabels { result, reason }, count) in counts {
                let labels = [("rule", &**rule), ("result", result), ("reason", reason)];
                ConstCounter::new(*count).encode(metric.encode_family(&labels)?)?;
            }
        }
        Ok(())
    }

    fn lock(&self) -> MutexGuard<'_, Table> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The names of the rules of `snapshot`. They are collected before the table is locked, so that no decision waits for that.
fn names(snapshot: &Snapshot) -> HashSet<&str> {
    snapshot.all_rules().map(Rule::name).collect()
}

impl Table {
    fn count(&mut self, verdicts: &[Verdict], mode: Mode, dry_run: bool) {
        let mut last: Option<usize> = None;
        for verdict in verdicts {
            let expected = last.and_then(|last| self.rows.get(last)).map(|row| row.next);
            let index = self.index(&verdict.rule, expected);
            if let Some(row) = last.and_then(|last| self.rows.get_mut(last)) {
                row.next = index;
            }
            if let Some(row) = self.rows.get_mut(index) {
                row.add(OutcomeLabels::of(verdict, mode), dry_run);
            }
            last = Some(index);
        }
    }

    /// The index of the row of `rule`, which is probably `expected`.
    fn index(&mut self, rule: &Arc<str>, expected: Option<usize>) -> usize {
        let is_expected = |index: &usize| self.rows.get(*index).is_some_and(|row| row.rule == *rule);
        if let Some(index) = expected.filter(is_expected) {
            return index;
        }
        let rows = &mut self.rows;
        let added = || {
            rows.push(Row { rule: Arc::clone(rule), counts: Vec::new(), next: 0 });
            rows.len() - 1
        };
        match self.by_name.get(rule) {
            Some(index) => *index,
            None => *self.by_name.entry(Arc::clone(rule)).or_insert_with(added),
        }
    }

    /// Drops the rows of all rules but these.
    fn retain(&mut self, names: &HashSet<&str>) {
        if self.rows.iter().all(|row| names.contains(&*row.rule)) {
            return;
        }
        self.rows.retain(|row| names.contains(&*row.rule));
        self.by_name = (0..).zip(&self.rows).map(|(index, row)| (Arc::clone(&row.rule), index)).collect();
    }
}

impl Row {
    fn add(&mut self, labels: OutcomeLabels, dry_run: bool) {
        let (all, dry_runs) = (1, u64::from(dry_run));
        match self.counts.iter_mut().find(|(counted, _)| counted.is(&labels)) {
            Some((_, count)) => {
                count.all += all;
                count.dry_runs += dry_runs;
            }
            None => self.counts.push((labels, Count { all, dry_runs })),
        }
    }

    fn counts(&self) -> BTreeMap<OutcomeLabels, u64> {
        self.counts.iter().map(|(labels, count)| (*labels, count.all)).collect()
    }
}

impl DecisionObserver for OutcomeMetrics {
    fn decided(&self, decision: &Decision, context: &DecisionContext<'_>) {
        let mode = context.settings().mode;
        self.lock().count(&decision.verdicts, mode, context.dry_run());
    }
}

#[cfg(test)]
mod tests {
    use vestibule_rules::{Outcome, Reason};

    use super::*;

    #[test]
    fn outcomes_are_counted_by_name_in_any_order() {
        let verdict = |rule: &str, skipped: bool| {
            let outcome = match skipped {
                true => Outcome::Skipped { reason: Reason::OptedOut, sentence: Arc::from("") },
                false => Outcome::Applied,
            };
            Verdict { rule: rule.into(), source: "rules.yaml".into(), line: 1, clause: None, outcome }
        };
        let metrics = OutcomeMetrics::default();
        let count = |names: &[&str], skipped| {
            let verdicts: Vec<Verdict> = names.iter().map(|name| verdict(name, skipped)).collect();
            metrics.lock().count(&verdicts, Mode::On, false);
        };
        let counted = |rule: &str| {
            let counts = metrics.of_rule(rule);
            counts.iter().map(|(labels, count)| (labels.result, *count)).collect::<Vec<_>>()
        };
        count(&["c", "a", "b"], true);
        count(&["c", "a", "b"], true);
        count(&["b", "c"], false);
        count(&["a", "a", "d"], true);
        assert_eq!(counted("a"), [("skipped", 4)]);
        assert_eq!(counted("b"), [("applied", 1), ("skipped", 2)]);
        assert_eq!(counted("c"), [("applied", 1), ("skipped", 2)]);

        metrics.lock().retain(&HashSet::from(["b", "d"]));
        assert!(counted("a").is_empty());
        count(&["d", "a", "b"], true);
        assert_eq!(counted("a"), [("skipped", 1)]);
        assert_eq!(counted("b"), [("applied", 1), ("skipped", 3)]);
        assert_eq!(counted("d"), [("skipped", 2)]);
    }
}
