//! Rules beside each other, and rules for everybody or nobody.

use std::collections::{HashMap, HashSet};

use crate::RuleSet;
use crate::diagnostic::{self, Diagnostic};
use crate::key::COMPUTED;
use crate::rule::{Base, Item, Label, PartLocation, Policy, Rule, Select, Which};
use crate::select::SYSTEM_NAMESPACES;

pub(super) fn lint(rules: &RuleSet, findings: &mut Vec<Diagnostic>) {
    for rule in rules.rules() {
        findings.extend(for_nobody(rule));
        if !rules.settings().required_everywhere {
            findings.extend(broad(rule));
        }
    }
    overridden_twice(rules.rules(), findings);
}

fn for_nobody(rule: &Rule) -> Option<Diagnostic> {
    let matching = &rule.matching;
    let never =
        |name: &String| SYSTEM_NAMESPACES.contains(&name.as_str()) || matching.excluded.contains(name);
    if matching.namespaces.is_empty() || !matching.namespaces.iter().all(never) {
        return None;
    }
    let message = format!("rule `{}` is for no namespace at all", rule.name);
    let help = "all that `names` lists is excluded, or belongs to the cluster itself";
    Some(rule.text.warning(&diagnostic::FOR_NOBODY, matching.at, message).with_help(help))
}

fn broad(rule: &Rule) -> Option<Diagnostic> {
    let restricted = !rule.matching.namespaces.is_empty() || !rule.matching.namespace_labels.pairs.is_empty();
    if !rule.required || restricted {
        return None;
    }
    let message = format!("rule `{}` is required and names no namespaces", rule.name);
    let help = "while the injector is down, no pod that could be meant starts anywhere: restrict it under `match.namespaces`";
    Some(rule.text.warning(&diagnostic::REQUIRED_BROADLY, rule.at, message).with_help(help))
}

/// Something that a rule overrides.
struct Overriding<'r> {
    rule: &'r Rule,
    item: &'r Item,
    /// The containers that it is about, where it is about those that are there.
    select: Option<&'r Select>,
}

/// Two rules that override one key with different values, and may meet on one pod.
fn overridden_twice(rules: &[Rule], findings: &mut Vec<Diagnostic>) {
    let mut seen: HashMap<String, Vec<Overriding<'_>>> = HashMap::new();
    for rule in rules {
        for (place, this) in overriding(rule) {
            let earlier = seen.entry(place.clone()).or_default();
            let clash = earlier.iter().rev().take(50).find(|there| {
                there.rule.name != rule.name
                    && may_meet(there.rule, rule)
                    && there.select.zip(this.select).is_none_or(|(one, other)| mean_the_same(one, other))
                    && there.item.overlay.to_json() != this.item.overlay.to_json()
            });
            if let Some(Overriding { rule: other, item, .. }) = clash {
                let message = format!(
                    "rule `{}` overrides {place} as well, at {}:{}; this one acts later and wins",
                    other.name, other.source, item.clause.at
                );
                let help = "let one of them do it, or tell them apart by `match`";
                let at = this.item.clause.at;
                findings.push(rule.text.warning(&diagnostic::OVERRIDDEN_TWICE, at, message).with_help(help));
            }
            earlier.push(this);
        }
    }
}

/// What the rule overrides, each with the words for its place.
fn overriding(rule: &Rule) -> Vec<(String, Overriding<'_>)> {
    // The key that an expression computes is known only when there is an object.
    let overridden =
        rule.parts().filter(|(_, item)| item.policy == Policy::Override && !item.key.contains(COMPUTED));
    let described = overridden.map(|(location, item)| {
        let select = match location.base {
            Base::Containers(_, select) => Some(select),
            Base::Metadata | Base::Spec => None,
        };
        (description(&location, &item.key), Overriding { rule, item, select })
    });
    described.collect()
}

fn description(location: &PartLocation<'_>, key: &str) -> String {
    let path = location.path().collect::<Vec<_>>().join(".");
    match (location.base, location.list) {
        (Base::Containers(..), _) if path.is_empty() => format!("`{key}` of the same container"),
        (Base::Containers(..), _) => format!("`{key}` in {path} of the same container"),
        (_, Some("volumes")) => format!("volume `{key}`"),
        (_, Some(_)) => format!("container `{key}`"),
        (_, None) => format!("`{key}` in the pod's {path}"),
    }
}

/// Whether there is a container that both mean, as far as that can be known without one.
fn mean_the_same(one: &Select, other: &Select) -> bool {
    let left = |names: &[String], by: &Select| names.iter().any(|name| !by.exclude.contains(name));
    match (&one.which, &other.which) {
        (Which::Names(names), Which::All) => left(names, other),
        (Which::All, Which::Names(names)) => left(names, one),
        (Which::All, _) | (_, Which::All) => true,
        (Which::Names(here), Which::Names(there)) | (Which::Images(here), Which::Images(there)) => {
            here.iter().any(|text| there.contains(text))
        }
        (Which::Index(here), Which::Index(there)) => here == there,
        _ => false,
    }
}

/// Whether nothing in `match` keeps the rules apart.
pub(super) fn may_meet(one: &Rule, other: &Rule) -> bool {
    let names = |rule: &Rule| rule.matching.namespaces.iter().cloned().collect::<HashSet<_>>();
    let (here, there) = (names(one), names(other));
    let agree = |one: &[Label], other: &[Label]| {
        one.iter().all(|mine| other.iter().all(|label| mine.key != label.key || mine.value == label.value))
    };
    (here.is_empty() || there.is_empty() || !here.is_disjoint(&there))
        && agree(&one.matching.labels.pairs, &other.matching.labels.pairs)
        && agree(&one.matching.namespace_labels.pairs, &other.matching.namespace_labels.pairs)
        && one.targets.iter().any(|target| other.targets.contains(target))
}
