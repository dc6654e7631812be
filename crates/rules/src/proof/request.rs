//! Makes a request that rules apply to: it has the labels, annotations, namespace, owner, user and fields that they ask for
//! literally.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::corpus::{SAMPLE_PODS, SamplePod};
use crate::expression::{ITEM, Requirement, SharedBudget};
use crate::label_selector::NAMESPACE_NAME;
use crate::label_values::LabelValues;
use crate::parameter::{AnnotationSource, Parameter};
use crate::rule::{Resource, Rule};
use crate::subject::{Layout, NamespaceFacts};
use crate::well_known::RULE_KEY_PREFIX;
use crate::yaml::quote;

const LABELS: &[&str] = &["object", "metadata", "labels"];
const ANNOTATIONS: &[&str] = &["object", "metadata", "annotations"];
const NAMESPACE_LABELS: &[&str] = &["namespaceObject", "metadata", "labels"];
const NAMESPACE_ANNOTATIONS: &[&str] = &["namespaceObject", "metadata", "annotations"];
const SPEC: &[&str] = &["object", "spec"];
const OWNER_KIND: &[&str] = &["owner", "kind"];
const USER: &[&str] = &["request", "userInfo", "username"];
/// The ends of the annotations for a parameter with a prefix.
const NAMES: [&str; 3] = ["a", "b", "c"];
const GROUPS: &[&str] = &["request", "userInfo", "groups"];

/// A request that some rules apply to.
#[derive(Default)]
pub(super) struct SampleRequest {
    pub(super) namespace: String,
    /// The texts that rules ask for, by the paths by which expressions read them: `object`, `metadata`, `labels`, `app`.
    texts: BTreeMap<Vec<String>, String>,
    /// The paths of annotations for parameters with a prefix. Some objects have all of them, some a few, some none.
    repeated: Vec<Vec<String>>,
}

impl SampleRequest {
    /// Extends the request so that `rule` applies to it as well; false where an earlier rule asks for the opposite. The
    /// first rule decides about the namespace.
    pub(super) fn satisfy(&mut self, rule: &Rule) -> bool {
        let logic = &rule.logic;
        let conditions = logic.conditions.iter().map(|condition| &condition.expression);
        let requirements = conditions.flat_map(|condition| condition.requirements(&logic.variables));
        let requirements: Vec<Requirement> = requirements.collect();
        let Some(namespace) = self.namespace_for(rule, &requirements) else { return false };
        if !self.namespace.is_empty() && !self.is_compatible(rule, &requirements) {
            return false;
        }
        self.namespace = namespace;
        for (path, values) in labels(rule) {
            if let Some(value) = sample(&values) {
                self.add(path, &value);
            }
        }
        if let Some(kind) = rule.matching.owner_kinds.first() {
            self.add(OWNER_KIND.iter().map(|&step| step.to_owned()).collect(), kind);
        }
        for labels in [LABELS, NAMESPACE_LABELS] {
            self.add(path(labels, &format!("{RULE_KEY_PREFIX}{}", rule.name())), "true");
        }
        for parameter in logic.parameters.iter().filter(|parameter| parameter.default.is_none()) {
            for path in annotations(parameter) {
                let Some(value) = parameter.example() else { continue };
                if parameter.prefix.is_some() {
                    self.repeated.push(path.clone());
                }
                self.add(path, &value);
            }
        }
        for compat in &rule.compat {
            if let Some(accepted) = compat.accepted.first() {
                self.add(path(ANNOTATIONS, &compat.key), accepted);
            }
        }
        for requirement in &requirements {
            match (settable(requirement), &requirement.value) {
                (Some(path), Some(value)) => self.add(path.to_vec(), value),
                // The type of a field below `spec` is not known where the condition compares it with no text.
                (Some(path), None) if !is_below(path, SPEC) => self.add(path.to_vec(), "true"),
                _ => {}
            }
        }
        true
    }

    /// The labels and annotations of the namespace.
    pub(super) fn facts(&self) -> NamespaceFacts {
        let owned = |start| self.map(start).map(|(key, text)| (key.to_owned(), text.to_owned())).collect();
        NamespaceFacts { labels: owned(NAMESPACE_LABELS), annotations: owned(NAMESPACE_ANNOTATIONS) }
    }

