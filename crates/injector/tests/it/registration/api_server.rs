//! How the API server evaluates a webhook configuration, implemented without any knowledge of rules.

use std::collections::BTreeMap;

use kube_cel::KubeCelExt;
use kube_cel::cel::parser::Parser;
use kube_cel::cel::{Context, Value as Cel, to_value};
use serde_json::{Value, json};

/// Webhooks as they are registered, with their conditions parsed.
pub(crate) struct ApiServer {
    pub(crate) webhooks: Vec<Value>,
    conditions: Vec<Vec<kube_cel::cel::common::ast::IdedExpr>>,
}

/// A create or an update.
pub(crate) struct Request<'a> {
    pub(crate) resource: &'a str,
    /// `CREATE` or `UPDATE`.
    pub(crate) operation: &'a str,
    pub(crate) namespace_labels: BTreeMap<&'a str, &'a str>,
    pub(crate) object: &'a Value,
    pub(crate) user: &'a str,
}

impl ApiServer {
    pub(crate) fn new(webhooks: &[Value]) -> Self {
        let parsed = |condition: &Value| {
            let text = by_key(condition["expression"].as_str().unwrap());
            let parser = Parser::default().enable_optional_syntax(true);
            parser.parse(&text).unwrap_or_else(|error| panic!("{text}: {error}"))
        };
        let conditions = |webhook: &Value| list(&webhook["matchConditions"]).iter().map(parsed).collect();
        Self { webhooks: webhooks.to_vec(), conditions: webhooks.iter().map(conditions).collect() }
    }

    /// Whether a webhook at this path is called.
    pub(crate) fn calls(&self, path: &str, request: &Request<'_>) -> bool {
        let webhooks = self.webhooks.iter().zip(&self.conditions);
        webhooks.filter(|(webhook, _)| webhook["clientConfig"]["service"]["path"] == path).any(
            |(webhook, conditions)| {
                is_for(webhook, request) && conditions.iter().all(|one| holds(one, request))
            },
        )
    }
}

fn is_for(webhook: &Value, request: &Request<'_>) -> bool {
    let names = |rule: &Value, field: &str, name: &str| list(&rule[field]).iter().any(|value| value == name);
    let asked = |rule: &Value| {
        names(rule, "resources", request.resource) && names(rule, "operations", request.operation)
    };
    let labels = &request.object["metadata"]["labels"];
    list(&webhook["rules"]).iter().any(asked)
        && selects(&webhook["namespaceSelector"], |key| request.namespace_labels.get(key).copied())
        && selects(&webhook["objectSelector"], |key| labels[key].as_str())
}

/// Evaluates a LabelSelector as apimachinery does.
fn selects<'l>(selector: &Value, label: impl Fn(&str) -> Option<&'l str>) -> bool {
    let labels = selector["matchLabels"].as_object().into_iter().flatten();
    let mut labels = labels.map(|(key, value)| label(key) == value.as_str());
    labels.all(|holds| holds)
        && list(&selector["matchExpressions"]).iter().all(|requirement| {
            let found = label(requirement["key"].as_str().unwrap());
            let among = || list(&requirement["values"]).iter().any(|value| value.as_str() == found);
            match requirement["operator"].as_str().unwrap() {
                "In" => among(),
                "NotIn" => found.is_none() || !among(),
                "Exists" => found.is_some(),
                "DoesNotExist" => found.is_none(),
                other => panic!("{other}"),
            }
        })
}

/// Evaluates a condition. None may fail, since the failure policy would apply.
fn holds(condition: &kube_cel::cel::common::ast::IdedExpr, request: &Request<'_>) -> bool {
    let mut context = Context::default().with_all();
    context.add_variable_from_value("object", to_value(request.object).unwrap());
    let namespace = request.namespace_labels.get("kubernetes.io/metadata.name");
    let resource = json!({"resource": request.resource});
    let facts = json!({"namespace": namespace, "resource": resource, "userInfo": {"username": request.user}});
    context.add_variable_from_value("request", to_value(facts).unwrap());
    match Cel::resolve(condition, &context) {
        Ok(Cel::Bool(holds)) => holds,
        other => panic!("{other:?} for {}", request.object),
    }
}

/// `x.?name` as `x[?'name']`. On maps both mean the same; cel 0.13 fails on the former where the key is absent.
fn by_key(text: &str) -> String {
    let mut parts = text.split(".?");
    let first = parts.next().unwrap().to_owned();
    parts.fold(first, |done, part| {
        let end = part.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(part.len());
        format!("{done}[?'{}']{}", &part[..end], &part[end..])
    })
}

fn list(value: &Value) -> &[Value] {
    value.as_array().map_or(&[], Vec::as_slice)
}
