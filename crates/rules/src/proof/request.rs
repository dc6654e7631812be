//! Makes a request that rules apply to: it has the labels, annotations, namespace, owner, user and fields that they ask for
//! literally.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::corpus::{SAMPLE_PODS, SamplePod};
use crate::expression::{ITEM, Requirement, SharedBudget};
use crate::parameter::{AnnotationSource, Parameter};
use crate::rule::{Resource, Rule};
use crate::subject::NamespaceFacts;
use crate::well_known::RULE_KEY_PREFIX;
use crate::yaml::quote;

/// A request that some rules apply to.
#[derive(Default)]
pub(super) struct SampleRequest {
    pub(super) namespace: String,
    pub(super) facts: NamespaceFacts,
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
    /// The kind of the pod's owner, where a rule asks for one.
    owner: Option<String>,
    user: Option<String>,
    groups: Vec<String>,
    /// Texts below `spec`, by their path from the object.
    texts: BTreeMap<Vec<String>, String>,
}

impl SampleRequest {
    /// Extends the request so that `rule` applies to it as well; false where an earlier rule asks for the opposite. The
    /// first rule decides about the namespace.
    pub(super) fn satisfy(&mut self, rule: &Rule) -> bool {
        let logic = &rule.logic;
        let requirements = logic.when.iter().flat_map(|condition| condition.requirements(&logic.variables));
        let requirements: Vec<Requirement> = requirements.collect();
        let Some(namespace) = self.namespace_for(rule, &requirements) else { return false };
        if !self.namespace.is_empty() && !self.is_compatible(rule, &requirements) {
            return false;
        }
        let owned = |(key, value): (&str, &str)| (key.to_owned(), value.to_owned());
        self.namespace = namespace;
        self.facts.labels.extend(rule.namespace_labels().map(owned));
        self.labels.extend(rule.object_labels().map(owned));
        self.owner = self.owner.take().or_else(|| rule.matching.owner_kinds.first().cloned());
        for labels in [&mut self.labels, &mut self.facts.labels] {
            labels.entry(format!("{RULE_KEY_PREFIX}{}", rule.name())).or_insert_with(|| "true".to_owned());
        }
        for parameter in logic.parameters.iter().filter(|parameter| parameter.default.is_none()) {
            if let (Some(key), Some(value)) = (&parameter.annotation, parameter.example()) {
                self.annotations_of(parameter.from).entry(key.clone()).or_insert(value);
            }
        }
        for compat in &rule.compat {
            if let Some(accepted) = compat.accepted.first() {
                self.annotations.entry(compat.key.clone()).or_insert_with(|| accepted.clone());
            }
        }
        requirements.iter().for_each(|requirement| self.meet(requirement));
        true
    }

