//! The checks of `targets` and `match`.

use std::sync::Arc;

use super::{Check, CheckResult, MatchContext, Skip, passed_unless};
use crate::decision::Reason;
use crate::diagnostic::printable_short;
use crate::label_selector::NAMESPACE_NAME;
use crate::rule::Rule;

pub(super) static CHECKS: &[Check] = &[
    Check { name: "targets", at: |_| None, run: targets },
    Check { name: "match.namespaceSelector", at: |rule| Some(rule.matching.namespaces.at), run: namespaces },
    Check { name: "match.objectSelector", at: |rule| Some(rule.matching.objects.at), run: objects },
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

/// Labels that are not known are left to [`namespace_facts`].
fn namespaces(context: &MatchContext<'_>, rule: &Rule, _: &mut Vec<String>) -> CheckResult {
    let selector = &rule.matching.namespaces;
    let is_known = |key: &str| key == NAMESPACE_NAME || context.subject.facts.is_some();
    let unmet = selector.requirements.iter().find(|requirement| {
        is_known(&requirement.key) && !requirement.is_met_by(context.namespace_label(&requirement.key))
    });
    let skip = unmet.map(|requirement| {
        let namespace = context.subject.namespace;
        let sentence = if requirement.key == NAMESPACE_NAME {
            let sentence = || format!("the rule is not for namespace {namespace}").into();
            Arc::clone(context.cache.other_namespace.get_or_init(sentence))
        } else {
            requirement.unmet_by(&format!("namespace {namespace}")).into()
        };
        Skip::new(Reason::NamespaceNotMatched, Some(requirement.at), sentence)
    });
    if skip.is_none() && !selector.requirements.iter().all(|requirement| is_known(&requirement.key)) {
        return CheckResult::NotApplicable(|_, _| "the labels of the namespace are not known".to_owned());
    }
    passed_unless(skip, |context, rule| match &rule.matching.namespaces {
        selector if selector.requirements.is_empty() => "the rule is for any namespace".to_owned(),
        selector => format!("namespace {} meets `{selector}`", context.subject.namespace),
    })
}

fn objects(context: &MatchContext<'_>, rule: &Rule, _: &mut Vec<String>) -> CheckResult {
    let selector = &rule.matching.objects;
    if selector.requirements.is_empty() {
        return CheckResult::NotApplicable(|_, _| "the rule asks for no labels of the object".to_owned());
    }
    let labels = context.received.metadata(rule.metadata_of);
    let skip = selector.unmet(|key| labels.label(key)).map(|requirement| {
        let sentence = match context.received.described(rule.metadata_of) {
            "the object" => Arc::clone(&requirement.unmet),
            other => requirement.unmet_by(other).into(),
        };
        Skip::new(Reason::LabelsNotMatched, Some(requirement.at), sentence)
    });
    passed_unless(skip, |context, rule| {
        format!("{} meets `{}`", context.received.described(rule.metadata_of), rule.matching.objects)
    })
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
        let kind = workload.map_or(NO_OWNER.into(), |workload| printable_short(&workload.kind));
        let sentence = format!("the rule is for owners of kind {}, not {kind}", wanted.join(", "));
        Skip::new(Reason::OwnerKindNotMatched, Some(rule.matching.owner_kinds_at), sentence)
    });
    passed_unless(skip, |context, _| match context.received.workload() {
        Some(workload) => format!("the owner is of kind {}", printable_short(&workload.kind)),
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

impl<'i> MatchContext<'i> {
    /// The label `key` of the namespace, whose name is always known.
    pub(super) fn namespace_label(&self, key: &str) -> Option<&'i str> {
        if key == NAMESPACE_NAME {
            return Some(self.subject.namespace);
        }
        self.subject.facts?.labels.get(key).map(String::as_str)
    }
}
