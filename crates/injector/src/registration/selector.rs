//! Label selectors of an entry. A selector cannot express "this or that", so it holds only requirements that all rules of the
//! entry share.

use std::collections::{BTreeMap, BTreeSet};

use vestibule_rules::{OWN_POD_LABEL, RULE_KEY_PREFIX, Rule, Settings};

use super::exemption::Exemptions;

/// The label that the API server gives every namespace.
const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

/// Required labels, each with the values that it may have.
type RequiredLabels = BTreeMap<String, BTreeSet<String>>;

/// The namespaces that a rule is for, as far as a selector can express them.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct NamespaceRestriction {
    labels: RequiredLabels,
    excluded: BTreeSet<String>,
}

impl NamespaceRestriction {
    pub(super) fn of(rule: &Rule) -> Self {
        let mut wanted = one_value_each(rule.namespace_labels());
        if !rule.namespaces().is_empty() {
            // The injector itself checks a value that the rule requires of this label besides.
            wanted.insert(NAMESPACE_NAME.to_owned(), rule.namespaces().iter().cloned().collect());
        }
        Self { labels: wanted, excluded: rule.excluded_namespaces().iter().cloned().collect() }
    }

    /// The key that restrictions by one and the same label share. Restrictions by several labels stay as they are. A group of
    /// such restrictions selects the namespaces of each of them and no others.
    pub(super) fn in_common(self) -> Self {
        let key = self.labels.keys().next().filter(|_| self.labels.len() == 1).cloned();
        match key {
            Some(key) => Self { labels: [(key, BTreeSet::new())].into(), excluded: BTreeSet::new() },
            None => self,
        }
    }
}

/// Every namespace that one of `rules` may be for.
pub(super) fn of_namespaces(rules: &[&Rule], settings: &Settings) -> String {
    let restrictions: Vec<_> = rules.iter().map(|rule| NamespaceRestriction::of(rule)).collect();
    let mut terms = terms(shared(restrictions.iter().map(|one| &one.labels)));
    let excluded = restrictions.iter().map(|one| one.excluded.clone());
    let mut excluded = excluded.reduce(|all, next| &all & &next).unwrap_or_default();
    let exempt = Exemptions::of(settings);
    excluded.extend(exempt.namespaces);
    terms.extend(exempt.namespace_labels);
    // With `optIn: namespace` no object overrules the namespace's label for the rule. A rule that is not required stops no pod,
    // and the injector warns about keys that it cannot read.
    if let [rule] = rules
        && rule.required()
        && rule.requires_namespace_opt_in()
    {
        terms.push(format!("{}!=false", own_key(rule)));
    }
    // The API server refuses a selector with a value that no namespace name can have.
    let excluded: Vec<_> = excluded.into_iter().filter(|name| is_value(name)).collect();
    if !excluded.is_empty() {
        terms.push(format!("{NAMESPACE_NAME} notin ({})", excluded.join(",")));
    }
    terms.join(",")
}

/// Every object that one of `rules` may be for, and none of the injector's own pods.
pub(super) fn of_objects(rules: &[&Rule], settings: &Settings) -> String {
    let labels: Vec<_> = rules.iter().map(|rule| one_value_each(rule.object_labels())).collect();
    let mut terms = terms(shared(labels.iter()));
    terms.push(format!("{OWN_POD_LABEL}!=true"));
    terms.extend(Exemptions::of(settings).object_labels);
    // The rule's own label opts out, and nothing overrules it. A selector can express that for a single rule.
    if let [rule] = rules {
        terms.push(format!("{}!=false", own_key(rule)));
    }
    terms.join(",")
}

/// The label or annotation by which an object opts in to the rule or out of it.
pub(super) fn own_key(rule: &Rule) -> String {
    format!("{RULE_KEY_PREFIX}{}", rule.name())
}

fn one_value_each<'r>(pairs: impl Iterator<Item = (&'r str, &'r str)>) -> RequiredLabels {
    pairs.map(|(key, value)| (key.to_owned(), [value.to_owned()].into())).collect()
}

/// The keys that all of them require, each with the union of the values.
fn shared<'w>(mut all: impl Iterator<Item = &'w RequiredLabels>) -> RequiredLabels {
    let mut shared = all.next().cloned().unwrap_or_default();
    for wanted in all {
        shared.retain(|key, values| match wanted.get(key) {
            Some(more) => {
                values.extend(more.iter().cloned());
                true
            }
            None => false,
        });
    }
    shared
}

fn terms(wanted: RequiredLabels) -> Vec<String> {
    let term = |(key, values): (String, BTreeSet<String>)| {
        let possible: Vec<_> = values.into_iter().filter(|value| is_value(value)).collect();
        match possible.as_slice() {
            // No label can have any of these values, so the rules are for no namespace: select none.
            [] => format!("{key},!{key}"),
            [value] => format!("{key}={value}"),
            values => format!("{key} in ({})", values.join(",")),
        }
    };
    wanted.into_iter().map(term).collect()
}

/// Whether a label can have this value.
fn is_value(text: &str) -> bool {
    let inner = |byte: u8| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte);
    let ends = ['-', '_', '.'];
    text.len() <= 63 && text.bytes().all(inner) && !text.starts_with(ends) && !text.ends_with(ends)
}
