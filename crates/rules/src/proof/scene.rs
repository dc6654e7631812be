//! Requests that rules mean: what each asks for literally is there.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::{Value, json};

use super::corpus::{PODS, Specimen};
use crate::expression::{ITEM, Total, Wish};
use crate::parameter::AnnotationSource;
use crate::rule::{Resource, Rule};
use crate::subject::NamespaceFacts;
use crate::well_known::RULE_KEY_PREFIX;
use crate::yaml::quote;

/// A request that some rules mean.
#[derive(Default)]
pub(super) struct Scene {
    pub(super) namespace: String,
    pub(super) facts: NamespaceFacts,
    labels: BTreeMap<String, String>,
    annotations: BTreeMap<String, String>,
    /// The kind of what makes the pods, where a rule asks for one.
    owner: Option<String>,
    user: Option<String>,
    groups: Vec<String>,
    /// Texts of the specification, by the path from the object.
    texts: BTreeMap<Vec<String>, String>,
}

impl Scene {
    /// Makes the request one that `rule` means, too, if that goes together with what is asked for already. A request
    /// made for no rule yet becomes one for any that names a namespace for itself.
    pub(super) fn admit(&mut self, rule: &Rule) -> bool {
        let logic = &rule.logic;
        let wishes = logic.when.iter().flat_map(|condition| condition.wishes(&logic.variables));
        let wishes: Vec<Wish> = wishes.collect();
        let Some(namespace) = self.namespace_for(rule, &wishes) else { return false };
        if !self.namespace.is_empty() && !self.agrees(rule, &wishes) {
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
        wishes.iter().for_each(|wish| self.grant(wish));
        true
    }

    /// Who asks, as JSON.
    pub(super) fn user(&self) -> String {
        let groups: Vec<String> = self.groups.iter().map(|group| quote(group)).collect();
        let name = self.user.as_deref().unwrap_or("system:serviceaccount:kube-system:replicaset-controller");
        format!(r#"{{"username":{},"groups":[{}]}}"#, quote(name), groups.join(","))
    }

    /// The corpus with the labels that are asked for: all of it as pods, the fullest as what makes pods.
    pub(super) fn objects(&self, targets: &[Resource]) -> impl Iterator<Item = (String, (Resource, String))> {
        let fullest = PODS.last();
        targets.iter().flat_map(move |resource| {
            let specimens = match resource {
                Resource::Pods => PODS.iter().collect::<Vec<_>>(),
                _ => fullest.into_iter().collect(),
            };
            specimens.into_iter().map(move |specimen: &Specimen| {
                let name = match resource {
                    Resource::Pods => specimen.name.to_owned(),
                    other => format!("{} in the template of {}", specimen.name, other.as_str()),
                };
                let owner = self.owner.as_deref();
                let object = specimen.object(*resource, &self.labels, &self.annotations, owner);
                (name, (*resource, self.with_texts(object)))
            })
        })
    }

    /// The object with the texts that are asked for, where there is room for them.
    fn with_texts(&self, object: String) -> String {
        if self.texts.is_empty() {
            return object;
        }
        let Ok(mut json) = serde_json::from_str(&object) else { return object };
        self.texts.iter().for_each(|(path, text)| put(&mut json, path, text));
        json.to_string()
    }

    /// Whether nothing that is asked for already keeps `rule` out.
    fn agrees(&self, rule: &Rule, wishes: &[Wish]) -> bool {
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
                there.is_none_or(|text| parameter.bounds.value(text, &Total::of_a_request()).is_ok())
            })
            && wishes.iter().all(|wish| {
                let Some(value) = &wish.value else { return true };
                match place(wish) {
                    Place::Label(key) => agrees(&self.labels, key, value),
                    Place::Annotation(key) => agrees(&self.annotations, key, value),
                    Place::NamespaceLabel(key) => agrees(&self.facts.labels, key, value),
                    Place::NamespaceAnnotation(key) => agrees(&self.facts.annotations, key, value),
                    Place::Owner => self.owner.as_ref().is_none_or(|owner| owner == value),
                    Place::User => self.user.as_ref().is_none_or(|user| user == value),
                    Place::Specification(path) => self.texts.get(path).is_none_or(|there| there == value),
                    Place::Namespace | Place::Group(_) | Place::Elsewhere => true,
                }
            })
    }

