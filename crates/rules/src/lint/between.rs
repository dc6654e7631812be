//! Rules beside each other, and rules for everybody or nobody.

use std::collections::{HashMap, HashSet};

use crate::RuleSet;
use crate::diagnostic::{self, Diagnostic};
use crate::rule::{Item, Label, Policy, Rule, Which};
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

/// Two rules that override one key with different values, and may meet on one pod.
fn overridden_twice(rules: &[Rule], findings: &mut Vec<Diagnostic>) {
    let mut seen: HashMap<String, Vec<(&Rule, &Item)>> = HashMap::new();
    for rule in rules {
        for (place, item) in overriding(rule) {
            let earlier = seen.entry(place.clone()).or_default();
            let clash = earlier.iter().rev().take(50).find(|(other, there)| {
                other.name != rule.name
                    && may_meet(other, rule)
                    && there.overlay.to_json() != item.overlay.to_json()
            });
            if let Some((other, there)) = clash {
                let message = format!(
                    "rule `{}` overrides {place} as well, at {}:{}; this one acts later and wins",
                    other.name, other.source, there.clause.at
                );
                let help = "let one of them do it, or tell them apart by `match`";
                findings.push(
                    rule.text.warning(&diagnostic::OVERRIDDEN_TWICE, item.clause.at, message).with_help(help),
                );
            }
            earlier.push((rule, item));
        }
    }
}

/// What the rule overrides, each with the words for its place.
fn overriding(rule: &Rule) -> Vec<(String, &Item)> {
    let metadata = rule
        .metadata
        .iter()
        .chain(&rule.spec)
        .map(|part| (format!("`{}` in the pod's {}", part.item.key, part.path.join(".")), &part.item));
    let lists =
        rule.blocks.iter().filter(|block| matches!(block.select.which, Which::All)).flat_map(|block| {
            block.lists.iter().flat_map(|list| {
                list.items
                    .iter()
                    .map(|item| (format!("`{}` in {} of every container", item.key, list.member), item))
            })
        });
    let all = metadata.chain(lists);
    all.filter(|(_, item)| item.policy == Policy::Override).collect()
}

/// Whether nothing in `match` keeps the rules apart.
fn may_meet(one: &Rule, other: &Rule) -> bool {
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
