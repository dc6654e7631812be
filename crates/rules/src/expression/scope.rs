//! What expressions can name: made into values when an expression asks, and not before.

use std::cell::{OnceCell, RefCell};
use std::collections::{BTreeMap, HashMap};

use kube_cel::cel::Value;
use vestibule_patch::{Document, View};

use super::budget::{Budget, Total};
use super::current::{Current, object};
use super::interpret::Interpreter;
use super::values::{map, text, value};
use super::{Trouble, Variable};
use crate::rule::Verb;
use crate::subject::{Ownership, Subject};

/// The variables, each with its members where they are fixed; they are then asked for one by one.
pub(super) const VARIABLES: &[(&str, &[&str])] = &[
    ("namespaceObject", &["metadata"]),
    ("object", &[]),
    ("oldObject", &[]),
    ("owner", &["kind", "name"]),
    ("params", &[]),
    (
        "request",
        &[
            "dryRun",
            "name",
            "namespace",
            "object",
            "oldObject",
            "operation",
            "resource",
            "subResource",
            "userInfo",
        ],
    ),
    ("variables", &[]),
];

/// The variables of which only members can be named.
pub(super) const MEMBERS_ONLY: &[&str] = &["params", "request", "variables"];

/// What stays the same for all rules in one evaluation, however often they are laid in.
pub(crate) struct Surroundings<'s> {
    subject: &'s Subject<'s>,
    /// The object as received.
    received: View<'s>,
    /// What the expressions of all rules may still use up.
    total: &'s Total,
    received_value: OnceCell<Value>,
    old: OnceCell<Value>,
    user: OnceCell<Value>,
    owner: OnceCell<Value>,
    namespace: OnceCell<Value>,
}

impl<'s> Surroundings<'s> {
    pub(crate) fn new(subject: &'s Subject<'s>, received: View<'s>, total: &'s Total) -> Self {
        Self {
            subject,
            received,
            total,
            received_value: OnceCell::new(),
            old: OnceCell::new(),
            user: OnceCell::new(),
            owner: OnceCell::new(),
            namespace: OnceCell::new(),
        }
    }
}

/// What the expressions of one rule see.
pub(crate) struct Scope<'e> {
    surroundings: &'e Surroundings<'e>,
    /// The object with what earlier rules did.
    current: View<'e>,
    object: &'e Current,
    parameters: &'e BTreeMap<String, Value>,
    variables: &'e [Variable],
    known: RefCell<HashMap<usize, Value>>,
    pub(super) budget: Budget,
}

impl<'e> Scope<'e> {
    /// `object` keeps what `current` becomes as a value, for the next rule as well.
    pub(crate) fn new(
        surroundings: &'e Surroundings<'e>,
        current: View<'e>,
        object: &'e Current,
        parameters: &'e BTreeMap<String, Value>,
        variables: &'e [Variable],
    ) -> Self {
        let (known, budget) = (RefCell::default(), Budget::new(surroundings.total));
        Self { surroundings, current, object, parameters, variables, known, budget }
    }

    pub(super) fn variable(&self, name: &str) -> Result<Value, Trouble> {
        let Surroundings { subject, old, owner, namespace, .. } = self.surroundings;
        Ok(match name {
            "object" => self.object.value(self.current),
            "oldObject" => old.get_or_init(|| subject.old_object.map_or(Value::Null, parsed)).clone(),
            "namespaceObject" => {
                namespace.get_or_init(|| map([("metadata".to_owned(), self.namespace())])).clone()
            }
            "owner" => owner.get_or_init(|| self.owner()).clone(),
            _ => return Err(Trouble::failed(format!("`{name}` is not known"))),
        })
    }

    /// The member `field` of the variable `name`, where its members are made one by one.
    pub(super) fn member(&self, name: &str, field: &str) -> Result<Option<Value>, Trouble> {
        let missing = || Trouble::failed(format!("`{name}` has no `{field}`"));
        match name {
            "params" => self.parameters.get(field).cloned().ok_or_else(missing).map(Some),
            "variables" => self.computed(field).map(Some),
            "request" => self.request(field).ok_or_else(missing).map(Some),
            _ => Ok(None),
        }
    }

    fn computed(&self, name: &str) -> Result<Value, Trouble> {
        let Some((index, variable)) =
            self.variables.iter().enumerate().find(|(_, variable)| variable.name == name)
        else {
            return Err(Trouble::failed(format!("there is no variable `{name}`")));
        };
        if let Some(value) = self.known.borrow().get(&index) {
            return Ok(value.clone());
        }
        // A variable names earlier ones only, so this ends.
        let value = Interpreter::new(self)
            .value(&variable.expression.tree)
            .map_err(|trouble| trouble.within(name))?;
        self.budget.read(&value)?;
        self.known.borrow_mut().insert(index, value.clone());
        Ok(value)
    }

    fn request(&self, field: &str) -> Option<Value> {
        let Surroundings { subject, received, received_value, user, .. } = self.surroundings;
        Some(match field {
            "operation" => text(match subject.verb {
                Verb::Create => "CREATE",
                Verb::Update => "UPDATE",
                Verb::Delete => "DELETE",
                Verb::Connect => "CONNECT",
            }),
            "namespace" => text(subject.namespace),
            "name" => text(subject.name),
            "dryRun" => Value::Bool(subject.dry_run),
            "subResource" => text(subject.subresource),
            "resource" => {
                let resource = subject.resource;
                let members =
                    [("group", resource.group()), ("version", "v1"), ("resource", resource.as_str())];
                map(members.map(|(name, member)| (name.to_owned(), text(member))))
            }
            "userInfo" => user.get_or_init(|| subject.user.map_or_else(|| map([]), parsed)).clone(),
            "object" => received_value.get_or_init(|| object(*received)).clone(),
            "oldObject" => self.variable("oldObject").ok()?,
            _ => return None,
        })
    }

    fn namespace(&self) -> Value {
        let Subject { namespace, facts, .. } = *self.surroundings.subject;
        let texts =
            |of: &BTreeMap<String, String>| map(of.iter().map(|(key, value)| (key.clone(), text(value))));
        let mut members = vec![("name".to_owned(), text(namespace))];
        if let Some(facts) = facts {
            members.push(("labels".to_owned(), texts(&facts.labels)));
            members.push(("annotations".to_owned(), texts(&facts.annotations)));
        }
        map(members)
    }

    /// Kind and name of the workload that the object belongs to, else of the object itself.
    fn owner(&self) -> Value {
        let owner = self.ownership().owner();
        map([("kind".to_owned(), text(&owner.kind)), ("name".to_owned(), text(&owner.name))])
    }

    /// What people call the object: the name that is to be made up ends in stars.
    pub(super) fn display_name(&self) -> Value {
        text(&self.ownership().display_name())
    }

    fn ownership(&self) -> Ownership<'e> {
        let Surroundings { subject, received, .. } = self.surroundings;
        Ownership::of(subject.resource, subject.name, received.get("metadata"))
    }
}

/// JSON that came with the request, or null where it is none.
fn parsed(json: &str) -> Value {
    Document::parse(json).map_or(Value::Null, |document| value(document.view()))
}
