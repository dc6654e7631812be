//! The metric of the outcomes of rules.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use vestibule::{Metric, MetricFamily, MetricLabel, Sample};
use vestibule_rules::{Decision, Rule, RuleSet};

use crate::configuration::Configuration;
use crate::observer::{DecisionContext, DecisionObserver};
use crate::outcome_labels::{OutcomeLabels, REASONS, RESULTS};

const INJECTIONS: MetricFamily = MetricFamily::counter("injections", "Outcomes of rules").labels(&[
    MetricLabel::of_each("rule", "rule in force"),
    MetricLabel::closed("result", &RESULTS),
    MetricLabel::closed("reason", &REASONS),
]);

/// Counts outcomes by rule, result and reason. No label holds a value of an object.
#[derive(Clone, Default)]
pub(crate) struct OutcomeMetrics(Arc<Mutex<BTreeMap<Arc<str>, Counts>>>);

/// Counts as `f64`, the type of samples.
type Counts = BTreeMap<OutcomeLabels, f64>;

impl OutcomeMetrics {
    /// `vestibule_injections_total` of the rules in force. Counts of other rules are dropped, so that renaming rules does not
    /// grow the number of series.
    pub(crate) fn metric(&self, configuration: &Configuration) -> Metric {
        let (metrics, configuration) = (self.clone(), configuration.clone());
        Metric::new(INJECTIONS, move || metrics.samples(configuration.current().rules()))
    }

    fn samples(&self, rules: &RuleSet) -> Vec<Sample> {
        let names: HashSet<&str> = rules.rules().iter().map(Rule::name).collect();
        let mut counted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counted.retain(|rule, _| names.contains(&**rule));
        let sample = |rule: &str, labels: &OutcomeLabels, count: f64| {
            Sample::new(count)
                .label("rule", rule)
                .label("result", labels.result)
                .label("reason", labels.reason)
        };
        let of_rule = |(rule, counts): (&Arc<str>, &Counts)| {
            counts.iter().map(|(labels, count)| sample(rule, labels, *count)).collect::<Vec<_>>()
        };
        counted.iter().flat_map(of_rule).collect()
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
            *of_rule.entry(OutcomeLabels::of(verdict, mode)).or_default() += 1.0;
        }
    }
}
