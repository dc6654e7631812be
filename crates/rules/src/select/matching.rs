//! The checks of `targets` and `match`.

use std::sync::Arc;

use super::{Check, CheckResult, MatchContext, Skip, passed_unless};
use crate::decision::Reason;
use crate::diagnostic::shown;
use crate::rule::{Label, Labels, Rule};

pub(super) static CHECKS: &[Check] = &[
    Check { name: "targets", at: |_| None, run: targets },
    Check { name: "match.namespaces", at: |rule| Some(rule.matching.at), run: namespaces },
    Check {
        name: "match.namespaces.matchLabels",
        at: |rule| Some(rule.matching.namespace_labels.at),
        run: namespace_labels,
    },
    Check { name: "match.objects.labels", at: |rule| Some(rule.matching.labels.at), run: object_labels },
    Check { name: "match.ownerKinds", at: |rule| Some(rule.matching.owner_kinds_at), run: owner_kinds },
    Check { name: "namespace", at: |_| None, run: namespace_facts },
];

fn targets(context: &MatchContext<'_>, rule: &Rule, _: &mut Vec<String>) -> CheckResult {
    let resource = context.subject.resource;
    let skip = (!rule.targets.contains(&resource)).then(|| {
        let sentence = || format!("the rule is not for {}", resource.as_str()).into();
        let sentence = context.cache.other_resource.get_or_init(sentence);
        Skip::new(Reason::OtherResource, None, Arc::clone(sentence))
    });
    passed_unless(skip, |context, _| format!("the rule is for {}", context.subject.resource.as_str()))
}

fn namespaces(context: &MatchContext<'_>, rule: &Rule, _: &mut Vec<String>) -> CheckResult {
    let matching = &rule.matching;
    let namespace = context.subject.namespace;
    let named = matching.namespaces.is_empty() || matching.namespaces.iter().any(|name| name == namespace);
    let skip = (!named || matching.excluded.iter().any(|name| name == namespace)).then(|| {
        let sentence = || format!("the rule is not for namespace {namespace}").into();
        let sentence = context.cache.other_namespace.get_or_init(sentence);
        Skip::new(Reason::NamespaceNotMatched, Some(matching.at), Arc::clone(sentence))
    });
    passed_unless(skip, |context, rule| match rule.matching.namespaces.is_empty() {
        true => "the rule names no namespaces".to_owned(),
        false => format!("the rule is for namespace {}", context.subject.namespace),
    })
}

fn namespace_labels(context: &MatchContext<'_>, rule: &Rule, _: &mut Vec<String>) -> CheckResult {
    let wanted = &rule.matching.namespace_labels;
    let Some(facts) = context.subject.facts.filter(|_| !wanted.pairs.is_empty()) else {
        return CheckResult::NotApplicable(|_, rule| match rule.matching.namespace_labels.pairs.is_empty() {
            true => "the rule asks for no labels of the namespace".to_owned(),
            false => "the labels of the namespace are not known".to_owned(),
        });
    };
    let missing = missing(wanted, |key| facts.labels.get(key).map(String::as_str));
    let skip = missing.map(|label| {
        let Label { key, value, .. } = label;
        let sentence = format!("namespace {} has no label {key}={value}", context.subject.namespace);
        Skip::new(Reason::NamespaceNotMatched, Some(wanted.at), sentence)
    });
    passed_unless(skip, |_, rule| format!("the namespace has {}", listed(&rule.matching.namespace_labels)))
}

fn object_labels(context: &MatchContext<'_>, rule: &Rule, _: &mut Vec<String>) -> CheckResult {
    let wanted = &rule.matching.labels;
    if wanted.pairs.is_empty() {
        return CheckResult::NotApplicable(|_, _| "the rule asks for no labels of the object".to_owned());
    }
    let missing = missing(wanted, |key| context.received.label(key));
    let skip =
        missing.map(|label| Skip::new(Reason::LabelsNotMatched, Some(wanted.at), Arc::clone(&label.missing)));
    passed_unless(skip, |_, rule| format!("the object has {}", listed(&rule.matching.labels)))
}

/// `Deployment` stands for its ReplicaSets too, `none` for objects without a controller.
fn owner_kinds(context: &MatchContext<'_>, rule: &Rule, _: &mut Vec<String>) -> CheckResult {
    let wanted = &rule.matching.owner_kinds;
    if wanted.is_empty() {
        return CheckResult::NotApplicable(|_, _| "the rule is for any owner".to_owned());
    }
    let (workload, owner) = (context.received.workload(), context.received.owner());
    let found = |kind: &String| match workload {
        Some(workload) => *kind == workload.kind || owner.is_some_and(|owner| owner.kind == *kind),
        None => kind == NO_OWNER,
    };
    let skip = (!wanted.iter().any(found)).then(|| {
        let kind = workload.map_or(NO_OWNER.into(), |workload| shown(&workload.kind));
        let sentence = format!("the rule is for owners of kind {}, not {kind}", wanted.join(", "));
        Skip::new(Reason::OwnerKindNotMatched, Some(rule.matching.owner_kinds_at), sentence)
    });
    passed_unless(skip, |context, _| match context.received.workload() {
        Some(workload) => format!("the owner is of kind {}", shown(&workload.kind)),
        None => "the object has no controller".to_owned(),
    })
}

/// The word of `ownerKinds` for objects without a controller. It cannot be a kind, because kinds begin with a capital.
pub(crate) const NO_OWNER: &str = "none";

fn namespace_facts(context: &MatchContext<'_>, rule: &Rule, _: &mut Vec<String>) -> CheckResult {
    if !rule.needs_namespace_facts() {
        return CheckResult::NotApplicable(|_, _| "the rule asks for nothing about the namespace".to_owned());
    }
    let skip = context.subject.facts.is_none().then(|| {
        let namespace = context.subject.namespace;
        let sentence = format!("the labels of namespace {namespace} are not known");
        Skip::failure(Reason::NamespaceUnknown, rule.matching.at, sentence)
    });
    passed_unless(skip, |_, _| "its labels and annotations are known".to_owned())
}

/// The first of the `wanted` labels that is absent or has another value.
fn missing<'l, 'f>(wanted: &'l Labels, found: impl Fn(&str) -> Option<&'f str>) -> Option<&'l Label> {
    wanted.pairs.iter().find(|label| found(&label.key) != Some(&label.value))
}

fn listed(labels: &Labels) -> String {
    labels.pairs().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(", ")
}
