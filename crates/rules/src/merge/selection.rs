//! Which containers of the pod a block or a removal selects.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use vestibule_patch::{Pointer, View};

use super::Merge;
use super::injected_names::InjectedNames;
use super::list_index::ListIndex;
use crate::rule::{Select, SelectBy};
use crate::subject::{NamedContainer, string_member};

impl Merge<'_, '_, '_, '_> {
    /// The same as [`selected`](Self::selected), with indexes of the lists if lookups are frequent.
    pub(super) fn selected_by_index(&mut self, select: &Select) -> Vec<(Pointer, Arc<str>)> {
        for list in select.lists() {
            self.index_by_keys(&self.draft.layout.list(list), self.draft.shape.containers);
        }
        self.selected(select)
    }

    /// The pointers and names of the containers that `select` selects.
    pub(super) fn selected(&self, select: &Select) -> Vec<(Pointer, Arc<str>)> {
        let (injected_names, dependencies) = (&self.context.injected_names, &self.context.dependencies);
        let mine: Vec<&str> = self.inserted.iter().flat_map(|one| &one.names).copied().collect();
        let of_others = |name: &str| injected_names.find(name).filter(|name| !mine.contains(name));
        let mut selected = Vec::new();
        for list in select.lists() {
            let pointer = self.draft.layout.list(list);
            let users = if let Some((positions, users)) = self.users(list, &pointer, select) {
                dependencies.borrow_mut().selects(self.rank, list, positions.keys().filter_map(of_others));
                users
            } else {
                let containers = self.containers(&pointer);
                let injected = containers.iter().filter_map(|one| of_others(&one.name));
                dependencies.borrow_mut().selects(self.rank, list, injected);
                users_among(containers, injected_names)
            };
            let found = select_users(&users, select);
            selected.extend(found.map(|one| (pointer.item(one.index), Arc::from(&*one.container.name))));
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
    ) -> Option<(&ListIndex, Vec<User<'_>>)> {
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
            let container = NamedContainer { name: Cow::Owned(name.to_owned()), view: found.item(index)? };
            Some(User { index, container })
        };
        if let SelectBy::Names(names) = &select.which {
            let wanted = names.iter().filter(|name| !injected_names.has(name));
            let mut selected: Vec<_> = wanted.filter_map(|name| user(name)).collect();
            selected.sort_by_key(|user| user.index);
            selected.dedup_by_key(|user| user.index);
            return Some((positions, selected));
        }
        Some((positions, users.iter().map(|name| user(name)).collect::<Option<_>>()?))
    }
}

/// A container that no rule injects, with its index in its list.
pub(super) struct User<'d> {
    pub(super) index: usize,
    pub(super) container: NamedContainer<'d>,
}

/// The containers of `list` that no rule injects.
pub(super) fn users_of<'d>(list: Option<View<'d>>, injected_names: &InjectedNames<'_>) -> Vec<User<'d>> {
    users_among(NamedContainer::all(list), injected_names)
}

fn users_among<'d>(containers: Vec<NamedContainer<'d>>, injected_names: &InjectedNames<'_>) -> Vec<User<'d>> {
    let all = containers.into_iter().enumerate().map(|(index, container)| User { index, container });
    all.filter(|user| !injected_names.has(&user.container.name)).collect()
}

/// The `users` that `select` selects. Injected containers are never selected.
pub(super) fn select_users<'c, 'd>(
    users: &'c [User<'d>],
    select: &Select,
) -> impl Iterator<Item = &'c User<'d>> {
    let selected = users.iter().enumerate().filter(|(number, user)| {
        let NamedContainer { name, view } = &user.container;
        let has_name = |wanted: &String| *wanted == **name;
        !select.exclude.iter().any(has_name)
            && match &select.which {
                SelectBy::All => true,
                SelectBy::Names(names) => names.iter().any(has_name),
                SelectBy::Index(index) => index == number,
                SelectBy::Images(images) => {
                    let image = string_member(*view, "image").unwrap_or_default();
                    images.iter().any(|wanted| *wanted == image || *wanted == repository(&image))
                }
            }
    });
    selected.map(|(_, user)| user)
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
