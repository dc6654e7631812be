//! Counts the running pods that carry another version of a rule than the one in force.
//!
//! One replica counts, which the status writer chooses. It lists the metadata of pods by pages, and keeps a number for each rule and
//! version that pods name in their annotation. The versions are compared when the numbers are read, so that a rule that
//! changes needs no further list.
//!
//! Bounds: one list in each interval; one page of 250 pods and [`MAX_VERSIONS`] numbers in memory. Where pods name more versions there
//! are no numbers.

use std::collections::{BTreeMap, HashMap};
use std::fmt;
use std::mem::{Discriminant, discriminant};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use kube::Client;
use serde::Deserialize;
use serde_json::{Value, json};
use tokio::sync::watch;
use vestibule::identity::with_causes;
use vestibule::prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use vestibule::prometheus_client::metrics::MetricType;
use vestibule::prometheus_client::metrics::gauge::ConstGauge;
use vestibule_rules::{CarriedRule, Rule, STATUS_ANNOTATION};

use crate::configuration::snapshot::Snapshot;
use crate::deadline::with_timeout;
use crate::pages::Pages;

/// The number of versions of rules that are counted. A user who may create pods can write any name into the annotation.
const MAX_VERSIONS: usize = 4096;

/// The numbers of one injector. A clone sees the same numbers. By default nothing is counted.
#[derive(Clone, Default)]
pub(crate) struct LaggingPods(Arc<Inner>);

#[derive(Default)]
struct Inner {
    /// Whether pods are counted by any replica.
    is_on: AtomicBool,
    /// Whether this replica counts.
    is_here: watch::Sender<bool>,
    /// [`None`] where another replica counts, or before the first list.
    carried: watch::Sender<Option<Arc<Carried>>>,
}

/// The numbers of pods.
#[derive(Default)]
struct Carried {
    /// By name and version of a rule.
    by_rule: BTreeMap<String, BTreeMap<String, u64>>,
    versions: usize,
    /// Whether there are more versions than are counted. Then there is no number.
    has_more: bool,
}

/// The numbers beside the rules in force.
pub(crate) struct Compared<'r> {
    is_on: bool,
    carried: Option<Arc<Carried>>,
    rules: HashMap<&'r str, &'r Rule>,
}

/// The member `lagging` of a status.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LaggingStatus {
    /// Another replica writes it.
    Elsewhere,
    /// There is no number.
    Off,
    Counted(u64),
}

/// Why there is no new number. Each is logged when it begins.
#[derive(Debug, thiserror::Error)]
enum Problem {
    #[error(
        "pods name more than {MAX_VERSIONS} rules and versions in {STATUS_ANNOTATION}; find the pods with made-up names"
    )]
    TooMany,
    #[error("pods cannot be listed: {0}; trying again")]
    NotListed(String),
}

#[derive(Deserialize)]
struct Pod {
    metadata: Metadata,
}

/// The rest of the metadata is skipped. Managed fields are the larger part of it.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Metadata {
    annotations: Option<BTreeMap<String, String>>,
    deletion_timestamp: Option<String>,
}

impl LaggingPods {
    pub(crate) fn switch_on(&self) {
        self.0.is_on.store(true, Ordering::Relaxed);
    }

    pub(crate) fn is_on(&self) -> bool {
        self.0.is_on.load(Ordering::Relaxed)
    }

    /// Sets whether this replica counts.
    pub(crate) fn count_here(&self, is_here: bool) {
        self.0.is_here.send_if_modified(|before| std::mem::replace(before, is_here) != is_here);
    }

    /// Counts once in each interval while this replica was chosen, until it is dropped.
    pub(crate) async fn run(self, client: Client, every: Duration) {
        let mut is_here = self.0.is_here.subscribe();
        let mut logged = None;
        loop {
            if is_here.wait_for(|is_here| *is_here).await.is_err() {
                return;
            }
            let problem = match count(&client).await {
                Ok(carried) => {
                    let problem = carried.has_more.then_some(Problem::TooMany);
                    self.0.carried.send_replace(Some(Arc::new(carried)));
                    problem
                }
                // The former numbers stay.
                Err(error) => Some(Problem::NotListed(with_causes(&error))),
            };
            let begins = Problem::begins(problem.as_ref(), &mut logged);
            if let Some(problem) = problem.filter(|_| begins) {
                tracing::warn!("lagging pods are not counted: {problem}");
            }
            tokio::select! {
                () = tokio::time::sleep(every) => {}
                _ = is_here.wait_for(|is_here| !*is_here) => drop(self.0.carried.send_replace(None)),
            }
        }
    }

