//! Reserved namespaces: only exempt users may create, change or delete them and their objects. Start at [`app`].

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
    let by_group = user.groups.iter().any(|group| exempt.groups.contains(group));
    if by_group || exempt.users.contains(&user.username) {
        return Ok(());
    }
    let namespace = context.namespace().or(context.name()).unwrap_or_default();
    Err(deny(format!("namespace {namespace} is reserved, and {} is not exempt", user.username)))
}

impl Reservation {
    /// Whether the namespace is reserved, in CEL. A Namespace is its own; made by `generateName`, it has only a name.
    fn expression(&self) -> String {
        let tests = self.namespaces.iter().map(|reserved| match reserved.strip_suffix('*') {
            Some(start) => format!("name.startsWith('{start}')"),
            None => format!("name == '{reserved}'"),
        });
        let tests = tests.collect::<Vec<_>>().join(" || ");
        format!("[has(request.namespace) ? request.namespace : request.name].exists(name, {tests})")
    }
}
