//! Whether kube-apiserver would call a hook at all: its rules and selectors, by the API server's own reading.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::{LabelSelector, LabelSelectorRequirement};
use serde_json::Value;
use vestibule_caller::ApiResource;

use crate::registration::Entry;
use crate::rule::Match;
use crate::{Request, Rule, Scope};

/// What rules and selectors are compared with.
pub(super) struct Asked<'a> {
    pub(super) request: &'a Request<'a>,
    pub(super) resource: &'a ApiResource,
    /// `metadata` of the new object and of the old one.
    pub(super) metadata: &'a [Value],
    pub(super) namespace_labels: Option<&'a BTreeMap<String, String>>,
}

/// The subresource that all rules of a hook are about.
pub(super) fn subresource(entry: &Entry) -> Option<String> {
    let mut all = entry.rules.iter().map(|rule| parts(rule).1);
    let first = all.next().flatten().filter(|subresource| *subresource != "*")?;
    all.all(|subresource| subresource == Some(first)).then(|| first.to_owned())
}

/// How the object is served: as Kubernetes says, else as the hook's rules say.
pub(super) fn resource(
    entry: &Entry,
    object: &Value,
    plural: Option<&str>,
    subresource: Option<&str>,
    cluster_scoped: bool,
) -> Result<ApiResource, String> {
    let text = |member: &str| object.get(member).and_then(Value::as_str).unwrap_or_default();
    let (api_version, kind) = (text("apiVersion"), text("kind"));
    let resource = |api_version: &str, plural: &str| {
        let made = if cluster_scoped { ApiResource::cluster_scoped } else { ApiResource::namespaced };
        made(api_version, kind, plural)
    };
    if let Some(plural) = plural {
        return Ok(resource(api_version, plural));
    }
    if let Some(known) = ApiResource::built_in(api_version, kind) {
        return Ok(known);
    }
    let group = group(api_version);
    // A subresource may carry an object of another group: `deployments/scale` a Scale.
    let named = entry.rules.iter().find(|rule| {
        let (plural, of) = parts(rule);
        plural != "*"
            && rule.group != "*"
            && if subresource.is_some() { of == subresource } else { rule.group == group }
    });
    match named {
        Some(rule) if rule.group == group => Ok(resource(api_version, parts(rule).0)),
        Some(rule) => Ok(resource(&joined(&rule.group, &rule.version), parts(rule).0)),
        None if kind.is_empty() => {
            Err("the object does not say what it is; give it apiVersion and kind".to_owned())
        }
        None => Err(format!("how {api_version} {kind} is served is not known; say `.resource(\"PLURAL\")`")),
    }
}

/// Why kube-apiserver would not call the hook.
pub(super) fn not_called(entry: &Entry, asked: &Asked<'_>) -> Option<String> {
    let Asked { request, resource, metadata, namespace_labels } = asked;
    let asks = |rule: &Rule| {
        let in_scope = match rule.scope {
            Scope::Any => true,
            Scope::Namespaced => resource.is_namespaced(),
            Scope::Cluster => !resource.is_namespaced(),
        };
        in_scope && Rule::nearest(std::slice::from_ref(rule), request) == Match::Asked
    };
    if !entry.rules.iter().any(asks) {
        let what =
            request.subresource.as_deref().map_or_else(String::new, |subresource| format!("/{subresource}"));
        let (operation, api_version, plural) = (request.operation, resource.api_version(), resource.plural());
        return Some(format!("none of its rules matches {operation} of {api_version} {plural}{what}"));
    }
    let labels = |metadata: &Value| -> BTreeMap<String, String> {
        let labels = metadata.get("labels").and_then(Value::as_object).into_iter().flatten();
        labels.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
    };
    if !is_empty(&entry.objects)
        && !metadata.iter().any(|metadata| matches(&entry.objects, &labels(metadata)))
    {
        return Some("its object selector does not match the object's labels".to_owned());
    }
    let is_namespace = (resource.api_version(), resource.plural()) == ("v1", "namespaces");
    let of_namespace = match namespace_labels {
        // A namespace is selected by its own labels; nothing else outside namespaces is by any.
        _ if is_namespace && request.subresource.is_none() => metadata.first().map(labels),
        Some(labels) if resource.is_namespaced() => Some((*labels).clone()),
        _ => None,
    };
    let of_namespace = of_namespace?;
    (!matches(&entry.namespaces, &of_namespace))
        .then(|| "its namespace selector does not match the namespace's labels".to_owned())
}

fn is_empty(selector: &LabelSelector) -> bool {
    selector.match_labels.as_ref().is_none_or(BTreeMap::is_empty)
        && selector.match_expressions.as_ref().is_none_or(Vec::is_empty)
}

fn matches(selector: &LabelSelector, labels: &BTreeMap<String, String>) -> bool {
    let mut exact = selector.match_labels.iter().flatten();
    let mut expressions = selector.match_expressions.iter().flatten();
    exact.all(|(key, value)| labels.get(key) == Some(value))
        && expressions.all(|it| requirement_holds(it, labels))
}

fn requirement_holds(requirement: &LabelSelectorRequirement, labels: &BTreeMap<String, String>) -> bool {
    let LabelSelectorRequirement { key, operator, values } = requirement;
    let label = labels.get(key);
    let among = || label.is_some_and(|label| values.iter().flatten().any(|value| value == label));
    match operator.as_str() {
        "In" => among(),
        "NotIn" => !among(),
        "Exists" => label.is_some(),
        _ => label.is_none(),
    }
}

fn parts(rule: &Rule) -> (&str, Option<&str>) {
    match rule.resource.split_once('/') {
        Some((plural, subresource)) => (plural, Some(subresource)),
        None => (&rule.resource, None),
    }
}

fn group(api_version: &str) -> &str {
    api_version.split_once('/').map_or("", |(group, _)| group)
}

fn joined(group: &str, version: &str) -> String {
    if group.is_empty() { version.to_owned() } else { format!("{group}/{version}") }
}
