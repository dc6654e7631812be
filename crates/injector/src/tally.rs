//! How often rules came out how.

use std::collections::{BTreeMap, HashSet};
use std::sync::{Arc, Mutex, PoisonError};

use vestibule::{Metric, MetricFamily, MetricLabel, Sample};
use vestibule_rules::{Decision, Rule, RuleSet};

use crate::result::{REASONS, RESULTS, Words};
use crate::{Asked, Configuration, Observer};

const INJECTIONS: MetricFamily = MetricFamily::counter("injections", "How rules came out").labels(&[
    MetricLabel::of_each("rule", "rule in force"),
    MetricLabel::closed("result", &RESULTS),
    MetricLabel::closed("reason", &REASONS),
]);

/// Counts outcomes. No label holds anything of an object: a series is a rule, a result and a reason.
#[derive(Clone, Default)]
pub(crate) struct Tally(Arc<Mutex<BTreeMap<Arc<str>, Counts>>>);

/// Whole numbers, in the form that metrics have.
type Counts = BTreeMap<Words, f64>;

impl Tally {
    /// `vestibule_injections_total` of the rules in force. Those that are gone are forgotten, so that renaming them for
    /// ever makes no series for ever.
    pub(crate) fn metric(&self, configuration: &Configuration) -> Metric {
        let (tally, configuration) = (self.clone(), configuration.clone());
        Metric::new(INJECTIONS, move || tally.samples(configuration.current().rules()))
    }

    fn samples(&self, rules: &RuleSet) -> Vec<Sample> {
        let names: HashSet<&str> = rules.rules().iter().map(Rule::name).collect();
        let mut counted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        counted.retain(|rule, _| names.contains(&**rule));
        let sample = |rule: &str, words: &Words, count: f64| {
            Sample::new(count).label("rule", rule).label("result", words.result).label("reason", words.reason)
        };
        let of_rule = |(rule, counts): (&Arc<str>, &Counts)| {
            counts.iter().map(|(words, count)| sample(rule, words, *count)).collect::<Vec<_>>()
        };
        counted.iter().flat_map(of_rule).collect()
    }
}

impl Observer for Tally {
    fn decided(&self, decision: &Decision, asked: &Asked<'_>) {
        let mode = asked.settings().mode();
        let mut counted = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        for verdict in &decision.verdicts {
            let of_rule = match counted.get_mut(&verdict.rule) {
                Some(of_rule) => of_rule,
                None => counted.entry(Arc::clone(&verdict.rule)).or_default(),
            };
            *of_rule.entry(Words::of(verdict, mode)).or_default() += 1.0;
        }
    }
}
