//! Label selectors of an entry. A selector cannot express "this or that", so it holds only requirements that all rules of the
//! entry share.

use std::collections::{BTreeMap, BTreeSet};

use vestibule_rules::{LabelSelector, LabelValues, OWN_POD_LABEL, RULE_KEY_PREFIX, Resource, Rule, Settings};

use super::exemption::Exemptions;

/// The values that labels may have.
pub(super) type Labels = BTreeMap<String, LabelValues>;

/// The namespaces that a rule is for.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct NamespaceRestriction(Labels);

impl NamespaceRestriction {
    pub(super) fn of(rule: &Rule) -> Self {
        Self(rule.namespace_selector().by_label())
    }

    /// The key that restrictions by one and the same label share. Restrictions by several labels stay as they are. A group of
    /// such restrictions selects the namespaces of each of them and no others.
    pub(super) fn in_common(self) -> Self {
        let mut required = self.0.iter().filter(|(_, values)| values.is_required());
        match (required.next(), required.next()) {
            (Some((key, _)), None) => Self([(key.clone(), LabelValues::default())].into()),
            _ => self,
        }
    }
}

/// Every namespace that one of `rules` may be for.
pub(super) fn of_namespaces(rules: &[&Rule], settings: &Settings) -> String {
    let mut labels = shared(rules.iter().map(|rule| rule.namespace_selector()));
    restrict(&mut labels, Exemptions::of(settings).namespaces);
    // With `optIn: namespace` no object overrules the namespace's label for the rule. A rule that is not required stops no pod,
    // and the injector warns about keys that it cannot read.
    if let [rule] = rules
        && rule.required()
        && rule.requires_namespace_opt_in()
    {
        restrict(&mut labels, [not_false(own_key(rule))]);
    }
    terms(&labels)
}

/// Every object that one of `rules` may be for, and none of the injector's own pods. A selector reads the labels of a workload,
/// and rules those of its pod template: for workloads a [condition](super::match_conditions) takes its place.
pub(super) fn of_objects(rules: &[&Rule], resources: &BTreeSet<Resource>, settings: &Settings) -> String {
    let mut labels = Labels::new();
    if resources.iter().eq([&Resource::Pods]) {
        labels = shared(rules.iter().map(|rule| rule.object_selector()));
        restrict(&mut labels, Exemptions::of(settings).objects);
        // The rule's own label opts out, and nothing overrules it. A selector can express that for a single rule.
        if let [rule] = rules {
            restrict(&mut labels, [not_false(own_key(rule))]);
        }
    }
    let of_injector = LabelValues::all_but(["true".to_owned()]);
    restrict(&mut labels, [(OWN_POD_LABEL.to_owned(), of_injector)]);
    terms(&labels)
}

/// The label or annotation by which an object opts in to the rule or out of it.
pub(super) fn own_key(rule: &Rule) -> String {
    format!("{RULE_KEY_PREFIX}{}", rule.name())
}

/// The labels that all selectors restrict, each with the values that any of them allows.
pub(super) fn shared<'s>(mut all: impl Iterator<Item = &'s LabelSelector>) -> Labels {
    let mut shared = all.next().map(LabelSelector::by_label).unwrap_or_default();
    for selector in all {
        let mut other = selector.by_label();
        shared.retain(|key, values| match other.remove(key) {
            Some(more) => {
                *values = values.or(&more);
                true
            }
            None => false,
        });
    }
    shared
}

fn restrict(labels: &mut Labels, more: impl IntoIterator<Item = (String, LabelValues)>) {
    for (key, values) in more {
        let known = labels.entry(key).or_default();
        *known = known.and(&values);
    }
}

fn not_false(key: String) -> (String, LabelValues) {
    (key, LabelValues::all_but(["false".to_owned()]))
}

fn terms(labels: &Labels) -> String {
    labels.iter().flat_map(|(key, values)| values.terms(key)).collect::<Vec<_>>().join(",")
}
