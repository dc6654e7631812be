//! Compares the rules that pods carry with those in force.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use anyhow::Context as _;
use serde_json::json;
use vestibule::patch::DocumentError;
use vestibule_injector::{RulesInForce, StoredPod};
use vestibule_rules::{
    CarriedRule, Decision, Mode, NamespaceFacts, Outcome, Reason, Resource, Rule, RuleSet, STATUS_ANNOTATION,
    Subject, Verb,
};

use super::owner::Owner;
use crate::Failure;
use crate::workload::ephemeral_containers;

/// The input of the comparison.
pub(super) struct Comparison<'r> {
    rules: &'r RuleSet,
    by_name: HashMap<&'r str, &'r Rule>,
    has_namespaced: bool,
    /// The facts of each namespace; [`None`] if they cannot be read.
    facts: Option<BTreeMap<String, NamespaceFacts>>,
}

/// How a pod differs from a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum State {
    /// It carries another version of the rule.
    Older,
    /// It carries a rule that is gone.
    Removed,
    /// It does not carry a rule that would be applied to it now.
    NotInjected,
    /// It carries no rules, and would now be denied because of this one.
    Denied,
    /// It carries a rule in the version in force that would not be applied to it now.
    NotApplicable,
}

/// The rule and the kind of a difference.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Difference {
    pub(super) rule: String,
    pub(super) state: State,
    /// Why it is not certain, if it is not.
    pub(super) uncertain: Option<&'static str>,
}

/// The pods of a workload that differ.
#[derive(Default)]
pub(super) struct Lagging {
    /// Names of pods.
    pub(super) differences: BTreeMap<Difference, Vec<String>>,
    /// Names of ephemeral containers, which no rule changes, by the name of their pod.
    pub(super) ephemeral: BTreeMap<String, Vec<String>>,
}

/// The result for all pods.
#[derive(Default)]
pub(super) struct Report {
    /// The number of pods that were compared.
    pub(super) pods: usize,
    pub(super) workloads: BTreeMap<Owner, Lagging>,
}

impl<'r> Comparison<'r> {
    pub(super) fn new(in_force: &'r RulesInForce, facts: Option<BTreeMap<String, NamespaceFacts>>) -> Self {
        let RulesInForce { rules, has_namespaced, .. } = in_force;
        let by_name = rules.all_rules().map(|rule| (rule.name(), rule)).collect();
        Self { rules, by_name, has_namespaced: *has_namespaced, facts }
    }

    /// Compares one pod. A pod that is being deleted is not counted.
    pub(super) fn add(&self, pod: &StoredPod, report: &mut Report) -> Result<(), Failure> {
        if pod.metadata.deletion_timestamp.is_some() {
            return Ok(());
        }
        report.pods += 1;
        let annotation = pod.metadata.annotations.as_ref().and_then(|all| all.get(STATUS_ANNOTATION));
        let carried = annotation.map_or_else(Vec::new, |text| CarriedRule::all(text));
        let mut differences = self.outdated(&carried);
        if self.rules.settings().mode == Mode::On {
            let changed = self.changed(pod, &carried).with_context(|| {
                let name = pod.metadata.name.as_deref().unwrap_or_default();
                format!("pod {}/{name}", pod.metadata.namespace.as_deref().unwrap_or_default())
            })?;
            differences.extend(changed);
        }
        if differences.is_empty() {
            return Ok(());
        }
        let name = pod.metadata.name.clone().unwrap_or_default();
        let lagging = report.workloads.entry(Owner::of(&pod.metadata)).or_default();
        let ephemeral = ephemeral_containers(pod.json.get());
        if !ephemeral.is_empty() {
            lagging.ephemeral.insert(name.clone(), ephemeral);
        }
        for difference in differences {
            lagging.differences.entry(difference).or_default().push(name.clone());
        }
        Ok(())
    }

    /// The rules of which a pod carries another version, and those that are gone.
    fn outdated(&self, carried: &[CarriedRule]) -> Vec<Difference> {
        let state = |one: &CarriedRule| match self.by_name.get(&*one.name) {
            Some(rule) => (!one.is_of(rule)).then_some(State::Older),
            // The name of a rule of a namespace has a slash.
            None => (self.has_namespaced || !one.name.contains('/')).then_some(State::Removed),
        };
        let differs = |one: &CarriedRule| {
            Some(Difference { rule: one.name.clone(), state: state(one)?, uncertain: None })
        };
        carried.iter().filter_map(differs).collect()
    }

