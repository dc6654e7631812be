//! Whom an administrator takes away from all rules, as far as the API server can know: that is decided before all else, so
//! it may be said exactly.

use vestibule_rules::{Exemption, Settings};

use super::condition::label;

/// What keeps all rules away.
pub(super) enum Exempt<'s> {
    Namespaces(&'s [String]),
    NamespaceLabel(&'s str, &'s str),
    ObjectLabel(&'s str, &'s str),
    /// All that has to hold, in CEL: a selector cannot say "not both".
    Condition(String),
}

/// Every exemption that can be said. Conditions do not know the labels of the namespace: where several things must hold and
/// one is such a label, the injector decides.
pub(super) fn all(settings: &Settings) -> impl Iterator<Item = Exempt<'_>> {
    settings.exemptions().iter().filter_map(|exemption| {
        let of_namespace: Vec<_> = exemption.namespace_labels().collect();
        let of_object: Vec<_> = exemption.object_labels().collect();
        match (exemption.namespaces(), &*of_namespace, &*of_object, exemption.users()) {
            (names, [], [], []) => Some(Exempt::Namespaces(names)),
            ([], [(key, value)], [], []) => Some(Exempt::NamespaceLabel(key, value)),
            ([], [], [(key, value)], []) => Some(Exempt::ObjectLabel(key, value)),
            (_, [], ..) => Some(Exempt::Condition(condition(exemption))),
            _ => None,
        }
    })
}

fn condition(exemption: &Exemption) -> String {
    let mut terms = Vec::new();
    if !exemption.namespaces().is_empty() {
        let names: Vec<_> = exemption.namespaces().iter().map(|name| literal(name)).collect();
        terms.push(format!("request.namespace in [{}]", names.join(", ")));
    }
    for (key, value) in exemption.object_labels() {
        // A label that is not there has another value than any.
        let none = if value.is_empty() { "-" } else { "" };
        terms.push(format!("{}.orValue('{none}') == {}", label(&literal(key)), literal(value)));
    }
    let user = |name: &String| match name.strip_suffix('*') {
        Some(start) => format!("request.userInfo.username.startsWith({})", literal(start)),
        None => format!("request.userInfo.username == {}", literal(name)),
    };
    let users: Vec<_> = exemption.users().iter().map(user).collect();
    if !users.is_empty() {
        terms.push(format!("({})", users.join(" || ")));
    }
    terms.join(" && ")
}

/// A text in CEL, which knows the escapes of JSON.
fn literal(text: &str) -> String {
    serde_json::Value::from(text).to_string()
}
