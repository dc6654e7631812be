//! The parts of a pod that rules of the cluster wrote. Rules of namespaces may not change them.

use std::collections::{BTreeMap, BTreeSet};

use crate::merge::Draft;
use crate::pod::CONTAINER_LISTS;
use crate::rule::{Base, ContainerPosition, Rule};
use crate::subject::NamedContainer;

/// The parts of the rules of the cluster that apply to a pod, by name.
pub(crate) struct Protected {
    pub(super) containers: BTreeSet<String>,
    pub(super) volumes: BTreeSet<String>,
    /// Whether containers of the pod get sources of variables: a variable of the same name would take precedence.
    pub(super) sources_of_variables: bool,
    /// The last of the containers in each list.
    last: BTreeMap<&'static str, String>,
}

impl Protected {
    /// The parts of `rules`, which were applied to `draft`.
    pub(crate) fn of(rules: &[&Rule], draft: &Draft<'_>) -> Self {
        let injected = rules.iter().flat_map(|rule| &rule.injected);
        // A container that answers probes decides about the health of all others.
        let answering = rules.iter().filter_map(|rule| Some(rule.rewrite_probes.as_ref()?.container.clone()));
        let containers: BTreeSet<String> =
            injected.map(|one| one.item.key.clone()).chain(answering).collect();
        let volumes = rules.iter().flat_map(|rule| &rule.volumes).map(|item| item.key.clone()).collect();
        let is_source = |rule: &&Rule| {
            let mut parts = rule.parts();
            parts
                .any(|(place, _)| matches!(place.base, Base::Containers(..)) && place.list == Some("envFrom"))
        };
        let mut last = BTreeMap::new();
        for list in CONTAINER_LISTS {
            let found = NamedContainer::all(draft.at(&draft.layout.list(list)));
            let found = found.into_iter().rfind(|one| containers.contains(&*one.name));
            last.extend(found.map(|one| (list, one.name.into_owned())));
        }
        Self { containers, volumes, sources_of_variables: rules.iter().any(is_source), last }
    }

    /// A copy of `rule` that excludes these containers from its selections and inserts its own containers after them.
    pub(crate) fn restricted(&self, rule: &Rule) -> Rule {
        let mut rule = rule.clone();
        for block in &mut rule.blocks {
            block.select.exclude.extend(self.containers.iter().cloned());
        }
        for one in &mut rule.injected {
            if let Some(last) = self.last.get(one.list).filter(|_| one.position == ContainerPosition::First) {
                one.position = ContainerPosition::After(last.clone());
            }
        }
        rule
    }
}
