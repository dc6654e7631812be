//! Whether kube-apiserver calls a hook: compares a request with the rules and selectors of the hook's entries, as they
//! are registered. Match conditions count as met: the kit has no CEL.

use std::collections::BTreeMap;

use k8s_openapi::apimachinery::pkg::apis::meta::v1::LabelSelector;
use kube::core::{GroupVersion, Selector, SelectorExt};
use serde_json::Value;
use vestibule_caller::ApiResource;

use vestibule::admission::Request;
use vestibule::tooling::HookEntry;
use vestibule::{Rule, Scope};

/// The label of every namespace that holds its name; the API server sets it.
const NAMESPACE_NAME: &str = "kubernetes.io/metadata.name";

/// The facts about a request that rules and selectors are compared with.
pub(super) struct RequestFacts<'a> {
    pub(super) request: &'a Request<'a>,
    pub(super) resource: &'a ApiResource,
    /// `metadata` of the new object and of the stored one.
    pub(super) metadata: &'a [Value],
    /// `None`: every label but the name of the namespace counts as matching.
    pub(super) namespace_labels: Option<&'a Labels>,
    /// The namespace of the webhook, as far as its app names it.
    pub(super) own_namespace: Option<&'a str>,
}

type Labels = BTreeMap<String, String>;

/// The first of `entries` by which kube-apiserver would call the hook.
///
/// # Errors
/// No entry matches; the reasons.
pub(super) fn called_by<'e>(
    entries: &'e [HookEntry],
    facts: &RequestFacts<'_>,
) -> Result<&'e HookEntry, String> {
    let mut reasons = Vec::new();
    for entry in entries {
        match not_called(entry, facts) {
            None => return Ok(entry),
            Some(why) if reasons.contains(&why) => {}
            Some(why) => reasons.push(why),
        }
    }
    if reasons.is_empty() {
        reasons.push("the webhook configuration has no entry for it".to_owned());
    }
    Err(reasons.join("; "))
}

/// The subresource that all rules of a hook name.
pub(super) fn subresource(entry: &HookEntry) -> Option<String> {
    let mut all = entry.on.rules.iter().map(|rule| parts(rule).1);
    let first = all.next().flatten().filter(|subresource| *subresource != "*")?;
    all.all(|subresource| subresource == Some(first)).then(|| first.to_owned())
}

/// The resource that serves the object: a built-in kind's, else the one in the hook's rules.
pub(super) fn resource(
    entry: &HookEntry,
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
    if let Some(known) = ApiResource::built_in(api_version, kind).filter(|_| plural.is_none()) {
        return Ok(known);
    }
    let group = api_version.parse::<GroupVersion>().map_or_else(|_| String::new(), |parsed| parsed.group);
    // A subresource may carry an object of another group: `deployments/scale` a Scale.
    let named = entry.on.rules.iter().filter(|rule| {
        let (named, of) = parts(rule);
        named != "*"
            && plural.is_none_or(|plural| plural == named)
            && rule.group != "*"
            && if subresource.is_some() { of == subresource } else { rule.group == group }
    });
    // Among rules for `pods/binding` and `bindings`, a Binding without a subresource is of the second.
    let named = named.min_by_key(|rule| parts(rule).1 != subresource);
    match (named, plural) {
        (Some(rule), _) if rule.group == group => Ok(resource(api_version, parts(rule).0)),
        (Some(rule), _) => {
            Ok(resource(&GroupVersion::gv(&rule.group, &rule.version).api_version(), parts(rule).0))
        }
        (None, Some(plural)) => Ok(resource(api_version, plural)),
        (None, None) if kind.is_empty() => {
            Err("the object does not say what it is; give it apiVersion and kind".to_owned())
        }
        (None, None) => {
            Err(format!("how {api_version} {kind} is served is not known; say `.resource(\"PLURAL\")`"))
        }
    }
}

/// The reason why kube-apiserver would not call the hook.
fn not_called(entry: &HookEntry, facts: &RequestFacts<'_>) -> Option<String> {
    let RequestFacts { request, resource, metadata, own_namespace, .. } = facts;
    let asks = |rule: &Rule| {
        let in_scope = match rule.scope {
            Scope::Namespaced => resource.is_namespaced(),
            Scope::Cluster => !resource.is_namespaced(),
            _ => true,
        };
        in_scope && rule.is_for(request)
    };
    if !entry.on.rules.iter().any(asks) {
        let what =
            request.subresource.as_deref().map_or_else(String::new, |subresource| format!("/{subresource}"));
        let (operation, api_version, plural) = (request.operation, resource.api_version(), resource.plural());
        return Some(format!("none of its rules matches {operation} of {api_version} {plural}{what}"));
    }
    let selects_all =
        Selector::try_from(entry.on.objects.clone()).is_ok_and(|selector| selector.selects_all());
    if !selects_all && !metadata.iter().any(|metadata| matches(&entry.on.objects, &labels(metadata), true)) {
        return Some("its object selector does not match the object's labels".to_owned());
    }
    let (of_namespace, all_are_known) = namespace(facts)?;
    let selector = entry.namespace_selector(*own_namespace);
    (!matches(&selector, &of_namespace, all_are_known)).then(|| {
        let name = of_namespace.get(NAMESPACE_NAME).map_or("", |name| name);
        format!("its namespace selector does not match the labels of the namespace `{name}`")
    })
}

/// The known labels of the object's namespace, and whether they are all labels. A namespace is selected by its own
/// labels; other objects outside namespaces match every namespace selector.
fn namespace(facts: &RequestFacts<'_>) -> Option<(Labels, bool)> {
    let RequestFacts { request, resource, metadata, namespace_labels, .. } = facts;
    let is_namespace = (resource.api_version(), resource.plural()) == ("v1", "namespaces");
    if !resource.is_namespaced() && !is_namespace {
        return None;
    }
    let known = match namespace_labels {
        _ if is_namespace && request.subresource.is_none() => metadata.first().map(labels),
        given => given.cloned(),
    };
    let (mut known, all_are_known) = (known.clone().unwrap_or_default(), known.is_some());
    if let Some(name) = &request.namespace {
        known.insert(NAMESPACE_NAME.to_owned(), name.to_string());
    }
    Some((known, all_are_known))
}

fn labels(metadata: &Value) -> Labels {
    let labels = metadata.get("labels").and_then(Value::as_object).into_iter().flatten();
    labels.filter_map(|(key, value)| Some((key.clone(), value.as_str()?.to_owned()))).collect()
}

/// Whether `labels` match; a requirement on a label that is not known counts as met.
fn matches(selector: &LabelSelector, labels: &Labels, all_are_known: bool) -> bool {
    let is_known = |key: &str| all_are_known || labels.contains_key(key);
    let mut known = selector.clone();
    known.match_labels.iter_mut().for_each(|exact| exact.retain(|key, _| is_known(key)));
    known.match_expressions.iter_mut().for_each(|expressions| expressions.retain(|it| is_known(&it.key)));
    Selector::try_from(known).is_ok_and(|known| known.matches(labels))
}

fn parts(rule: &Rule) -> (&str, Option<&str>) {
    match rule.resource.split_once('/') {
        Some((plural, subresource)) => (plural, Some(subresource)),
        None => (&rule.resource, None),
    }
}