    /// `userInfo` as JSON.
    pub(super) fn user(&self) -> String {
        let groups: Vec<String> = self.groups.iter().map(|group| quote(group)).collect();
        let name = self.user.as_deref().unwrap_or("system:serviceaccount:kube-system:replicaset-controller");
        format!(r#"{{"username":{},"groups":[{}]}}"#, quote(name), groups.join(","))
    }

    /// The objects of the request with their names: of pods the whole corpus, of other resources the largest pod as the
    /// template.
    pub(super) fn objects(&self, targets: &[Resource]) -> impl Iterator<Item = (String, (Resource, String))> {
        let largest = SAMPLE_PODS.last();
        targets.iter().flat_map(move |resource| {
            let samples = match resource {
                Resource::Pods => SAMPLE_PODS.iter().collect::<Vec<_>>(),
                _ => largest.into_iter().collect(),
            };
            samples.into_iter().map(move |sample: &SamplePod| {
                let name = match resource {
                    Resource::Pods => sample.name.to_owned(),
                    other => format!("{} in the template of {}", sample.name, other.as_str()),
                };
                let owner = self.owner.as_deref();
                let object = sample.object(*resource, &self.labels, &self.annotations, owner);
                (name, (*resource, self.with_texts(object)))
            })
        })
    }

    /// `object` with the texts that conditions ask for, where its structure has a place for them.
    fn with_texts(&self, object: String) -> String {
        if self.texts.is_empty() {
            return object;
        }
        let Ok(mut json) = serde_json::from_str(&object) else { return object };
        self.texts.iter().for_each(|(path, text)| set_text(&mut json, path, text));
        json.to_string()
    }

    /// Whether `rule` asks for nothing that contradicts the request.
    fn is_compatible(&self, rule: &Rule, requirements: &[Requirement]) -> bool {
        let agrees = |map: &BTreeMap<String, String>, key: &str, value: &str| {
            map.get(key).is_none_or(|there| there == value)
        };
        let owners = &rule.matching.owner_kinds;
        let annotations = |from| match from {
            AnnotationSource::Pod => &self.annotations,
            AnnotationSource::Namespace => &self.facts.annotations,
        };
        rule.namespace_labels().all(|(key, value)| agrees(&self.facts.labels, key, value))
            && rule.object_labels().all(|(key, value)| agrees(&self.labels, key, value))
            && (owners.is_empty() || self.owner.as_ref().is_none_or(|owner| owners.contains(owner)))
            && rule.logic.parameters.iter().all(|parameter| {
                let there =
                    parameter.annotation.as_ref().and_then(|key| annotations(parameter.from).get(key));
                there.is_none_or(|text| parameter.bounds.value(text, &SharedBudget::of_a_request()).is_ok())
            })
            && requirements.iter().all(|requirement| {
                let Some(value) = &requirement.value else { return true };
                match RequestField::of(requirement) {
                    RequestField::Label(key) => agrees(&self.labels, key, value),
                    RequestField::Annotation(key) => agrees(&self.annotations, key, value),
                    RequestField::NamespaceLabel(key) => agrees(&self.facts.labels, key, value),
                    RequestField::NamespaceAnnotation(key) => agrees(&self.facts.annotations, key, value),
                    RequestField::Owner => self.owner.as_ref().is_none_or(|owner| owner == value),
                    RequestField::User => self.user.as_ref().is_none_or(|user| user == value),
                    RequestField::Spec(path) => self.texts.get(path).is_none_or(|there| there == value),
                    RequestField::Namespace | RequestField::Group(_) | RequestField::Other => true,
                }
            })
    }

    /// Sets the field that `requirement` is about, unless an earlier rule has set it.
    fn meet(&mut self, requirement: &Requirement) {
        let value = requirement.value.clone().unwrap_or_else(|| "true".to_owned());
        let map = match RequestField::of(requirement) {
            RequestField::Label(_) => &mut self.labels,
            RequestField::Annotation(_) => &mut self.annotations,
            RequestField::NamespaceLabel(_) => &mut self.facts.labels,
            RequestField::NamespaceAnnotation(_) => &mut self.facts.annotations,
            RequestField::Owner => return self.owner = self.owner.take().or(Some(value)),
            RequestField::User => return self.user = self.user.take().or(Some(value)),
            RequestField::Group(group) => return self.groups.push(group.to_owned()),
            // The type of the field is not known where the condition compares it with no text.
            RequestField::Spec(_) if requirement.value.is_none() => return,
            RequestField::Spec(path) => {
                self.texts.entry(path.to_vec()).or_insert(value);
                return;
            }
            RequestField::Namespace | RequestField::Other => return,
        };
        map.entry(requirement.path.last().cloned().unwrap_or_default()).or_insert(value);
    }

    fn annotations_of(&mut self, from: AnnotationSource) -> &mut BTreeMap<String, String> {
        match from {
            AnnotationSource::Pod => &mut self.annotations,
            AnnotationSource::Namespace => &mut self.facts.annotations,
        }
    }

    fn namespace_for(&self, rule: &Rule, requirements: &[Requirement]) -> Option<String> {
        let matching = &rule.matching;
        let matches = |name: &&str| {
            (matching.namespaces.is_empty() || matching.namespaces.iter().any(|wanted| wanted == name))
                && !matching.excluded.iter().any(|excluded| excluded == name)
        };
        let required = requirements
            .iter()
            .filter(|requirement| matches!(RequestField::of(requirement), RequestField::Namespace));
        let required: Vec<&str> =
            required.filter_map(|requirement| requirement.value.as_deref()).filter(matches).collect();
        if !self.namespace.is_empty() {
            let current = Some(self.namespace.as_str()).filter(matches);
            return current.filter(|name| required.is_empty() || required.contains(name)).map(str::to_owned);
        }
        let named = matching.namespaces.iter().map(String::as_str);
        let candidates = required.iter().copied().chain(named);
        candidates.chain(["team-a", "team-b", "team-c"]).find(matches).map(str::to_owned)
    }
}

/// The field of a request that a requirement is about.
enum RequestField<'r> {
    Label(&'r str),
    Annotation(&'r str),
    NamespaceLabel(&'r str),
    NamespaceAnnotation(&'r str),
    Namespace,
    Owner,
    User,
    Group(&'r str),
    /// A field below `spec`.
    Spec(&'r [String]),
    /// A field that the corpus alone decides about.
    Other,
}

impl<'r> RequestField<'r> {
    fn of(requirement: &'r Requirement) -> Self {
        let path: Vec<&str> = requirement.path.iter().map(String::as_str).collect();
        let below = |from: usize| requirement.path.get(from..).unwrap_or_default();
        match path.as_slice() {
            ["object", "metadata", "labels", key] | ["request", "object", "metadata", "labels", key] => {
                Self::Label(key)
            }
            ["object", "metadata", "annotations", key]
            | ["request", "object", "metadata", "annotations", key] => Self::Annotation(key),
            ["namespaceObject", "metadata", "labels", key] => Self::NamespaceLabel(key),
            ["namespaceObject", "metadata", "annotations", key] => Self::NamespaceAnnotation(key),
            ["namespaceObject", "metadata", "name"] | ["request", "namespace"] => Self::Namespace,
            ["owner", "kind"] => Self::Owner,
            ["request", "userInfo", "username"] => Self::User,
            ["request", "userInfo", "groups", group] => Self::Group(group),
            ["object", "spec", _, ..] => Self::Spec(below(1)),
            ["request", "object", "spec", _, ..] => Self::Spec(below(2)),
            _ => Self::Other,
        }
    }
}

// Recursion is bounded by the depth that an expression may have.
fn set_text(object: &mut Value, path: &[String], text: &str) {
    let Some((step, rest)) = path.split_first() else {
        if object.is_null() || object.is_string() {
            *object = Value::from(text);
        }
        return;
    };
    if object.is_null() {
        *object = if step == ITEM { json!([null]) } else { json!({}) };
    }
    let below = match object {
        Value::Array(items) if step == ITEM => items.first_mut(),
        Value::Object(members) => Some(members.entry(step.clone()).or_insert(Value::Null)),
        _ => None,
    };
    below.into_iter().for_each(|below| set_text(below, rest, text));
}

/// `rule` for all workloads.
pub(super) fn without_rollout(rule: &Rule) -> Rule {
    Rule { rollout: None, ..rule.clone() }
}

/// `rule` without the conditions that do not read the object, and with parameters that take any text; `None` where it has
/// none of either. A condition that reads the object may be the reason why the rule settles, and stays.
pub(super) fn without_conditions(rule: &Rule) -> Option<Rule> {
    let mut logic = (*rule.logic).clone();
    logic.when.retain(|condition| condition.reads.object);
    let mut changed = logic.when.len() < rule.logic.when.len();
    let has_no_value =
        |parameter: &&mut Parameter| parameter.default.is_none() && parameter.example().is_none();
    for parameter in logic.parameters.iter_mut().filter(has_no_value) {
        parameter.bounds.pattern = None;
        parameter.default = parameter.example();
        changed = true;
    }
    changed.then(|| Rule { logic: Arc::new(logic), ..rule.clone() })
}
