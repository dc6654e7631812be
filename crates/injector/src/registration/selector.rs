//! Label selectors: what holds for all rules of an entry. A selector cannot say "this or that", so what rules do not share
//! is left out.

use std::collections::{BTreeMap, BTreeSet};

use vestibule_rules::{OWN_POD_LABEL, RULE_KEY_PREFIX, Rule, Settings};

use super::exempt::{self, Exempt};

/// The label that the API server gives every namespace.
const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

/// The labels that must be there, each with the values that it may have.
type Wanted = BTreeMap<String, BTreeSet<String>>;

/// The namespaces that a rule is for, as far as the API server can know.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Restriction {
    wanted: Wanted,
    excluded: BTreeSet<String>,
}

impl Restriction {
    pub(super) fn of(rule: &Rule) -> Self {
        let mut wanted = one_value_each(rule.namespace_labels());
        if !rule.namespaces().is_empty() {
            // Where a rule says both, its names are what to select by; the other is asked for here.
            wanted.insert(NAMESPACE_NAME.to_owned(), rule.namespaces().iter().cloned().collect());
        }
        Self { wanted, excluded: rule.excluded_namespaces().iter().cloned().collect() }
    }

    /// What it has in common with others that ask for one and the same label: together they are for the namespaces that
    /// each of them is for, and no others. One that asks for more stays as it is.
    pub(super) fn in_common(self) -> Self {
        let key = self.wanted.keys().next().filter(|_| self.wanted.len() == 1).cloned();
        match key {
            Some(key) => Self { wanted: [(key, BTreeSet::new())].into(), excluded: BTreeSet::new() },
            None => self,
        }
    }
}

/// Every namespace that one of `rules` may be for.
pub(super) fn of_namespaces(rules: &[&Rule], settings: &Settings) -> String {
    let restrictions: Vec<_> = rules.iter().map(|rule| Restriction::of(rule)).collect();
    let mut terms = terms(shared(restrictions.iter().map(|one| &one.wanted)));
    let excluded = restrictions.iter().map(|one| one.excluded.clone());
    let mut excluded = excluded.reduce(|all, next| &all & &next).unwrap_or_default();
    for exempt in exempt::all(settings) {
        match exempt {
            Exempt::Namespaces(names) => excluded.extend(names.iter().cloned()),
            Exempt::NamespaceLabel(key, value) => terms.push(format!("{key}!={value}")),
            Exempt::ObjectLabel(..) | Exempt::Condition(_) => {}
        }
    }
    // Declined by the namespace's label for the rule, which no object overrules where only namespaces are asked. A rule that
    // is not required keeps nobody from starting, and warns of keys that nobody can read.
    if let [rule] = rules
        && rule.required()
        && rule.requires_namespace_opt_in()
    {
        terms.push(format!("{}!=false", own_key(rule)));
    }
    // What no namespace can be called need not be left out, and the API server would refuse it.
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
    terms.extend(exempt::all(settings).filter_map(|exempt| match exempt {
        Exempt::ObjectLabel(key, value) => Some(format!("{key}!={value}")),
        _ => None,
    }));
    // Declined by the rule's own label, which nothing overrules: for one rule alone a selector can say it.
    if let [rule] = rules {
        terms.push(format!("{}!=false", own_key(rule)));
    }
    terms.join(",")
}

fn own_key(rule: &Rule) -> String {
    format!("{RULE_KEY_PREFIX}{}", rule.name())
}

fn one_value_each<'r>(pairs: impl Iterator<Item = (&'r str, &'r str)>) -> Wanted {
    pairs.map(|(key, value)| (key.to_owned(), [value.to_owned()].into())).collect()
}

/// The keys that all ask for, each with every value that one asks for.
fn shared<'w>(mut all: impl Iterator<Item = &'w Wanted>) -> Wanted {
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

fn terms(wanted: Wanted) -> Vec<String> {
    let term = |(key, values): (String, BTreeSet<String>)| {
        let possible: Vec<_> = values.into_iter().filter(|value| is_value(value)).collect();
        match possible.as_slice() {
            // No label has any of them: nothing is selected by what cannot be, and nothing is taken by these rules.
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
