//! The metric of the outcomes of rules.

use std::collections::{BTreeMap, HashSet};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use vestibule::prometheus_client::collector::Collector;
use vestibule::prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use vestibule::prometheus_client::metrics::MetricType;
use vestibule::prometheus_client::metrics::counter::ConstCounter;
use vestibule_rules::{Decision, Rule};

use crate::configuration::Configuration;
use crate::observer::{DecisionContext, DecisionObserver};
use crate::outcome_labels::OutcomeLabels;

/// Counts outcomes by rule, result and reason. No label holds a value of an object.
#[derive(Clone, Default)]
pub(crate) struct OutcomeMetrics(Arc<Mutex<BTreeMap<Arc<str>, Counts>>>);

type Counts = BTreeMap<OutcomeLabels, u64>;

/// `vestibule_injections_total` of the rules in force.
pub(crate) struct OutcomeCollector {
    pub(crate) metrics: OutcomeMetrics,
    pub(crate) configuration: Configuration,
}

impl OutcomeMetrics {
    /// The outcomes of one rule for the status of its object.
    pub(crate) fn of_rule(&self, rule: &str) -> BTreeMap<OutcomeLabels, u64> {
        let counted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counted.get(rule).cloned().unwrap_or_default()
    }
}

impl Collector for OutcomeCollector {
    /// Counts of rules that are no longer in force are dropped, so that renaming rules does not grow the number of series.
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> fmt::Result {
        let snapshot = self.configuration.current();
        let names: HashSet<&str> = snapshot
            .rules()
            .rules()
            .iter()
            .chain(snapshot.namespaced().rules().iter())
            .map(Rule::name)
            .collect();
        // Copied, so that no decision waits while the page is written.
        let counted = {
            let mut counted = self.metrics.0.lock().unwrap_or_else(PoisonError::into_inner);
            counted.retain(|rule, _| names.contains(&**rule));
            counted.clone()
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
}

impl fmt::Debug for OutcomeCollector {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("OutcomeCollector")
    }
}

impl DecisionObserver for OutcomeMetrics {
    fn decided(&self, decision: &Decision, context: &DecisionContext<'_>) {
        let mode = context.settings().mode();
        let mut counted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for verdict in &decision.verdicts {
            let of_rule = match counted.get_mut(&verdict.rule) {
                Some(of_rule) => of_rule,
                None => counted.entry(Arc::clone(&verdict.rule)).or_default(),
            };
            *of_rule.entry(OutcomeLabels::of(verdict, mode)).or_default() += 1;
        }
    }
}
