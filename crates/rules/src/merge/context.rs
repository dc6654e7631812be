//! The state that the rules of one round share.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use super::dependencies::RuleDependencies;
use super::draft::Draft;
use super::injected_names::InjectedNames;
use super::overrides::Overrides;
use super::ports::PortIndex;
use crate::rule::{OnConflict, Rule};

pub(crate) struct MergeContext<'s> {
    /// The rules of the round, before the values of their expressions are known.
    pub(super) rules: &'s [&'s Rule],
    pub(super) overrides: Overrides,
    /// The containers that rules inject. Blocks do not select them.
    pub(super) injected_names: InjectedNames<'s>,
    pub(super) dependencies: RefCell<RuleDependencies<'s>>,
    /// How many containers at the beginning of `initContainers`, and of `containers`, are known to have the position `first`.
    leading: [Cell<usize>; 2],
    /// The names of the containers in a list that no rule injects; kept if many rules select containers.
    pub(super) users: RefCell<HashMap<&'static str, Option<Vec<Arc<str>>>>>,
    /// The ports of all containers; kept if many rules, or one rule, add many ports.
    pub(super) ports: RefCell<Option<PortIndex>>,
}

/// The containers that a rule has inserted into one list.
pub(super) struct ContainerInsertion<'s> {
    pub(super) list: &'static str,
    pub(super) names: Vec<&'s str>,
    /// See [`MergeContext::leading`].
    pub(super) leading: usize,
}

impl<'s> MergeContext<'s> {
    /// For a round of `rules` that begins with `start`.
    pub(crate) fn new(rules: &'s [&'s Rule], start: &Draft<'_>) -> Self {
        let injected_names = InjectedNames::of(rules);
        let overrides = Overrides::of(rules, start, &injected_names);
        let dependencies = RefCell::new(RuleDependencies::among(rules.len()));
        let (leading, users, ports) = Default::default();
        Self { rules, overrides, injected_names, dependencies, leading, users, ports }
    }

    /// Removes the effects of `rule`, which has failed.
    pub(crate) fn roll_back(&self, rule: &Rule) {
        let overrides = rule.parts().any(|(_, item)| item.on_conflict == OnConflict::Override);
        // The rule may have removed ports that are back now. Additional ports in the index do no harm.
        if overrides || !rule.removals.is_empty() {
            self.ports.take();
        }
    }

    /// Keeps the effects of a rule that has succeeded.
    pub(super) fn keep(&self, insertions: &[ContainerInsertion<'s>]) {
        for ContainerInsertion { list, names, leading } in insertions {
            self.leading_in(list).set(*leading);
            names.iter().for_each(|name| self.dependencies.borrow_mut().inserted(list, name));
        }
    }

    /// The number of leading containers in `list`.
    pub(super) fn leading_in(&self, list: &str) -> &Cell<usize> {
        let [init, others] = &self.leading;
        if list == "initContainers" { init } else { others }
    }

    /// See [`RuleDependencies::independent_failures`].
    pub(crate) fn independent_failures(&self, failed: &[(usize, &Rule)]) -> HashSet<usize> {
        self.dependencies.borrow().independent_failures(failed)
    }
}

#[cfg(test)]
mod tests {
    use vestibule_patch::{Document, Schema};

    use super::{ContainerInsertion, MergeContext};
    use crate::merge::Draft;
    use crate::pod::Shape;
    use crate::rule::Resource;
    use crate::subject::Layout;

    #[test]
    fn the_containers_of_a_rule_that_succeeded_are_kept() {
        let document = Document::parse("{}").unwrap();
        let draft = Draft::new(document, Layout::of(Resource::Pods), Shape::of(Schema::unknown()));
        let context = MergeContext::new(&[], &draft);
        context.keep(&[ContainerInsertion { list: "containers", names: vec!["c"], leading: 1 }]);
        assert_eq!(["initContainers", "containers"].map(|list| context.leading_in(list).get()), [0, 1]);
    }
}
