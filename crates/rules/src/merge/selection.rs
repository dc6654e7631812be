//! Which containers of the pod a block or a removal selects.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use vestibule_patch::Pointer;

use super::Merge;
use super::injected_names::InjectedNames;
use super::list_index::Positions;
use crate::rule::{Select, SelectBy};
use crate::subject::{NamedContainer, written};

impl Merge<'_, '_, '_, '_> {
    /// The same as [`selected`](Self::selected), with indexes of the lists if lookups are frequent.
    pub(super) fn selected_by_index(&mut self, select: &Select) -> Vec<(Pointer, Arc<str>)> {
        for list in select.lists() {
            self.index(&self.context.layout.list(list), list, self.context.shape.containers, []);
        }
        self.selected(select)
    }

    /// The pointers and names of the containers that `select` selects.
    pub(super) fn selected(&self, select: &Select) -> Vec<(Pointer, Arc<str>)> {
        let (injected_names, dependencies) = (&self.context.injected_names, &self.context.dependencies);
        let mut selected = Vec::new();
        for list in select.lists() {
            let pointer = self.context.layout.list(list);
            let mut add = |found: Vec<(usize, &str)>| {
                let found = found.into_iter().map(|(index, name)| (pointer.item(index), Arc::from(name)));
                selected.extend(found);
            };
            if let Some((positions, users)) = self.users(list, &pointer, select) {
                let injected = positions.keys().filter_map(|name| injected_names.find(name));
                dependencies.borrow_mut().selects(self.rank, list, injected);
                add(select_users(users.iter().map(|(index, one)| (*index, one)), select));
            } else {
                let containers = self.containers(&pointer);
                let injected = containers.iter().filter_map(|one| injected_names.find(&one.name));
                dependencies.borrow_mut().selects(self.rank, list, injected);
                add(select_containers(&containers, select, injected_names));
            }
        }
        selected
    }

    /// The containers in `list` that no rule injects and `select` may select, with their indices; `None` if the list has no index.
    /// Their names and order stay the same while rules insert containers, so the names are kept.
    fn users(
        &self,
        list: &'static str,
        pointer: &Pointer,
        select: &Select,
    ) -> Option<(&Positions, Vec<(usize, NamedContainer<'_>)>)> {
        let (positions, found) = (self.draft.by_keys(pointer)?, self.draft.at(pointer)?);
        let injected_names = &self.context.injected_names;
        let mut users = self.context.users.borrow_mut();
        let users = users.entry(list).or_insert_with(|| {
            let users = positions.keys().filter(|name| !injected_names.has(name));
            let users: Vec<Arc<str>> = users.map(Arc::from).collect();
            // If several containers have one name, the index has only the last.
            (users.iter().collect::<HashSet<_>>().len() == users.len()).then_some(users)
        });
        let users = users.as_ref()?;
        let user = |name: &str| {
            let index = positions.find(name)?;
            Some((index, NamedContainer { name: Cow::Owned(name.to_owned()), view: found.item(index)? }))
        };
        if let SelectBy::Names(names) = &select.which {
            let wanted = names.iter().filter(|name| !injected_names.has(name));
            let mut selected: Vec<_> = wanted.filter_map(|name| user(name)).collect();
            selected.sort_by_key(|(index, _)| *index);
            selected.dedup_by_key(|(index, _)| *index);
            return Some((positions, selected));
        }
        Some((positions, users.iter().map(|name| user(name)).collect::<Option<_>>()?))
    }
}

/// Indices and names of the containers that `select` selects. Injected containers are never selected.
pub(super) fn select_containers<'c>(
    containers: &'c [NamedContainer<'_>],
    select: &Select,
    injected_names: &InjectedNames<'_>,
) -> Vec<(usize, &'c str)> {
    select_users(containers.iter().enumerate().filter(|(_, one)| !injected_names.has(&one.name)), select)
}

/// The same for `users`: the containers that no rule injects, with their indices.
pub(super) fn select_users<'c, 'd: 'c>(
    users: impl Iterator<Item = (usize, &'c NamedContainer<'d>)>,
    select: &Select,
) -> Vec<(usize, &'c str)> {
    let selected = users.enumerate().filter(|(number, (_, NamedContainer { name, view }))| {
        let has_name = |wanted: &String| *wanted == **name;
        !select.exclude.iter().any(has_name)
            && match &select.which {
                SelectBy::All => true,
                SelectBy::Names(names) => names.iter().any(has_name),
                SelectBy::Index(index) => index == number,
                SelectBy::Images(images) => {
                    let image = written(Some(*view), "image").unwrap_or_default();
                    images.iter().any(|wanted| *wanted == image || *wanted == repository(&image))
                }
            }
    });
    selected.map(|(_, (index, one))| (index, &*one.name)).collect()
}

/// An image reference without tag and digest.
fn repository(image: &str) -> &str {
    let image = image.split_once('@').map_or(image, |(name, _)| name);
    match image.rsplit_once(':') {
        // A colon before the last slash separates the registry's port.
        Some((name, tag)) if !tag.contains('/') => name,
        _ => image,
    }
}
