//! The exemptions of InjectorSettings in a form that the API server can evaluate. They come before all other checks, so an
//! entry may leave out exempt objects exactly.

use vestibule_rules::{Exemption, LabelRequirement, LabelValues, NAMESPACE_NAME, Settings};

use super::cel::{Metadata, literal};

/// Every exemption that the API server can evaluate, in the forms of a selector or a condition. Conditions cannot read the labels
/// of a namespace other than its name: the injector decides about an exemption that combines such a label with another
/// requirement.
#[derive(Default)]
pub(super) struct Exemptions<'s> {
    /// The labels of namespaces that are not exempt.
    pub(super) namespaces: Vec<(String, LabelValues)>,
    /// The labels of objects that are not exempt. A selector can express them for pods only.
    pub(super) objects: Vec<(String, LabelValues)>,
    /// The exemptions of `objects`.
    of_objects: Vec<&'s Exemption>,
    /// Exemptions for a condition: a selector cannot express "not both".
    combined: Vec<&'s Exemption>,
}

impl<'s> Exemptions<'s> {
    pub(super) fn of(settings: &'s Settings) -> Self {
        let mut exemptions = Self::default();
        let is_condition = |one: &LabelRequirement| one.key() == NAMESPACE_NAME;
        let others = |one: &LabelRequirement| (one.key().to_owned(), one.values().complement());
        for exemption in &settings.exemptions {
            let namespaces = exemption.namespaces.requirements();
            let objects = exemption.objects.requirements();
            match (namespaces, objects, &*exemption.users) {
                ([one], [], []) => exemptions.namespaces.push(others(one)),
                ([], [one], []) => {
                    exemptions.objects.push(others(one));
                    exemptions.of_objects.push(exemption);
                }
                _ if namespaces.iter().all(is_condition) => exemptions.combined.push(exemption),
                _ => {}
            }
        }
        exemptions
    }

    /// Exemptions in CEL, for objects with this metadata; with `all`, also those that a selector expresses for pods.
    pub(super) fn conditions(&self, metadata: &Metadata, all: bool) -> Vec<String> {
        let objects = self.of_objects.iter().filter(|_| all);
        self.combined.iter().chain(objects).map(|exemption| condition(exemption, metadata)).collect()
    }
}

fn condition(exemption: &Exemption, metadata: &Metadata) -> String {
    let mut terms = Vec::new();
    if let Some(names) = exemption.namespaces.by_label().get(NAMESPACE_NAME) {
        terms.extend(names.requirements().into_iter().map(|(operator, names)| {
            let names: Vec<_> = names.iter().map(|name| literal(name)).collect();
            super::cel::requirement(operator, "request.namespace", "true", &names)
        }));
    }
    terms.extend(metadata.meets(&exemption.objects.by_label()));
    let user = |name: &String| match name.strip_suffix('*') {
        Some(start) => format!("request.userInfo.username.startsWith({})", literal(start)),
        None => format!("request.userInfo.username == {}", literal(name)),
    };
    let users: Vec<_> = exemption.users.iter().map(user).collect();
    if !users.is_empty() {
        terms.push(format!("({})", users.join(" || ")));
    }
    terms.join(" && ")
}