    /// The numbers of this moment beside the rules of `snapshot`.
    pub(crate) fn compared<'r>(&self, snapshot: &'r Snapshot) -> Compared<'r> {
        let carried = self.0.carried.borrow().clone();
        let rules = snapshot.all_rules().map(|rule| (rule.name(), rule)).collect();
        Compared { is_on: self.is_on(), carried, rules }
    }

    /// Writes `vestibule_lagging_pods` on the replica that counts.
    pub(crate) fn encode(&self, snapshot: &Snapshot, encoder: &mut DescriptorEncoder<'_>) -> fmt::Result {
        if !self.is_on() {
            return Ok(());
        }
        let help = "Running pods that carry another version of a rule than the one in force; with the reason `removed`, how many rules that are gone they carry in all.";
        let mut metric =
            encoder.encode_descriptor("vestibule_lagging_pods", help, None, MetricType::Gauge)?;
        let carried = self.0.carried.borrow().clone().filter(|carried| !carried.has_more);
        let Some(carried) = carried else { return Ok(()) };
        // The names of rules that are gone come from pods and are no labels.
        let (mut all, mut of_rules) = (carried.by_rule.values().flat_map(BTreeMap::values).sum::<u64>(), 0);
        for rule in snapshot.all_rules() {
            let Some(lagging) = carried.lagging(rule) else { continue };
            of_rules += carried.by_rule.get(rule.name()).into_iter().flat_map(BTreeMap::values).sum::<u64>();
            let labels = [("rule", rule.name()), ("reason", "older")];
            ConstGauge::new(lagging).encode(metric.encode_family(&labels)?)?;
        }
        all = all.saturating_sub(of_rules);
        ConstGauge::new(all).encode(metric.encode_family(&[("rule", ""), ("reason", "removed")])?)
    }
}

impl Compared<'_> {
    /// The number of pods that carry another version of the rule `name` of this source. A rule that is not in force has none.
    pub(crate) fn status_of(&self, name: &str, source: &str) -> LaggingStatus {
        match &self.carried {
            _ if !self.is_on => LaggingStatus::Off,
            None => LaggingStatus::Elsewhere,
            Some(carried) if carried.has_more => LaggingStatus::Off,
            Some(carried) => match self.rules.get(name).filter(|rule| rule.source() == source) {
                Some(rule) => LaggingStatus::Counted(carried.lagging(rule).unwrap_or_default()),
                None => LaggingStatus::Off,
            },
        }
    }
}

impl LaggingStatus {
    /// Writes it into `status`, and returns whether that changes it.
    pub(crate) fn write(self, status: &mut Value) -> bool {
        const NAME: &str = "lagging";
        let new = match self {
            Self::Elsewhere => return false,
            // A merge patch removes the member.
            Self::Off if status[NAME].is_null() => return false,
            Self::Off => Value::Null,
            Self::Counted(count) => json!(count),
        };
        let is_changed = status[NAME] != new;
        status[NAME] = new;
        is_changed
    }
}

impl Problem {
    /// Whether `problem` differs from the one before.
    fn begins(problem: Option<&Self>, before: &mut Option<Discriminant<Self>>) -> bool {
        let kind = problem.map(discriminant);
        std::mem::replace(before, kind) != kind && kind.is_some()
    }
}

impl Carried {
    fn add(&mut self, annotation: &str) {
        for CarriedRule { name, version, .. } in CarriedRule::all(annotation) {
            let known = self.by_rule.get_mut(&name).and_then(|versions| versions.get_mut(&version));
            match known {
                Some(count) => *count += 1,
                None if self.versions >= MAX_VERSIONS => self.has_more = true,
                None => {
                    self.by_rule.entry(name).or_default().insert(version, 1);
                    self.versions += 1;
                }
            }
        }
    }

    /// The number of pods with another version of `rule`; [`None`] if no pod carries the rule.
    fn lagging(&self, rule: &Rule) -> Option<u64> {
        let versions = self.by_rule.get(rule.name())?;
        Some(versions.iter().filter(|(version, _)| *version != rule.version()).map(|(_, count)| count).sum())
    }
}