    /// `userInfo` as JSON.
    pub(super) fn user(&self) -> String {
        let groups: Vec<String> = self.map(GROUPS).map(|(group, _)| quote(group)).collect();
        let name = self.text(USER).unwrap_or("system:serviceaccount:kube-system:replicaset-controller");
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
            let last = samples.len().saturating_sub(1);
            samples.into_iter().enumerate().map(move |(index, sample)| {
                let name = match resource {
                    Resource::Pods => sample.name.clone(),
                    other => format!("{} in the template of {}", sample.name, other.as_str()),
                };
                // The last sample has all annotations of parameters with a prefix, the one before it one, the third last none.
                let repeated = [NAMES.len(), 1, 0].get((last - index) % 3).copied().unwrap_or_default();
                (name, (*resource, self.object(sample, *resource, repeated).to_string()))
            })
        })
    }

    /// The `sample`, or a `resource` with it as its template, with the texts of the request that it has a place for.
    fn object(&self, sample: &SamplePod, resource: Resource, repeated: usize) -> Value {
        let mut object = sample.pod.clone();
        self.set_texts(&["object", "metadata"], repeated, &mut object);
        let kind = self.text(OWNER_KIND).unwrap_or(&sample.owner);
        // A rule may ask for a text that is no kind. Kinds begin with a capital letter.
        if kind.starts_with(char::is_uppercase) {
            let owner = json!({"kind": kind, "name": "web-7d4b9c6f5d", "uid": "1", "controller": true});
            set(&mut object, &["metadata", "ownerReferences"], json!([owner]));
        }
        let template: Vec<&str> = Layout::of(resource).pod.as_str().split('/').skip(1).collect();
        if !template.is_empty() {
            let texts = |name: &str| object.get("metadata").and_then(|metadata| metadata.get(name));
            let [labels, annotations] = ["labels", "annotations"].map(texts);
            let workload = json!({"metadata": {"name": "web", "labels": labels, "annotations": annotations}});
            let pod = std::mem::replace(&mut object, workload);
            set(&mut object, &template, pod);
        }
        self.set_texts(SPEC, repeated, &mut object);
        object
    }

    /// Sets the texts below `start`, which begins with `object`. Of the annotations for a parameter with a prefix, the first
    /// `repeated` are set.
    fn set_texts(&self, start: &[&str], repeated: usize, object: &mut Value) {
        let names = NAMES.iter().skip(repeated);
        let is_left_out = |path: &Vec<String>| {
            self.repeated.contains(path)
                && names.clone().any(|name| path.iter().last().is_some_and(|key| key.ends_with(name)))
        };
        let texts = self.texts.iter().filter(|(path, _)| is_below(path, start) && !is_left_out(path));
        for (path, text) in texts {
            let path: Vec<&str> = path.iter().skip(1).map(String::as_str).collect();
            set(object, &path, Value::from(text.as_str()));
        }
    }

    /// Whether `rule` asks for nothing that contradicts the request.
    fn is_compatible(&self, rule: &Rule, requirements: &[Requirement]) -> bool {
        let agrees = |path: &[String], value: &str| self.texts.get(path).is_none_or(|there| there == value);
        let owners = &rule.matching.owner_kinds;
        labels(rule).all(|(path, values)| {
            let there = self.texts.get(&path).map(String::as_str);
            values.contains(there) || there.is_none() && values.is_required()
        }) && (owners.is_empty()
            || self.text(OWNER_KIND).is_none_or(|kind| owners.iter().any(|one| one == kind)))
            && rule.logic.parameters.iter().all(|parameter| {
                let mut there = annotations(parameter).filter_map(|path| self.texts.get(&path));
                there.all(|text| parameter.bounds.value(text, &SharedBudget::of_a_request()).is_ok())
            })
            && requirements.iter().all(|requirement| match (settable(requirement), &requirement.value) {
                (Some(path), Some(value)) => is_below(path, GROUPS) || agrees(path, value),
                _ => true,
            })
    }

    /// Sets the text at `path`, unless an earlier rule has set it.
    fn add(&mut self, path: Vec<String>, text: &str) {
        self.texts.entry(path).or_insert_with(|| text.to_owned());
    }

    fn text(&self, path: &[&str]) -> Option<&str> {
        self.texts.iter().find(|(found, _)| *found == path).map(|(_, text)| text.as_str())
    }

    /// The texts of the map at `start`, by their keys.
    fn map(&self, start: &'static [&'static str]) -> impl Iterator<Item = (&str, &str)> {
        let entries = self.texts.iter().filter(move |(path, _)| is_below(path, start));
        entries.filter_map(|(path, text)| Some((path.last()?.as_str(), text.as_str())))
    }

    fn namespace_for(&self, rule: &Rule, requirements: &[Requirement]) -> Option<String> {
        let names = rule.namespace_selector().by_label().remove(NAMESPACE_NAME).unwrap_or_default();
        let matches = |name: &&str| names.contains(Some(*name));
        let required = requirements.iter().filter(|requirement| {
            let path: Vec<&str> = requirement.path.iter().map(String::as_str).collect();
            matches!(*path, ["namespaceObject", "metadata", "name"] | ["request", "namespace"])
        });
        let required: Vec<&str> =
            required.filter_map(|requirement| requirement.value.as_deref()).filter(matches).collect();
        if !self.namespace.is_empty() {
            let current = Some(self.namespace.as_str()).filter(matches);
            return current.filter(|name| required.is_empty() || required.contains(name)).map(str::to_owned);
        }
        let named = names.listed().into_iter().flatten().map(String::as_str);
        let candidates = required.iter().copied().chain(named);
        candidates.chain(["team-a", "team-b", "team-c"]).find(matches).map(str::to_owned)
    }
}

