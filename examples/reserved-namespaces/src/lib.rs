//! Reserved namespaces: only exempt users change anything in them, or create and delete them.

use vestibule::Operation::{Create, Delete, Update};
use vestibule::{App, Change, Context, FailurePolicy, RawObject, Reject, Rule, Scope, deny, on_rules};

/// The reserved namespaces, and the exempt users and groups.
pub struct Reservation {
    /// Names of namespaces. One that ends in `*` stands for all that begin so.
    pub namespaces: Vec<String>,
    /// Users who may do anything.
    pub users: Vec<String>,
    /// Groups whose members may.
    pub groups: Vec<String>,
}

/// One hook, called only for reserved namespaces and for objects in them.
pub fn app(reservation: Reservation) -> App {
    let on = on_rules([
        Rule::new("v1", "namespaces", [Create, Update, Delete]),
        Rule::new("*/*", "*/*", [Create]).scope(Scope::Namespaced), // evictions and tokens, too
        Rule::new("*/*", "*", [Update, Delete]).scope(Scope::Namespaced),
        Rule::new("*/*", "*/scale", [Update]),
        Rule::new("v1", "pods/*", [Update]), // ephemeral containers and resizing, too
    ]);
    let on = on.match_condition("reserved", &reservation.expression()).failure_policy(FailurePolicy::Fail);
    let decide = move |_: Change<RawObject>, call: Context| std::future::ready(reservation.decide(&call));
    App::new("reserved-namespaces").validate("exempt-only", on, decide)
}

impl Reservation {
    fn decide(&self, context: &Context) -> Result<(), Reject> {
        let (user, namespace) = (context.user(), context.namespace().or(context.name()).unwrap_or_default());
        if self.users.contains(&user.username) || user.groups.iter().any(|one| self.groups.contains(one)) {
            return Ok(());
        }
        Err(deny(format!("namespace {namespace} is reserved, and {} is not exempt", user.username)))
    }

    /// Whether the namespace is reserved, in CEL. A Namespace is its own; made by `generateName`, it has only a name.
    fn expression(&self) -> String {
        let test = |reserved: &String| match reserved.strip_suffix('*') {
            Some(start) => format!("name.startsWith('{start}')"),
            None => format!("name == '{reserved}'"),
        };
        let tests = self.namespaces.iter().map(test).collect::<Vec<_>>().join(" || ");
        format!("[has(request.namespace) ? request.namespace : request.name].exists(name, {tests})")
    }
}
