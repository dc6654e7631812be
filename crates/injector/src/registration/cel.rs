//! Parts of CEL expressions.

use std::collections::{BTreeMap, BTreeSet};

use vestibule_rules::{LabelOperator, LabelValues, MetadataOf, Resource, Rule};

/// The metadata whose labels and annotations rules read.
pub(super) struct Metadata {
    /// Its expression, unless it is `object.metadata`. Conditions then call it `metadata`.
    source: Option<String>,
}

impl Metadata {
    /// The metadata of the object itself.
    pub(super) fn of_object() -> Self {
        Self { source: None }
    }

    /// The metadata of the pod, or of the pod template of a workload.
    pub(super) fn of_pods(resources: &BTreeSet<Resource>) -> Self {
        let source = |resource: &Resource| match resource {
            Resource::Pods => "object.metadata",
            Resource::CronJobs => "object.?spec.?jobTemplate.?spec.?template.?metadata.orValue({})",
            _ => "object.?spec.?template.?metadata.orValue({})",
        };
        if resources.iter().all(|resource| *resource == Resource::Pods) {
            return Self::of_object();
        }
        let mut sources = resources.iter().rev().map(|resource| (resource, source(resource)));
        let last = sources.next().map(|(_, source)| source.to_owned()).unwrap_or_default();
        let source = sources.fold(last, |others, (resource, source)| match others == source {
            true => others,
            false => {
                format!("request.resource.resource == {} ? {source} : {others}", quoted(resource.as_str()))
            }
        });
        Self { source: Some(source) }
    }

    /// The metadata that all rules of `group` read in these resources; `None` if they read different ones.
    pub(super) fn of_group(group: &[&Rule], resources: &BTreeSet<Resource>) -> Option<Self> {
        let of_workloads =
            group.iter().filter(|rule| rule.targets().iter().any(|target| *target != Resource::Pods));
        let read: BTreeSet<MetadataOf> = of_workloads.map(|rule| rule.metadata_of()).collect();
        match (read.contains(&MetadataOf::PodTemplate), read.contains(&MetadataOf::Workload)) {
            (true, true) => None,
            (false, true) => Some(Self::of_object()),
            _ => Some(Self::of_pods(resources)),
        }
    }

    /// `condition`, which reads it.
    pub(super) fn bind(&self, condition: String) -> String {
        match &self.source {
            Some(source) => format!("[{source}].exists(metadata, {condition})"),
            None => condition,
        }
    }

    /// The label `key`, an optional value. `key` is an expression.
    pub(super) fn label(&self, key: &str) -> String {
        format!("{}.?labels[?{key}]", self.name())
    }

    /// The annotation `key`, an optional value. `key` is an expression.
    pub(super) fn annotation(&self, key: &str) -> String {
        format!("{}.?annotations[?{key}]", self.name())
    }

    /// The maps of labels and of annotations, in a list.
    pub(super) fn maps(&self) -> String {
        let name = self.name();
        format!("[{name}.?labels.orValue({{}}), {name}.?annotations.orValue({{}})]")
    }

    /// Whether its labels have these values, as far as requirements can say it.
    pub(super) fn meets(&self, labels: &BTreeMap<String, LabelValues>) -> Vec<String> {
        let of_label = |(key, values): (&String, &LabelValues)| {
            let label = self.label(&literal(key));
            let requirements = values.requirements().into_iter();
            let terms = requirements.map(move |(operator, values)| {
                let values: Vec<_> = values.iter().map(|value| literal(value)).collect();
                // No label can have the value `-`.
                requirement(
                    operator,
                    &format!("{label}.orValue('-')"),
                    &format!("{label}.hasValue()"),
                    &values,
                )
            });
            terms.collect::<Vec<_>>()
        };
        labels.iter().flat_map(of_label).collect()
    }

    fn name(&self) -> &'static str {
        if self.source.is_some() { "metadata" } else { "object.metadata" }
    }
}

/// Whether `value`, which is there if `exists`, meets a requirement with these values. All are expressions.
pub(super) fn requirement(operator: LabelOperator, value: &str, exists: &str, values: &[String]) -> String {
    let is_listed = || match values {
        [one] => format!("{value} == {one}"),
        values => format!("{value} in [{}]", values.join(", ")),
    };
    match operator {
        LabelOperator::In => is_listed(),
        LabelOperator::NotIn => format!("!({})", is_listed()),
        LabelOperator::Exists => exists.to_owned(),
        LabelOperator::DoesNotExist => format!("!{exists}"),
    }
}

/// A CEL string of a text without quotes, such as a key or a name.
pub(super) fn quoted(text: &str) -> String {
    format!("'{text}'")
}

/// A CEL string of any text. CEL has the escapes of JSON.
pub(super) fn literal(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
