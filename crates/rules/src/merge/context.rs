//! The state that the rules of one round share.

use std::cell::{Cell, RefCell};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use vestibule_patch::View;

use super::dependencies::RuleDependencies;
use super::injected_names::InjectedNames;
use super::overrides::Overrides;
use super::ports::PortIndex;
use crate::pod::Shape;
use crate::rule::{Policy, Rule};
use crate::subject::Layout;

pub(crate) struct MergeContext<'s> {
    pub(super) layout: &'s Layout,
    pub(super) shape: &'s Shape,
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

impl<'s> MergeContext<'s> {
    /// `spec` finds the pod's specification before the round.
    pub(crate) fn new<'d>(
        rules: &[&'s Rule],
        spec: impl Fn() -> Option<View<'d>>,
        layout: &'s Layout,
        shape: &'s Shape,
    ) -> Self {
        let injected_names = InjectedNames::of(rules);
        let overrides = Overrides::of(rules, spec, &injected_names);
        let dependencies = RefCell::new(RuleDependencies::among(rules.len()));
        let (leading, users, ports) = Default::default();
        Self { layout, shape, overrides, injected_names, dependencies, leading, users, ports }
    }

    /// A checkpoint for [`roll_back`](Self::roll_back).
    pub(crate) fn leading(&self) -> [usize; 2] {
        self.leading.each_ref().map(Cell::get)
    }

    /// Removes the effects of `rule`, the `rank`th, which has failed. `leading` is the checkpoint from before the rule.
    pub(crate) fn roll_back(&self, rank: usize, rule: &Rule, leading: [usize; 2]) {
        self.dependencies.borrow_mut().containers_removed(rank);
        self.leading.iter().zip(leading).for_each(|(now, before)| now.set(before));
        let overrides = rule.parts().any(|(_, item)| item.policy == Policy::Override);
        // The rule may have removed ports that are back now. Additional ports in the index do no harm.
        if overrides || !rule.removals.is_empty() {
            self.ports.take();
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