async fn count(client: &Client) -> Result<Carried, kube::Error> {
    let mut pages = Pages::<Pod>::of_pods(client, None).metadata_only();
    let mut carried = Carried::default();
    while let Some(page) = with_timeout(pages.next()).await? {
        for Pod { metadata } in page {
            let annotations = metadata.annotations.filter(|_| metadata.deletion_timestamp.is_none());
            if let Some(annotation) = annotations.as_ref().and_then(|all| all.get(STATUS_ANNOTATION)) {
                carried.add(annotation);
            }
        }
    }
    Ok(carried)
}

#[cfg(test)]
mod tests {
    use vestibule_rules::RuleSet;

    use super::*;
    use crate::compile;

    fn annotation(rules: &[&str]) -> String {
        json!({"v": 1, "cfg": "", "rules": rules, "add": []}).to_string()
    }

    /// The rule `a`.
    fn rules() -> RuleSet {
        let text = "apiVersion: vestibule.dev/v1alpha1\nkind: Injection\nmetadata: {name: a}\nspec: {match: {objectSelector: {matchLabels: {app: web}}}, pod: {labels: {team: blue}}}\n";
        compile([("a.yaml", text)]).map_err(|findings| findings[0].headline()).unwrap()
    }

    #[test]
    fn other_versions_are_counted() {
        let rules = rules();
        let rule = &rules.rules()[0];
        let mut carried = Carried::default();
        assert_eq!(carried.lagging(rule), None);
        let current = format!("a@{}", rule.version());
        for rules in [&[&*current][..], &["a@000x", "b@1111", "a@000y"], &["a@000x"], &["a@000y"]] {
            carried.add(&annotation(rules));
        }
        carried.add("no annotation of an injector");
        assert_eq!(carried.lagging(rule), Some(3));
    }

    #[test]
    fn the_number_of_versions_is_bounded() {
        let mut carried = Carried::default();
        for version in 0..MAX_VERSIONS {
            carried.add(&annotation(&[&format!("a@{version:04x}")]));
        }
        carried.add(&annotation(&["a@0000"]));
        assert_eq!(
            (carried.versions, carried.by_rule["a"]["0000"], carried.has_more),
            (MAX_VERSIONS, 2, false)
        );
        carried.add(&annotation(&["a@ffff"]));
        assert_eq!((carried.versions, carried.by_rule["a"].len()), (MAX_VERSIONS, MAX_VERSIONS));
        // An incomplete number is not shown.
        let rules = rules();
        let rules = rules.rules().iter().map(|rule| (rule.name(), rule));
        let compared = |carried| Compared {
            is_on: true,
            carried: Some(Arc::new(carried)),
            rules: rules.clone().collect(),
        };
        assert_eq!(compared(Carried::default()).status_of("a", "a.yaml"), LaggingStatus::Counted(0));
        assert_eq!(compared(Carried::default()).status_of("a", "b.yaml"), LaggingStatus::Off);
        assert_eq!(compared(carried).status_of("a", "a.yaml"), LaggingStatus::Off);
    }

    /// A list that failed once kept the other problem out of the log for good.
    #[test]
    fn each_problem_is_logged_when_it_begins() {
        let (not_listed, mut before) = (|why: &str| Some(Problem::NotListed(why.to_owned())), None);
        let mut begins = |problem: Option<Problem>| Problem::begins(problem.as_ref(), &mut before);
        assert!(begins(not_listed("one")) && !begins(not_listed("another")));
        assert!(begins(Some(Problem::TooMany)) && !begins(Some(Problem::TooMany)) && !begins(None));
        assert!(begins(Some(Problem::TooMany)) && begins(not_listed("one")));
    }

    #[test]
    fn a_status_keeps_what_another_replica_writes() {
        let written = |lagging: LaggingStatus, before: Value| {
            let mut status = before;
            (lagging.write(&mut status), status)
        };
        let three = json!({"lagging": 3});
        assert_eq!(written(LaggingStatus::Elsewhere, three.clone()), (false, three.clone()));
        assert_eq!(written(LaggingStatus::Counted(3), three.clone()), (false, three.clone()));
        assert_eq!(written(LaggingStatus::Counted(0), three.clone()), (true, json!({"lagging": 0})));
        assert_eq!(written(LaggingStatus::Off, three), (true, json!({"lagging": null})));
        assert_eq!(written(LaggingStatus::Off, json!({})), (false, json!({})));
    }
}