    /// The rules that a pod does not carry, and that would be applied to it if it were created now; and those that it carries, and that
    /// would not be.
    fn changed(&self, pod: &StoredPod, carried: &[CarriedRule]) -> Result<Vec<Difference>, DocumentError> {
        let decision = self.decide(pod, None)?;
        let mut changed = Vec::new();
        let mut of_pod = None;
        for verdict in &decision.verdicts {
            let Some(rule) = self.by_name.get(&*verdict.rule) else { continue };
            if let Some(one) = carried.iter().find(|one| one.name == rule.name()) {
                // Another version is listed as such.
                if let Some(uncertain) = not_applicable(&verdict.outcome).filter(|_| one.is_of(rule)) {
                    let (rule, state) = (rule.name().to_owned(), State::NotApplicable);
                    changed.push(Difference { rule, state, uncertain });
                }
                continue;
            }
            let state = match &verdict.outcome {
                Outcome::Applied => State::NotInjected,
                // The rule may be in conflict with changes that other rules made when the pod was created.
                Outcome::Denied { .. } if carried.is_empty() || rule.reads_user() => State::Denied,
                Outcome::Skipped { reason: Reason::NamespaceUnknown, .. } => State::NotInjected,
                Outcome::Skipped { reason: Reason::MatchConditionFalse | Reason::Error, .. }
                    if rule.reads_user() =>
                {
                    State::NotInjected
                }
                _ => continue,
            };
            let uncertain = match (rule.reads_user(), of_pod) {
                (true, _) => Some("the rule reads the user who creates the pod"),
                (false, Some(known)) => known,
                (false, None) => *of_pod.insert(self.uncertain(pod)?),
            };
            let state = if uncertain.is_some() { State::NotInjected } else { state };
            changed.push(Difference { rule: rule.name().to_owned(), state, uncertain });
        }
        Ok(changed)
    }

    /// Why it is not certain that any rule would be applied to a pod.
    fn uncertain(&self, pod: &StoredPod) -> Result<Option<&'static str>, DocumentError> {
        if self.facts_of(pod).is_none() {
            return Ok(Some("the labels of the namespace are not known"));
        }
        let exemptions = &self.rules.settings().exemptions;
        for user in exemptions.iter().flat_map(|exemption| &exemption.users) {
            let user = json!({"username": user.trim_end_matches('*')}).to_string();
            let decision = self.decide(pod, Some(&user))?;
            let exempt =
                |outcome: &Outcome| matches!(outcome, Outcome::Skipped { reason: Reason::Exempted, .. });
            if decision.verdicts.iter().any(|verdict| exempt(&verdict.outcome)) {
                return Ok(Some("an exemption is for the user who creates the pod"));
            }
        }
        Ok(None)
    }

    fn decide(&self, pod: &StoredPod, user: Option<&str>) -> Result<Decision, DocumentError> {
        let namespace = pod.metadata.namespace.as_deref().unwrap_or_default();
        let generated = pod.metadata.generate_name.is_some();
        let name = pod.metadata.name.as_deref().filter(|_| !generated).unwrap_or_default();
        let subject = Subject::new(pod.json.get(), Resource::Pods, Verb::Create, namespace)
            .facts(self.facts_of(pod))
            .name(name)
            .user(user);
        self.rules.evaluate(&subject)
    }

    fn facts_of(&self, pod: &StoredPod) -> Option<&NamespaceFacts> {
        self.facts.as_ref()?.get(pod.metadata.namespace.as_deref()?)
    }
}

/// For a verdict that a rule does not apply to a pod: why that is not certain, if it is not. Other reasons, such as a conflict, may come
/// from what the rule itself did.
fn not_applicable(outcome: &Outcome) -> Option<Option<&'static str>> {
    let Outcome::Skipped { reason, .. } = outcome else { return None };
    match reason {
        Reason::NamespaceNotMatched
        | Reason::OwnerKindNotMatched
        | Reason::NotOptedIn
        | Reason::OptedOut
        | Reason::NotRolledOut => Some(None),
        Reason::LabelsNotMatched => Some(Some("a rule may have set the labels of the pod")),
        _ => None,
    }
}

impl Report {
    /// Whether a difference is certain.
    pub(super) fn is_certain(&self) -> bool {
        let mut all = self.workloads.values().flat_map(|lagging| lagging.differences.keys());
        all.any(|difference| difference.uncertain.is_none())
    }
}

impl Lagging {
    /// The names of its pods, each once.
    pub(super) fn pods(&self) -> BTreeSet<&str> {
        self.differences.values().flatten().map(String::as_str).collect()
    }
}
