//! Sidecars and init containers.

use std::borrow::Cow;

use super::{CONTAINER_LISTS, Failure, Merge, conflict, json, insertions};
use crate::overlay::Overlay;
use crate::rule::{Clause, Injected, Item, Policy};

/// The annotation that tells `kubectl logs` and `kubectl exec` which container is meant.
pub(crate) const DEFAULT_CONTAINER: &str = "kubectl.kubernetes.io/default-container";

impl<'r> Merge<'_, 'r, '_, '_> {
    /// Adds to `firsts` what the rule puts first.
    pub(super) fn injected(&mut self, list: &'static str, firsts: &mut Vec<&'r str>) -> Result<(), Failure> {
        let mine: Vec<&Injected> = self.rule.injected.iter().filter(|one| one.list == list).collect();
        if mine.is_empty() {
            return Ok(());
        }
        let pointer = self.context.layout.list(list);
        let schema = self.context.shape.containers;
        let items = self.unclaimed(mine.iter().map(|one| &one.item), 0, || list.to_owned());
        let sorted = self.sort(&pointer, list, schema, items)?;
        self.override_items(&pointer, schema, &sorted)?;
        self.draft.known_present().note(sorted.held, None, false);
        if !sorted.new.is_empty() {
            for other in CONTAINER_LISTS {
                self.index(&self.context.layout.list(other), other, schema, []);
            }
        }
        let mut new = Vec::new();
        for item in sorted.new {
            if !self.taken(item, list)? {
                new.push(item.key.as_str());
            }
        }
        let names: Vec<Cow<'_, str>> = self.containers(&pointer).into_iter().map(|one| one.name).collect();
        let user = names.first().filter(|_| list == "containers").map(|name| name.clone().into_owned());
        let (lead, brought) = (self.context.lead(list), &self.context.brought);
        let mut leading = lead.get();
        let insertions = insertions::containers(names, &mine, &new, firsts, &mut leading, brought, self.rank);
        lead.set(leading);
        let leading = insertions.iter().find(|(index, _)| *index == 0).map(|(_, item)| *item);
        self.draft.known_present().note(insertions.iter().map(|(_, item)| *item), None, true);
        let come = insertions.iter().filter_map(|(_, item)| brought.find(&item.key));
        self.context.dependencies.borrow_mut().come(self.rank, list, come);
        self.insert(&pointer, sorted.length, insertions)?;
        self.index(&pointer, list, schema, []);
        match (leading, user) {
            (Some(item), Some(user)) => self.default_container(item, &user),
            _ => Ok(()),
        }
    }

    /// Whether `item` has to be left out because of what other containers are called or listen to.
    fn taken(&mut self, item: &Item, list: &str) -> Result<bool, Failure> {
        for other in CONTAINER_LISTS.into_iter().filter(|other| *other != list) {
            if self.container(&self.context.layout.list(other), &item.key).is_some() {
                let sentence = format!("container `{}` exists already, among `{other}`", item.key);
                // Two containers of one name are no valid pod, so there is nothing to override.
                return match item.policy {
                    Policy::Keep => Ok(true),
                    policy => Err(conflict(item, policy, sentence)),
                };
            }
        }
        let ports = item.overlay.get("ports").map(Overlay::items).unwrap_or_default();
        self.listens_elsewhere(item, ports, &item.key, 0)
    }

    /// Whether `item` has to be left out because other containers listen to the `ports` that it brings to `owner`, behind so many
    /// others.
    pub(super) fn listens_elsewhere(
        &mut self,
        item: &Item,
        ports: &[Overlay],
        owner: &str,
        behind: usize,
    ) -> Result<bool, Failure> {
        match (self.port_clash(ports, owner), item.policy) {
            (None, _) | (Some(_), Policy::Override) => {
                self.context.ports.borrow_mut().iter_mut().for_each(|known| known.take(ports, owner, behind));
                Ok(false)
            }
            (Some(_), Policy::Keep) => Ok(true),
            (Some(sentence), policy) => Err(conflict(item, policy, sentence)),
        }
    }

    fn default_container(&mut self, item: &Item, user: &str) -> Result<(), Failure> {
        let pointer = self.context.layout.annotations.child(DEFAULT_CONTAINER);
        if self.draft.at(&pointer).is_some() {
            return Ok(());
        }
        let clause = Clause { text: format!("{}.position", item.clause.text).into(), at: item.clause.at };
        self.change(&clause, |draft, origin| draft.set(pointer, json::text(user)?, origin))
    }
}
