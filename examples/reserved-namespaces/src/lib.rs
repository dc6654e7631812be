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
    ]);
    let on = on.match_condition("reserved", &reservation.expression()).failure_policy(FailurePolicy::Fail);
    App::new("reserved-namespaces").state(reservation).validate("exempt-only", on, exempt_only)
}

async fn exempt_only(_: Change<RawObject>, context: Context) -> Result<(), Reject> {
    let (exempt, user) = (context.state::<Reservation>()?, context.user());
    if exempt.users.contains(&user.username) || user.groups.iter().any(|one| exempt.groups.contains(one)) {
        return Ok(());
    }
    let namespace = context.namespace().or(context.name()).unwrap_or_default();
    Err(deny(format!("namespace {namespace} is reserved, and {} is not exempt", user.username)))
}

impl Reservation {
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
