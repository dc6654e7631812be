//! The exemptions of InjectorSettings in a form that the API server can evaluate. They come before all other checks, so an
//! entry may leave out exempt objects exactly.

use vestibule_rules::{Exemption, Settings};

use super::cel::{label, literal};

/// Every exemption that the API server can evaluate, in the forms of a selector or a condition. Conditions cannot read the labels
/// of a namespace: the injector decides about an exemption that combines such a label with another requirement.
#[derive(Default)]
pub(super) struct Exemptions {
    /// The names of exempt namespaces.
    pub(super) namespaces: Vec<String>,
    /// Requirements on the labels of a namespace.
    pub(super) namespace_labels: Vec<String>,
    /// Requirements on the labels of an object.
    pub(super) object_labels: Vec<String>,
    /// Exemptions in CEL: a selector cannot express "not both".
    pub(super) conditions: Vec<String>,
}

impl Exemptions {
    pub(super) fn of(settings: &Settings) -> Self {
        let mut exemptions = Self::default();
        for exemption in settings.exemptions() {
            let namespace_labels: Vec<_> = exemption.namespace_labels().collect();
            let object_labels: Vec<_> = exemption.object_labels().collect();
            match (exemption.namespaces(), &*namespace_labels, &*object_labels, exemption.users()) {
                (names, [], [], []) => exemptions.namespaces.extend_from_slice(names),
                ([], [(key, value)], [], []) => exemptions.namespace_labels.push(format!("{key}!={value}")),
                ([], [], [(key, value)], []) => exemptions.object_labels.push(format!("{key}!={value}")),
                (_, [], ..) => exemptions.conditions.push(condition(exemption)),
                _ => {}
            }
        }
        exemptions
    }
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