    /// What was there first stays.
    fn grant(&mut self, wish: &Wish) {
        let value = wish.value.clone().unwrap_or_else(|| "true".to_owned());
        let map = match place(wish) {
            Place::Label(_) => &mut self.labels,
            Place::Annotation(_) => &mut self.annotations,
            Place::NamespaceLabel(_) => &mut self.facts.labels,
            Place::NamespaceAnnotation(_) => &mut self.facts.annotations,
            Place::Owner => return self.owner = self.owner.take().or(Some(value)),
            Place::User => return self.user = self.user.take().or(Some(value)),
            Place::Group(group) => return self.groups.push(group.to_owned()),
            // Of what kind it is to be is not known where no text says it.
            Place::Specification(_) if wish.value.is_none() => return,
            Place::Specification(path) => {
                self.texts.entry(path.to_vec()).or_insert(value);
                return;
            }
            Place::Namespace | Place::Elsewhere => return,
        };
        map.entry(wish.path.last().cloned().unwrap_or_default()).or_insert(value);
    }

    fn annotations_of(&mut self, from: AnnotationSource) -> &mut BTreeMap<String, String> {
        match from {
            AnnotationSource::Pod => &mut self.annotations,
            AnnotationSource::Namespace => &mut self.facts.annotations,
        }
    }

    fn namespace_for(&self, rule: &Rule, wishes: &[Wish]) -> Option<String> {
        let matching = &rule.matching;
        let fine = |name: &&str| {
            (matching.namespaces.is_empty() || matching.namespaces.iter().any(|wanted| wanted == name))
                && !matching.excluded.iter().any(|excluded| excluded == name)
        };
        let wished = wishes.iter().filter(|wish| matches!(place(wish), Place::Namespace));
        let wished: Vec<&str> = wished.filter_map(|wish| wish.value.as_deref()).filter(fine).collect();
        if !self.namespace.is_empty() {
            let there = Some(self.namespace.as_str()).filter(fine);
            return there.filter(|name| wished.is_empty() || wished.contains(name)).map(str::to_owned);
        }
        let named = matching.namespaces.iter().map(String::as_str);
        let any = wished.iter().copied().chain(named);
        any.chain(["team-a", "team-b", "team-c"]).find(fine).map(str::to_owned)
    }
}

/// What of a request a wish is about.
enum Place<'w> {
    Label(&'w str),
    Annotation(&'w str),
    NamespaceLabel(&'w str),
    NamespaceAnnotation(&'w str),
    Namespace,
    Owner,
    User,
    Group(&'w str),
    /// A member of the object's specification, or of something in it.
    Specification(&'w [String]),
    /// Nothing that is at anybody's will here: the corpus has it or not.
    Elsewhere,
}

fn place(wish: &Wish) -> Place<'_> {
    let path: Vec<&str> = wish.path.iter().map(String::as_str).collect();
    match path.as_slice() {
        ["object", "metadata", "labels", key] | ["request", "object", "metadata", "labels", key] => {
            Place::Label(key)
        }
        ["object", "metadata", "annotations", key]
        | ["request", "object", "metadata", "annotations", key] => Place::Annotation(key),
        ["namespaceObject", "metadata", "labels", key] => Place::NamespaceLabel(key),
        ["namespaceObject", "metadata", "annotations", key] => Place::NamespaceAnnotation(key),
        ["namespaceObject", "metadata", "name"] | ["request", "namespace"] => Place::Namespace,
        ["owner", "kind"] => Place::Owner,
        ["request", "userInfo", "username"] => Place::User,
        ["request", "userInfo", "groups", group] => Place::Group(group),
        ["object", "spec", _, ..] => Place::Specification(wish.path.get(1..).unwrap_or_default()),
        ["request", "object", "spec", _, ..] => Place::Specification(wish.path.get(2..).unwrap_or_default()),
        _ => Place::Elsewhere,
    }
}

// Recursion is bounded by the depth that an expression may have.
fn put(object: &mut Value, path: &[String], text: &str) {
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
    below.into_iter().for_each(|below| put(below, rest, text));
}

/// `rule` without what cannot be met here at will, if there is any such thing: no roll-out.
pub(super) fn for_everybody(rule: &Rule) -> Rule {
    Rule { rollout: None, ..rule.clone() }
}

/// `rule` as if the conditions held that its own work cannot change, and as if any text fitted; none where that is no
/// other rule. A condition that reads the object may be what brings the rule to rest, and stays.
pub(super) fn without_conditions(rule: &Rule) -> Option<Rule> {
    let mut logic = (*rule.logic).clone();
    logic.when.retain(|condition| condition.reads_object);
    let mut changed = logic.when.len() < rule.logic.when.len();
    let unmet = |parameter: &&mut crate::parameter::Parameter| {
        parameter.default.is_none() && parameter.example().is_none()
    };
    for parameter in logic.parameters.iter_mut().filter(unmet) {
        parameter.bounds.pattern = None;
        parameter.default = parameter.example();
        changed = true;
    }
    changed.then(|| Rule { logic: Arc::new(logic), ..rule.clone() })
}
