//! The parts of a pod that rules of the cluster wrote. Rules of namespaces may not change them.

use std::collections::{BTreeMap, BTreeSet};

use crate::merge::Draft;
use crate::pod::CONTAINER_LISTS;
use crate::rule::{Base, ContainerPosition, Rule};
use crate::subject::NamedContainer;

/// The parts that a pod has of the rules of the cluster that match it, by name.
pub(crate) struct Protected {
    pub(super) containers: BTreeSet<String>,
    pub(super) volumes: BTreeSet<String>,
    /// Whether a source of variables may be of these rules: a variable of the same name would take precedence.
    pub(super) sources_of_variables: bool,
    /// The last of the containers in each list.
    last: BTreeMap<&'static str, String>,
}

impl Protected {
    /// The parts of `rules`, which match the pod `draft`, also if they are not applied: an earlier call may have applied a rule
    /// that its own changes made false. Names that the pod does not have are free.
    pub(crate) fn of(rules: &[&Rule], draft: &Draft<'_>) -> Self {
        let named = |list| NamedContainer::all(draft.at(&draft.layout.list(list)));
        let volumes: BTreeSet<_> = named("volumes").into_iter().map(|one| one.name).collect();
        let lists = CONTAINER_LISTS.map(|list| (list, named(list)));
        let there: BTreeSet<&str> = lists.iter().flat_map(|(_, found)| found).map(|one| &*one.name).collect();
        let injected = rules.iter().flat_map(|rule| &rule.injected).map(|one| &one.item.key);
        // A container that answers probes decides about the health of all others.
        let answering = rules.iter().filter_map(|rule| Some(rule.rewrite_probes.as_ref()?.container.clone()));
        let containers: BTreeSet<String> =
            injected.filter(|key| there.contains(key.as_str())).cloned().chain(answering).collect();
        let keys = rules.iter().flat_map(|rule| &rule.volumes).map(|item| &item.key);
        let volumes = keys.filter(|key| volumes.contains(key.as_str())).cloned().collect();
        let is_source = |rule: &&Rule| {
            let mut parts = rule.parts();
            parts
                .any(|(place, _)| matches!(place.base, Base::Containers(..)) && place.list == Some("envFrom"))
        };
        let last = lists.iter().filter_map(|(list, found)| {
            let found = found.iter().rfind(|one| containers.contains(&*one.name));
            Some((*list, found?.name.to_string()))
        });
        let last = last.collect();
        Self { containers, volumes, sources_of_variables: rules.iter().any(is_source), last }
    }

    /// A copy of `rule` that excludes these containers from its selections and inserts its own containers after them. A container
    /// that the rule itself adds may have the name of one that a rule of the cluster would add.
    pub(crate) fn restricted(&self, rule: &Rule) -> Rule {
        let mut rule = rule.clone();
        let others =
            self.containers.iter().filter(|name| !rule.injected.iter().any(|one| one.item.key == **name));
        let others: Vec<String> = others.cloned().collect();
        for block in &mut rule.blocks {
            block.select.exclude.extend(others.iter().cloned());
        }
        for one in &mut rule.injected {
            let last = self.last.get(one.list).filter(|last| **last != one.item.key);
            if let Some(last) = last.filter(|_| one.position == ContainerPosition::First) {
                one.position = ContainerPosition::After(last.clone());
            }
        }
        rule
    }
}
