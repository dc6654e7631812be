//! The variables that expressions can name. Each becomes a value when an expression names it for the first time.

use std::cell::OnceCell;
use std::collections::BTreeMap;

use kube_cel::cel::Value;
use vestibule_patch::{Document, View};

use super::budget::{Budget, SharedBudget};
use super::compiled::Variable;
use super::error::EvaluationError;
use super::object_value::{ObjectValue, object};
use super::types::Type;
use super::values::{list, map, text, value};
use crate::subject::{Ownership, Subject};

/// The variable with the value of one repetition of `forEach`.
pub(super) const EACH: &str = "each";

/// The variables, and the members of each variable with fixed members, with their types. The interpreter computes these members one by one.
pub(super) const VARIABLES: &[(&str, &[(&str, Type)])] = &[
    ("namespaceObject", &[("metadata", Type::Any)]),
    ("object", &[]),
    ("oldObject", &[]),
    ("owner", &[("kind", Type::Text), ("name", Type::Text)]),
    ("params", &[]),
    (
        "request",
        &[
            ("dryRun", Type::Bool),
            ("kind", Type::Map(Vec::new())),
            ("name", Type::Text),
            ("namespace", Type::Text),
            ("object", Type::Any),
            ("oldObject", Type::Any),
            ("operation", Type::Text),
            ("resource", Type::Map(Vec::new())),
            ("subResource", Type::Text),
            ("userInfo", Type::Map(Vec::new())),
        ],
    ),
    ("variables", &[]),
];

/// The variables that have no value of their own; an expression names their members.
pub(super) const MEMBERS_ONLY: &[&str] = &["params", "request", "variables"];

/// The variables that are the same for all rules and turns of one evaluation.
pub(crate) struct RequestScope<'s> {
    subject: &'s Subject<'s>,
    /// The object as received.
    received: View<'s>,
    budget: &'s SharedBudget,
    values: RequestValues,
}

#[derive(Default)]
struct RequestValues {
    received: OnceCell<Value>,
    old: OnceCell<Value>,
    user: OnceCell<Value>,
    owner: OnceCell<Value>,
    namespace: OnceCell<Value>,
}

impl<'s> RequestScope<'s> {
    pub(crate) fn new(subject: &'s Subject<'s>, received: View<'s>, budget: &'s SharedBudget) -> Self {
        Self { subject, received, budget, values: RequestValues::default() }
    }
}

/// The variables of one rule, and its budget.
pub(crate) struct Scope<'e> {
    request: &'e RequestScope<'e>,
    /// The object with the changes of earlier rules.
    current: View<'e>,
    object: &'e ObjectValue,
    parameters: &'e BTreeMap<String, Value>,
    variables: &'e [Variable],
    /// The values of `variables` that were computed.
    computed: Vec<OnceCell<Value>>,
    pub(super) budget: Budget,
}

impl<'e> Scope<'e> {
    /// `object` keeps the value of `current` for the next rule.
    pub(crate) fn new(
        request: &'e RequestScope<'e>,
        current: View<'e>,
        object: &'e ObjectValue,
        parameters: &'e BTreeMap<String, Value>,
        variables: &'e [Variable],
    ) -> Self {
        let (computed, budget) = (vec![OnceCell::new(); variables.len()], Budget::new(request.budget));
        Self { request, current, object, parameters, variables, computed, budget }
    }

    pub(super) fn variable(&self, name: &str) -> Result<Value, EvaluationError> {
        let RequestScope { subject, values, .. } = self.request;
        Ok(match name {
            "object" => self.object.value(self.current),
            "oldObject" => {
                values.old.get_or_init(|| subject.old_object.map_or(Value::Null, json_value)).clone()
            }
            "namespaceObject" => {
                values.namespace.get_or_init(|| map([("metadata".to_owned(), self.namespace())])).clone()
            }
            "owner" => values.owner.get_or_init(|| self.owner()).clone(),
            _ => return Err(EvaluationError::failed(format!("`{name}` is not known"))),
        })
    }

    /// The member `field` of `params` or `request`; `None` for other variables.
    pub(super) fn member(&self, name: &str, field: &str) -> Result<Option<Value>, EvaluationError> {
        let missing = || EvaluationError::failed(format!("`{name}` has no `{field}`"));
        match name {
            "params" => self.parameters.get(field).cloned().ok_or_else(missing).map(Some),
            "request" => self.request_member(field).ok_or_else(missing).map(Some),
            _ => Ok(None),
        }
    }

    /// The variable `name` of the rule, and the place of its value.
    pub(super) fn rule_variable(
        &self,
        name: &str,
    ) -> Result<(&'e Variable, &OnceCell<Value>), EvaluationError> {
        let found = self.variables.iter().zip(&self.computed).find(|(variable, _)| variable.name == name);
        found.ok_or_else(|| EvaluationError::failed(format!("there is no variable `{name}`")))
    }

    fn request_member(&self, field: &str) -> Option<Value> {
        let RequestScope { subject, received, values, .. } = self.request;
        Some(match field {
            "operation" => text(subject.verb.into()),
            "namespace" => text(subject.namespace),
            "name" => text(subject.name),
            "dryRun" => Value::Bool(subject.dry_run),
            "subResource" => text(subject.subresource),
            "kind" | "resource" => {
                let resource = subject.resource;
                let name = if field == "kind" { resource.kind() } else { resource.as_str() };
                let members = [("group", resource.group()), ("version", "v1"), (field, name)];
                map(members.map(|(name, member)| (name.to_owned(), text(member))))
            }
            "userInfo" => values.user.get_or_init(|| subject.user.map_or_else(|| map([]), user)).clone(),
            "object" => values.received.get_or_init(|| object(*received)).clone(),
            "oldObject" => self.variable("oldObject").ok()?,
            _ => return None,
        })
    }

    fn namespace(&self) -> Value {
        let Subject { namespace, facts, .. } = *self.request.subject;
        let texts =
            |of: &BTreeMap<String, String>| map(of.iter().map(|(key, value)| (key.clone(), text(value))));
        let mut members = vec![("name".to_owned(), text(namespace))];
        if let Some(facts) = facts {
            members.push(("labels".to_owned(), texts(&facts.labels)));
            members.push(("annotations".to_owned(), texts(&facts.annotations)));
        }
        map(members)
    }

    /// Kind and name of the owning workload, or of the object itself where it has no owner.
    fn owner(&self) -> Value {
        let owner = self.ownership().owner();
        map([("kind".to_owned(), text(&owner.kind)), ("name".to_owned(), text(&owner.name))])
    }

    /// The name of the object; a name that the API server will generate ends in `*****`.
    pub(super) fn display_name(&self) -> Value {
        text(&self.ownership().display_name())
    }

    fn ownership(&self) -> Ownership<'e> {
        let RequestScope { subject, received, .. } = self.request;
        Ownership::of(subject.resource, subject.name, received.get("metadata"))
    }
}

/// The `userInfo` of a request, with the members that kube-apiserver leaves out because they are empty.
fn user(json: &str) -> Value {
    let document = Document::parse(json).ok();
    let entries = document.iter().flat_map(|document| document.view().entries());
    let absent = [("username", text("")), ("uid", text("")), ("groups", list(Vec::new()))];
    let absent = absent.map(|(name, value)| (name.to_owned(), value));
    map(absent.into_iter().chain(entries.map(|(name, member)| (name.into_owned(), value(member)))))
}

/// The value of JSON text; null where it is no JSON.
fn json_value(json: &str) -> Value {
    Document::parse(json).map_or(Value::Null, |document| value(document.view()))
}
