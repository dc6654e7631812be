//! The exemptions of InjectorSettings in a form that the API server can evaluate. They come before all other checks, so an
//! entry may leave out exempt objects exactly.

use vestibule_rules::{Exemption, Settings};

use super::cel::{label, literal};

/// An exemption as a part of a selector or as a condition.
pub(super) enum SelectableExemption<'s> {
    Namespaces(&'s [String]),
    NamespaceLabel(&'s str, &'s str),
    ObjectLabel(&'s str, &'s str),
    /// The exemption in CEL: a selector cannot express "not both".
    Condition(String),
}

/// Every exemption that the API server can evaluate. Conditions cannot read the labels of a namespace: the injector decides
/// about an exemption that combines such a label with another requirement.
pub(super) fn all(settings: &Settings) -> impl Iterator<Item = SelectableExemption<'_>> {
    settings.exemptions().iter().filter_map(|exemption| {
        let namespace_labels: Vec<_> = exemption.namespace_labels().collect();
        let object_labels: Vec<_> = exemption.object_labels().collect();
        match (exemption.namespaces(), &*namespace_labels, &*object_labels, exemption.users()) {
            (names, [], [], []) => Some(SelectableExemption::Namespaces(names)),
            ([], [(key, value)], [], []) => Some(SelectableExemption::NamespaceLabel(key, value)),
            ([], [], [(key, value)], []) => Some(SelectableExemption::ObjectLabel(key, value)),
            (_, [], ..) => Some(SelectableExemption::Condition(condition(exemption))),
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
        // The default differs from the wanted value, so that an absent label is no match.
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
