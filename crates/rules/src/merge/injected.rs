//! Injects sidecars and init containers.

use std::borrow::Cow;

use super::context::ContainerInsertion;
use super::{ALL_CONTAINER_LISTS, Failure, Merge, conflict, insertions, json};
use crate::overlay::Overlay;
use crate::rule::{Clause, Injected, Item, OnConflict};

/// The annotation that names the default container of `kubectl logs` and `kubectl exec`.
pub(crate) const DEFAULT_CONTAINER: &str = "kubectl.kubernetes.io/default-container";

impl<'r> Merge<'_, 'r, '_, '_> {
    /// Injects the rule's containers of `list`. Names with the position `first` are added to `firsts`.
    pub(super) fn injected(&mut self, list: &'static str, firsts: &mut Vec<&'r str>) -> Result<(), Failure> {
        let mine: Vec<&Injected> = self.rule.injected.iter().filter(|one| one.list == list).collect();
        if mine.is_empty() {
            return Ok(());
        }
        let pointer = self.draft.layout.list(list);
        let schema = self.draft.shape.containers;
        let items = self.not_overridden(mine.iter().map(|one| &one.item), 0, || list.to_owned());
        let sorted = self.sort(&pointer, list, schema, items)?;
        self.draft.known.note(sorted.present, None, false);
        if !sorted.new.is_empty() {
            for other in ALL_CONTAINER_LISTS {
                self.index_by_keys(&self.draft.layout.list(other), schema);
            }
        }
        let mut new = Vec::new();
        for item in sorted.new {
            if !self.yields_to_container(item, list)? {
                new.push(item.key.as_str());
            }
        }
        let names: Vec<Cow<'_, str>> = self.containers(&pointer).into_iter().map(|one| one.name).collect();
        let user = names.first().filter(|_| list == "containers").map(|name| name.clone().into_owned());
        let injected_names = &self.context.injected_names;
        let mut leading = self.context.leading_in(list).get();
        let insertions =
            insertions::containers(names, &mine, &new, firsts, &mut leading, injected_names, self.rank);
        let first = insertions.iter().find(|(index, _)| *index == 0).map(|(_, item)| *item);
        self.draft.known.note(insertions.iter().map(|(_, item)| *item), None, true);
        let names = insertions.iter().filter_map(|(_, item)| injected_names.find(&item.key)).collect();
        self.inserted.push(ContainerInsertion { list, names, leading });
        self.insert(&pointer, sorted.length, insertions)?;
        self.index_by_keys(&pointer, schema);
        match (first, user) {
            (Some(item), Some(user)) => self.default_container(item, &user),
            _ => Ok(()),
        }
    }

    /// Whether the container `item` is left out because another container has its name or one of its ports.
    fn yields_to_container(&mut self, item: &Item, list: &str) -> Result<bool, Failure> {
        for other in ALL_CONTAINER_LISTS.into_iter().filter(|other| *other != list) {
            if self.container(&self.draft.layout.list(other), &item.key).is_some() {
                let sentence = format!("container `{}` exists already, among `{other}`", item.key);
                // A pod with two containers of one name is invalid, so `override` is a conflict too.
                return match item.on_conflict {
                    OnConflict::Keep => Ok(true),
                    on_conflict => Err(conflict(item, on_conflict, sentence)),
                };
            }
        }
        // A container that ends has released its ports before the containers of other lists start.
        let ends = list == "initContainers" && item.overlay.text("restartPolicy") != Some("Always");
        let lists = if ends { &["initContainers"][..] } else { &ALL_CONTAINER_LISTS };
        self.yields_to_ports(item, item.overlay.items_of("ports"), &item.key, 0, lists)
    }

    /// Whether `item` is left out because another container in `lists` has one of the `ports` that it adds to the container
    /// `owner`, after the first `index` ports of that.
    pub(super) fn yields_to_ports(
        &mut self,
        item: &Item,
        ports: &[Overlay],
        owner: &str,
        index: usize,
        lists: &[&'static str],
    ) -> Result<bool, Failure> {
        match (self.port_conflict(ports, owner, lists), item.on_conflict) {
            (None, _) | (Some(_), OnConflict::Override) => {
                self.context.ports.borrow_mut().iter_mut().for_each(|known| known.add(ports, owner, index));
                Ok(false)
            }
            (Some(_), OnConflict::Keep) => Ok(true),
            (Some(sentence), on_conflict) => Err(conflict(item, on_conflict, sentence)),
        }
    }

    fn default_container(&mut self, item: &Item, user: &str) -> Result<(), Failure> {
        let pointer = self.draft.layout.annotations.child(DEFAULT_CONTAINER);
        if self.draft.at(&pointer).is_some() {
            return Ok(());
        }
        let clause = Clause::new(format!("{}.position", item.clause.text), item.clause.at);
        self.change(&clause, |draft, origin| draft.set(pointer, json::of(user)?, origin))
    }
}
