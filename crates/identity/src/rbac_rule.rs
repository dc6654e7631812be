//! Rules of RBAC roles.

use k8s_openapi::api::rbac::v1::PolicyRule;

/// A rule of a role: these verbs for the objects `names` of one resource, or for all of them without names. A rule with names must
/// not have the verb `create`, because RBAC does not know the name of an object that is created.
#[must_use]
pub fn policy_rule(group: &str, resource: &str, verbs: &[&str], names: &[&str]) -> PolicyRule {
    let list = |words: &[&str]| words.iter().map(|word| (*word).to_owned()).collect::<Vec<_>>();
    PolicyRule {
        api_groups: Some(list(&[group])),
        resources: Some(list(&[resource])),
        resource_names: (!names.is_empty()).then(|| list(names)),
        verbs: list(verbs),
        ..PolicyRule::default()
    }
}

/// The right to write Events.
#[must_use]
pub fn event_rule() -> PolicyRule {
    policy_rule("events.k8s.io", "events", &["create", "patch"], &[])
}
