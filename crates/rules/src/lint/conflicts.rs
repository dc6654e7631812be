//! Rules that override each other, rules that match no namespace, and required rules that match too many.

use std::collections::HashMap;

use crate::diagnostic::{self, Diagnostic, MATCHES_NO_NAMESPACE, OVERRIDDEN_TWICE, REQUIRED_BROADLY};
use crate::evaluate::RuleSet;
use crate::key::{self, COMPUTED};
use crate::label_selector::{LabelRequirement, LabelSelector, NAMESPACE_NAME};
use crate::label_values::LabelValues;
use crate::rule::{Base, Item, OnConflict, PartDestination, Rule, Select, SelectBy};
use crate::select::SYSTEM_NAMESPACES;

pub(super) fn lint(rules: &RuleSet, findings: &mut Vec<Diagnostic>) {
    for rule in rules.rules() {
        findings.extend(matches_no_namespace(rule));
        if !rules.settings().required_everywhere {
            findings.extend(required_everywhere(rule));
        }
    }
    overridden_twice(rules.rules(), findings);
}

fn matches_no_namespace(rule: &Rule) -> Option<Diagnostic> {
    let selector = &rule.matching.namespaces;
    let labels = selector.by_label();
    let of_cluster = SYSTEM_NAMESPACES.iter().map(|&name| name.to_owned());
    let others = LabelValues::all_but(of_cluster);
    if !labels.get(NAMESPACE_NAME).is_some_and(|names| names.and(&others).is_empty())
        && !labels.values().any(LabelValues::is_empty)
    {
        return None;
    }
    let message = format!("rule `{}` matches no namespace", rule.name);
    let help = "the requirements contradict each other, or name only namespaces of the cluster itself";
    Some(rule.text.finding(&MATCHES_NO_NAMESPACE, selector.at, message).with_help(help))
}

fn required_everywhere(rule: &Rule) -> Option<Diagnostic> {
    if !rule.required || rule.matching.namespaces.asks_for_labels() {
        return None;
    }
    let message = format!("rule `{}` is required and names no namespaces", rule.name);
    let help = "while the injector is down, no pod that it may match starts in any namespace: restrict it by `match.namespaceSelector`";
    Some(rule.text.finding(&REQUIRED_BROADLY, rule.at, message).with_help(help))
}

/// A part with `onConflict: override`.
struct Override<'r> {
    rule: &'r Rule,
    item: &'r Item,
    /// The selection of existing containers, for a part of a block.
    select: Option<&'r Select>,
}

/// Reports two rules that override one key with different values and may apply to one pod.
fn overridden_twice(rules: &[Rule], findings: &mut Vec<Diagnostic>) {
    let mut seen: HashMap<(String, &str), Vec<Override<'_>>> = HashMap::new();
    for rule in rules {
        for (location, this) in overrides(rule) {
            let earlier = seen.entry((location.clone(), &this.item.key)).or_default();
            let clash = earlier.iter().rev().take(50).find(|there| {
                there.rule.name != rule.name
                    && may_apply_to_one_object(there.rule, rule)
                    && there
                        .select
                        .zip(this.select)
                        .is_none_or(|(one, other)| may_select_one_container(one, other))
                    && there.item.overlay.to_json() != this.item.overlay.to_json()
            });
            if let Some(Override { rule: other, item, .. }) = clash {
                let message = format!(
                    "rule `{}` overrides {location} as well, at {}; this one acts later and wins",
                    other.name,
                    diagnostic::position_in(&other.source, item.clause.at)
                );
                let help = "let only one of them override it, or separate them by `match`";
                let at = this.item.clause.at;
                findings.push(rule.text.finding(&OVERRIDDEN_TWICE, at, message).with_help(help));
            }
            earlier.push(this);
        }
    }
}

/// The parts that the rule overrides, each with the words for its location.
fn overrides(rule: &Rule) -> Vec<(String, Override<'_>)> {
    // The key that an expression computes is known only when there is an object.
    let overridden = rule
        .parts()
        .filter(|(_, item)| item.on_conflict == OnConflict::Override && !item.key.contains(COMPUTED));
    let described = overridden.map(|(destination, item)| {
        let select = match destination.base {
            Base::Containers(_, select) => Some(select),
            Base::Metadata | Base::Spec => None,
        };
        (
            description(&destination, key::in_messages(destination.name(), item)),
            Override { rule, item, select },
        )
    });
    described.collect()
}

fn description(destination: &PartDestination<'_>, key: &str) -> String {
    let path = destination.path().collect::<Vec<_>>().join(".");
    match (destination.base, destination.list) {
        (Base::Containers(..), _) if path.is_empty() => format!("`{key}` of the same container"),
        (Base::Containers(..), _) => format!("`{key}` in {path} of the same container"),
        (_, Some("volumes")) => format!("volume `{key}`"),
        (_, Some(_)) => format!("container `{key}`"),
        (_, None) => format!("`{key}` in the pod's {path}"),
    }
}

/// Whether both may select one container, as far as that is known without a pod.
fn may_select_one_container(one: &Select, other: &Select) -> bool {
    let left = |names: &[String], by: &Select| names.iter().any(|name| !by.exclude.contains(name));
    match (&one.which, &other.which) {
        (SelectBy::Names(names), SelectBy::All) => left(names, other),
        (SelectBy::All, SelectBy::Names(names)) => left(names, one),
        (SelectBy::All, _) | (_, SelectBy::All) => true,
        (SelectBy::Names(here), SelectBy::Names(there))
        | (SelectBy::Images(here), SelectBy::Images(there)) => here.iter().any(|text| there.contains(text)),
        (SelectBy::Index(here), SelectBy::Index(there)) => here == there,
        _ => false,
    }
}

/// Whether `match` and `targets` of both rules allow a common object.
pub(super) fn may_apply_to_one_object(one: &Rule, other: &Rule) -> bool {
    let agree = |one: &LabelSelector, other: &LabelSelector| {
        let (one, other) = (one.requirements(), other.requirements());
        let contradict = |mine: &LabelRequirement, yours: &LabelRequirement| {
            mine.key() == yours.key() && mine.values().and(&yours.values()).is_empty()
        };
        !one.iter().any(|mine| other.iter().any(|yours| contradict(mine, yours)))
    };
    agree(&one.matching.objects, &other.matching.objects)
        && agree(&one.matching.namespaces, &other.matching.namespaces)
        && one.targets.iter().any(|target| other.targets.contains(target))
}
