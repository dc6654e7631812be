//! `targets` and `match`.

use std::sync::Arc;

use super::{Answer, Inquiry, Out, Question, passed_or};
use crate::decision::Reason;
use crate::diagnostic::shown;
use crate::rule::{Label, Labels, Rule};

pub(super) static QUESTIONS: &[Question] = &[
    Question { name: "targets", at: |_| None, ask: targets },
    Question { name: "match.namespaces", at: |rule| Some(rule.matching.at), ask: namespaces },
    Question {
        name: "match.namespaces.matchLabels",
        at: |rule| Some(rule.matching.namespace_labels.at),
        ask: namespace_labels,
    },
    Question { name: "match.objects.labels", at: |rule| Some(rule.matching.labels.at), ask: object_labels },
    Question { name: "match.ownerKinds", at: |rule| Some(rule.matching.owner_kinds_at), ask: owner_kinds },
    Question { name: "namespace", at: |_| None, ask: namespace_facts },
];

fn targets(inquiry: &Inquiry<'_>, rule: &Rule, _: &mut Vec<String>) -> Answer {
    let resource = inquiry.subject.resource;
    let out = (!rule.targets.contains(&resource)).then(|| {
        let sentence = || format!("the rule is not for {}", resource.as_str()).into();
        let sentence = inquiry.known.other_resource.get_or_init(sentence);
        Out::new(Reason::OtherResource, None, Arc::clone(sentence))
    });
    passed_or(out, |inquiry, _| format!("the rule is for {}", inquiry.subject.resource.as_str()))
}

fn namespaces(inquiry: &Inquiry<'_>, rule: &Rule, _: &mut Vec<String>) -> Answer {
    let matching = &rule.matching;
    let namespace = inquiry.subject.namespace;
    let named = matching.namespaces.is_empty() || matching.namespaces.iter().any(|name| name == namespace);
    let out = (!named || matching.excluded.iter().any(|name| name == namespace)).then(|| {
        let sentence = || format!("the rule is not for namespace {namespace}").into();
        let sentence = inquiry.known.other_namespace.get_or_init(sentence);
        Out::new(Reason::NamespaceNotMatched, Some(matching.at), Arc::clone(sentence))
    });
    passed_or(out, |inquiry, rule| match rule.matching.namespaces.is_empty() {
        true => "the rule names no namespaces".to_owned(),
        false => format!("the rule is for namespace {}", inquiry.subject.namespace),
    })
}

fn namespace_labels(inquiry: &Inquiry<'_>, rule: &Rule, _: &mut Vec<String>) -> Answer {
    let wanted = &rule.matching.namespace_labels;
    let Some(facts) = inquiry.subject.facts.filter(|_| !wanted.pairs.is_empty()) else {
        return Answer::NotAsked(|_, rule| match rule.matching.namespace_labels.pairs.is_empty() {
            true => "the rule asks for no labels of the namespace".to_owned(),
            false => "nobody knows them".to_owned(),
        });
    };
    let missing = missing(wanted, |key| facts.labels.get(key).map(String::as_str));
    let out = missing.map(|label| {
        let Label { key, value, .. } = label;
        let sentence = format!("namespace {} has no label {key}={value}", inquiry.subject.namespace);
        Out::new(Reason::NamespaceNotMatched, Some(wanted.at), sentence)
    });
    passed_or(out, |_, rule| format!("the namespace has {}", listed(&rule.matching.namespace_labels)))
}

fn object_labels(inquiry: &Inquiry<'_>, rule: &Rule, _: &mut Vec<String>) -> Answer {
    let wanted = &rule.matching.labels;
    if wanted.pairs.is_empty() {
        return Answer::NotAsked(|_, _| "the rule asks for no labels of the object".to_owned());
    }
    let missing = missing(wanted, |key| inquiry.received.label(key));
    let out =
        missing.map(|label| Out::new(Reason::LabelsNotMatched, Some(wanted.at), Arc::clone(&label.missing)));
    passed_or(out, |_, rule| format!("the object has {}", listed(&rule.matching.labels)))
}

/// `Deployment` stands for its ReplicaSets too, `none` for objects that nobody controls.
fn owner_kinds(inquiry: &Inquiry<'_>, rule: &Rule, _: &mut Vec<String>) -> Answer {
    let wanted = &rule.matching.owner_kinds;
    if wanted.is_empty() {
        return Answer::NotAsked(|_, _| "the rule is for any owner".to_owned());
    }
    let (workload, owner) = (inquiry.received.workload(), inquiry.received.owner());
    let found = |kind: &String| match workload {
        Some(workload) => *kind == workload.kind || owner.is_some_and(|owner| owner.kind == *kind),
        None => kind == NO_OWNER,
    };
    let out = (!wanted.iter().any(found)).then(|| {
        let kind = workload.map_or(NO_OWNER.into(), |workload| shown(&workload.kind));
        let sentence = format!("the rule is for owners of kind {}, not {kind}", wanted.join(", "));
        Out::new(Reason::OwnerKindNotMatched, Some(rule.matching.owner_kinds_at), sentence)
    });
    passed_or(out, |inquiry, _| match inquiry.received.workload() {
        Some(workload) => format!("the owner is of kind {}", shown(&workload.kind)),
        None => "nobody controls it".to_owned(),
    })
}

/// The word of `ownerKinds` for objects that nobody controls: no kind is written in lower case.
pub(crate) const NO_OWNER: &str = "none";

fn namespace_facts(inquiry: &Inquiry<'_>, rule: &Rule, _: &mut Vec<String>) -> Answer {
    if !rule.needs_namespace_facts() {
        return Answer::NotAsked(|_, _| "the rule asks for nothing about the namespace".to_owned());
    }
    let out = inquiry.subject.facts.is_none().then(|| {
        let namespace = inquiry.subject.namespace;
        let sentence = format!("nothing is known about the labels of namespace {namespace}");
        Out::failure(Reason::NamespaceUnknown, rule.matching.at, sentence)
    });
    passed_or(out, |_, _| "its labels and annotations are known".to_owned())
}

/// The first label that is not as wanted.
fn missing<'l, 'f>(wanted: &'l Labels, found: impl Fn(&str) -> Option<&'f str>) -> Option<&'l Label> {
    wanted.pairs.iter().find(|label| found(&label.key) != Some(&label.value))
}

fn listed(labels: &Labels) -> String {
    labels.pairs().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(", ")
}
