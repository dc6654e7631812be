//! Whether a rule is for an object: exclusions, `match`, the opt table, the pod's environment. All of it reads the
//! object as received, so that what earlier rules write changes nobody's mind.

mod opt;

use std::collections::HashSet;

use crate::decision::Reason;
use crate::diagnostic::{Position, shown};
use crate::rule::{Labels, Resource, Rule};
use crate::subject::{Received, Subject};

const SYSTEM_NAMESPACES: &[&str] = &["kube-node-lease", "kube-public", "kube-system"];
pub(crate) const MIRROR_ANNOTATION: &str = "kubernetes.io/config.mirror";

/// The label by which the injector's own pods are left alone.
pub const OWN_POD_LABEL: &str = "vestibule.dev/injector";

/// Why a rule is out.
pub(crate) struct Out {
    pub(crate) reason: Reason,
    pub(crate) sentence: String,
    /// Where the rule says so; its name where no part of it does.
    pub(crate) at: Option<Position>,
    /// Whether somebody wanted the rule and did not get it: that a required rule does not forgive.
    pub(crate) failure: bool,
}

impl Out {
    fn new(reason: Reason, at: Option<Position>, sentence: impl Into<String>) -> Self {
        Self { reason, sentence: sentence.into(), at, failure: false }
    }

    fn failure(reason: Reason, at: Position, sentence: impl Into<String>) -> Self {
        Self { failure: true, ..Self::new(reason, Some(at), sentence) }
    }
}

/// What is true for every rule.
pub(crate) fn exclusion(
    subject: &Subject<'_>,
    received: &Received<'_>,
    own_namespace: Option<&str>,
) -> Option<Out> {
    let out = |reason, sentence: String| Some(Out::new(reason, None, sentence));
    let Subject { namespace, resource, subresource, .. } = *subject;
    if SYSTEM_NAMESPACES.contains(&namespace) {
        return out(Reason::ExcludedSystemNamespace, format!("{namespace} belongs to the cluster itself"));
    }
    if own_namespace == Some(namespace) {
        return out(Reason::ExcludedOwnNamespace, format!("{namespace} is the injector's own namespace"));
    }
    if !subresource.is_empty() {
        return out(
            Reason::ExcludedSubresource,
            format!("rules leave the subresource {} alone", shown(subresource)),
        );
    }
    if !resource.verbs().contains(&subject.verb) {
        let sentence = format!("rules do not change {} under this operation", resource.as_str());
        return out(Reason::ExcludedOperation, sentence);
    }
    if received.annotation(MIRROR_ANNOTATION).is_some() {
        return out(Reason::ExcludedMirrorPod, "a static pod belongs to its kubelet".to_owned());
    }
    if received.label(OWN_POD_LABEL).as_deref() == Some("true") {
        return out(Reason::ExcludedOwnPod, "the injector does not wait for itself".to_owned());
    }
    let metadata = received.object.get("metadata");
    if metadata.and_then(|metadata| metadata.get("deletionTimestamp")).is_some_and(|time| !time.is_null()) {
        return out(Reason::ExcludedDeletion, "the object is being deleted".to_owned());
    }
    if resource == Resource::ReplicaSets && received.is_controlled() {
        // Its Deployment knows it by the template: one that differs is not its own, and it makes another one, for ever.
        let sentence = "its template has to stay that of its controller".to_owned();
        return out(Reason::ExcludedControlled, sentence);
    }
    None
}

/// Whether `rule` is out. Adds to `warnings` what the user should know either way.
pub(crate) fn out(
    rule: &Rule,
    subject: &Subject<'_>,
    received: &Received<'_>,
    names: &HashSet<&str>,
    warnings: &mut Vec<String>,
) -> Option<Out> {
    if !rule.targets.contains(&subject.resource) {
        let sentence = format!("the rule is not for {}", subject.resource.as_str());
        return Some(Out::new(Reason::OtherResource, None, sentence));
    }
    not_matched(rule, subject, received)
        .or_else(|| opt::out(rule, subject, received, names, warnings))
        .or_else(|| environment(rule, received))
}

fn not_matched(rule: &Rule, subject: &Subject<'_>, received: &Received<'_>) -> Option<Out> {
    let matching = &rule.matching;
    let namespace = subject.namespace;
    let named = matching.namespaces.is_empty() || matching.namespaces.iter().any(|name| name == namespace);
    if !named || matching.excluded.iter().any(|name| name == namespace) {
        let sentence = format!("the rule is not for namespace {namespace}");
        return Some(Out::new(Reason::NamespaceNotMatched, Some(matching.at), sentence));
    }
    if let Some(facts) = subject.facts
        && let Some(label) = missing(&matching.namespace_labels, |key| facts.labels.get(key).cloned())
    {
        let sentence = format!("namespace {namespace} has no label {label}");
        return Some(Out::new(Reason::NamespaceNotMatched, Some(matching.namespace_labels.at), sentence));
    }
    if let Some(label) = missing(&matching.labels, |key| received.label(key)) {
        let sentence = format!("the object has no label {label}");
        return Some(Out::new(Reason::LabelsNotMatched, Some(matching.labels.at), sentence));
    }
    (rule.needs_namespace_facts() && subject.facts.is_none()).then(|| {
        let sentence = format!("nothing is known about the labels of namespace {namespace}");
        Out::failure(Reason::NamespaceUnknown, matching.at, sentence)
    })
}

/// The first label that is not as wanted.
fn missing(wanted: &Labels, found: impl Fn(&str) -> Option<String>) -> Option<String> {
    let missing = wanted.pairs.iter().find(|(key, value)| found(key).as_ref() != Some(value));
    missing.map(|(key, value)| format!("{key}={value}"))
}

fn environment(rule: &Rule, received: &Received<'_>) -> Option<Out> {
    let matching = &rule.matching;
    if let (Some(wanted), Some(found)) = (matching.os, received.os())
        && wanted != found
    {
        let sentence = format!("the pod is for {}, the rule for {wanted}", shown(&found));
        return Some(Out::new(Reason::OsMismatch, Some(matching.os_at), sentence));
    }
    if let Some(at) = matching.skip_host_network
        && received.host_network()
    {
        return Some(Out::new(Reason::HostNetwork, Some(at), "the pod uses the network of its node"));
    }
    let regular = rule.injected.iter().find(|injected| injected.regular)?;
    received.is_job().then(|| {
        let sentence = format!("`{}` in `mode: regular` would keep the Job from ending", regular.item.key);
        Out::failure(Reason::JobWithoutNativeSidecar, regular.item.clause.at, sentence)
    })
}