/// The path of the key `name` below `start`.
fn path(start: &[&str], name: &str) -> Vec<String> {
    start.iter().chain([&name]).map(|&step| step.to_owned()).collect()
}

fn is_below(path: &[String], start: &[&str]) -> bool {
    path.len() > start.len() && path.iter().zip(start).all(|(step, start)| step == start)
}

/// The labels that `rule` selects by, with their paths. The name of a namespace is chosen by itself.
fn labels(rule: &Rule) -> impl Iterator<Item = (Vec<String>, LabelValues)> {
    let of_namespace = rule.namespace_selector().by_label().into_iter();
    let of_namespace = of_namespace.filter(|(key, _)| key != NAMESPACE_NAME);
    let of_object = rule.object_selector().by_label().into_iter();
    let paths = of_namespace.map(|(key, values)| (path(NAMESPACE_LABELS, &key), values));
    paths.chain(of_object.map(|(key, values)| (path(LABELS, &key), values)))
}

/// A value of a label that must be there.
fn sample(values: &LabelValues) -> Option<String> {
    let some = ["true", "x", "y", "z"].map(str::to_owned);
    let mut candidates = values.listed().cloned().unwrap_or_default().into_iter().chain(some);
    candidates.find(|value| values.is_required() && values.contains(Some(value)))
}

/// The paths of annotations from which `parameter` takes its value, or of a prefix some of its values.
fn annotations(parameter: &Parameter) -> impl Iterator<Item = Vec<String>> + use<> {
    let start = match parameter.from {
        AnnotationSource::Pod => ANNOTATIONS,
        AnnotationSource::Namespace => NAMESPACE_ANNOTATIONS,
    };
    let repeated = parameter.prefix.iter().flat_map(|prefix| NAMES.map(|name| format!("{prefix}{name}")));
    let keys: Vec<String> = parameter.annotation.iter().cloned().chain(repeated).collect();
    keys.into_iter().map(|key| path(start, &key))
}

/// The path of the field that `requirement` is about; `None` if the corpus alone decides about it.
fn settable(requirement: &Requirement) -> Option<&[String]> {
    let full = requirement.path.as_slice();
    let path = if is_below(full, &["request", "object"]) { full.get(1..)? } else { full };
    let maps = [LABELS, ANNOTATIONS, NAMESPACE_LABELS, NAMESPACE_ANNOTATIONS, GROUPS];
    let is_entry = maps.iter().any(|start| is_below(path, start) && path.len() == start.len() + 1);
    (is_entry || path == OWNER_KIND || path == USER || is_below(path, SPEC)).then_some(path)
}

/// Sets the value at `path`, if that is free or holds a text.
// Recursion is bounded by the depth that an expression may have.
fn set(object: &mut Value, path: &[&str], value: Value) {
    let Some((step, rest)) = path.split_first() else {
        if object.is_null() || object.is_string() {
            *object = value;
        }
        return;
    };
    if object.is_null() {
        *object = if *step == ITEM { json!([null]) } else { json!({}) };
    }
    let below = match object {
        Value::Array(items) if *step == ITEM => items.first_mut(),
        Value::Object(members) => Some(members.entry(*step).or_insert(Value::Null)),
        _ => None,
    };
    below.into_iter().for_each(|below| set(below, rest, value.clone()));
}

/// `rule` for all workloads.
pub(super) fn without_rollout(rule: &Rule) -> Rule {
    Rule { rollout: None, ..rule.clone() }
}

/// `rule` without the conditions that do not read the object, and with parameters that take any text; `None` where it has
/// none of either. A condition that reads the object may be the reason why the rule settles, and stays.
pub(super) fn without_conditions(rule: &Rule) -> Option<Rule> {
    let mut logic = (*rule.logic).clone();
    logic.conditions.retain(|condition| condition.expression.reads.object);
    let mut changed = logic.conditions.len() < rule.logic.conditions.len();
    let has_no_value =
        |parameter: &&mut Parameter| parameter.default.is_none() && parameter.example().is_none();
    for parameter in logic.parameters.iter_mut().filter(has_no_value) {
        parameter.bounds.pattern = None;
        parameter.default = parameter.example();
        changed = true;
    }
    changed.then(|| Rule { logic: Arc::new(logic), ..rule.clone() })
}

#[cfg(test)]
mod tests {
    use super::{LABELS, Resource, SAMPLE_PODS, SampleRequest, path};

    #[test]
    fn the_corpus_is_json() {
        assert_eq!(SAMPLE_PODS.len(), 7);
        let mut request = SampleRequest::default();
        request.add(path(LABELS, "app"), "web");
        for sample in SAMPLE_PODS.iter() {
            let pod = request.object(sample, Resource::Pods, 0);
            assert!(pod["spec"]["containers"][0]["name"].is_string(), "{}", sample.name);
            let job = request.object(sample, Resource::CronJobs, 0);
            assert_eq!(job["metadata"]["labels"]["app"], "web");
            assert_eq!(job["spec"]["jobTemplate"]["spec"]["template"], pod);
        }
    }
}
