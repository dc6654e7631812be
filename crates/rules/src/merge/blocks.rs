//! What a rule adds to containers that are there.

use std::borrow::Cow;
use std::collections::HashSet;
use std::sync::Arc;

use vestibule_patch::{List, Pointer};

use super::index::Places;
use super::{Brought, Failure, Merge, index, place};
use crate::rule::{Block, Select, SelectBy};
use crate::subject::{Named, written};

impl<'r> Merge<'_, 'r, '_, '_> {
    pub(super) fn block(&mut self, number: usize, block: &'r Block) -> Result<(), Failure> {
        let container = self.scene.shape.container;
        let lists: Vec<_> = block.lists.iter().map(|entry| (entry, container.field(entry.member))).collect();
        for (pointer, scope) in self.selected_by_index(&block.select) {
            for (entry, schema) in &lists {
                let (list, schema) = (pointer.child(entry.member), *schema);
                let items = self.unclaimed(&entry.items, number, || format!("{scope}/{}", entry.member));
                let mut sorted = self.sort(&list, entry.member, schema, items)?;
                self.override_items(&list, schema, &sorted)?;
                self.draft.held().note(sorted.held, Some(&scope), false);
                if entry.member == "ports" {
                    let mut free = Vec::new();
                    for item in sorted.new {
                        let (port, behind) =
                            (std::slice::from_ref(&item.overlay), sorted.length + free.len());
                        if !self.listens_elsewhere(item, port, &scope, behind)? {
                            free.push(item);
                        }
                    }
                    sorted.new = free;
                }
                if sorted.new.is_empty() {
                    continue;
                }
                let insertions = match entry.member {
                    "env" => place::variables(self.draft.by_keys(&list), || self.existing(&list), sorted.new),
                    // Of two sources that set one variable the later counts, and the user's must.
                    "envFrom" => place::at(0, sorted.new),
                    _ => place::at(sorted.length, sorted.new),
                };
                self.draft.held().note(insertions.iter().map(|(_, item)| *item), Some(&scope), true);
                self.insert(&list, sorted.length, insertions)?;
                // Of many, each is looked for again.
                if entry.items.len() >= index::FEW && !matches!(schema.list(), List::Map(_)) {
                    self.index(&list, entry.member, schema, entry.items.iter().map(|item| &item.overlay));
                }
            }
            self.parts(&pointer, &scope, number, container, &block.parts)?;
        }
        Ok(())
    }

    /// The same as [`selected`](Self::selected), for whoever looks while many others do.
    pub(super) fn selected_by_index(&mut self, select: &Select) -> Vec<(Pointer, Arc<str>)> {
        for list in select.lists() {
            self.index(&self.scene.layout.list(list), list, self.scene.shape.containers, []);
        }
        self.selected(select)
    }

    /// The places and names of the containers that a block is for.
    pub(super) fn selected(&self, select: &Select) -> Vec<(Pointer, Arc<str>)> {
        let (brought, heeded) = (&self.scene.brought, &self.scene.heeded);
        let mut selected = Vec::new();
        for list in select.lists() {
            let pointer = self.scene.layout.list(list);
            let mut select_of = |meant: Vec<(usize, &str)>| {
                let meant = meant.into_iter().map(|(index, name)| (pointer.item(index), Arc::from(name)));
                selected.extend(meant);
            };
            if let Some((places, users)) = self.users(list, &pointer, select) {
                let names = places.keys().filter_map(|name| brought.find(name));
                heeded.borrow_mut().pass_over(self.rank, list, names);
                select_of(selected_of(users.iter().map(|(index, one)| (*index, one)), select));
            } else {
                let containers = self.containers(&pointer);
                let names = containers.iter().filter_map(|one| brought.find(&one.name));
                heeded.borrow_mut().pass_over(self.rank, list, names);
                select_of(selectable(&containers, select, brought));
            }
        }
        selected
    }

    /// The containers that rules do not bring and `select` may mean, with their places, where many rules look: they stay the
    /// same, and in the same order, whatever comes between them.
    fn users(
        &self,
        list: &'static str,
        pointer: &Pointer,
        select: &Select,
    ) -> Option<(&Places, Vec<(usize, Named<'_>)>)> {
        let (places, found) = (self.draft.by_keys(pointer)?, self.draft.at(pointer)?);
        let mut users = self.scene.users.borrow_mut();
        let users = users.entry(list).or_insert_with(|| {
            let users = places.keys().filter(|name| !self.scene.brought.has(name));
            let users: Vec<Arc<str>> = users.map(Arc::from).collect();
            // Of doubled names an index knows the last.
            (users.iter().collect::<HashSet<_>>().len() == users.len()).then_some(users)
        });
        let users = users.as_ref()?;
        let user = |name: &str| {
            let index = places.find(name)?;
            Some((index, Named { name: Cow::Owned(name.to_owned()), view: found.item(index)? }))
        };
        // Whoever names them has no need to go through the others.
        if let SelectBy::Names(names) = &select.which {
            let wanted = names.iter().filter(|name| !self.scene.brought.has(name));
            let mut meant: Vec<_> = wanted.filter_map(|name| user(name)).collect();
            meant.sort_by_key(|(index, _)| *index);
            meant.dedup_by_key(|(index, _)| *index);
            return Some((places, meant));
        }
        Some((places, users.iter().map(|name| user(name)).collect::<Option<_>>()?))
    }
}

/// Index and name of the containers that `select` means; those that rules brought are never meant.
pub(crate) fn selectable<'c>(
    containers: &'c [Named<'_>],
    select: &Select,
    brought: &Brought<'_>,
) -> Vec<(usize, &'c str)> {
    selected_of(containers.iter().enumerate().filter(|(_, one)| !brought.has(&one.name)), select)
}

/// The same of `users`, which no rule brought, with their indices.
pub(crate) fn selected_of<'c, 'd: 'c>(
    users: impl Iterator<Item = (usize, &'c Named<'d>)>,
    select: &Select,
) -> Vec<(usize, &'c str)> {
    let meant = users.enumerate().filter(|(position, (_, Named { name, view }))| {
        let is_it = |wanted: &String| *wanted == **name;
        !select.exclude.iter().any(is_it)
            && match &select.which {
                SelectBy::All => true,
                SelectBy::Names(names) => names.iter().any(is_it),
                SelectBy::Index(index) => index == position,
                SelectBy::Images(images) => {
                    let image = written(Some(*view), "image").unwrap_or_default();
                    images.iter().any(|wanted| *wanted == image || *wanted == repository(&image))
                }
            }
    });
    meant.map(|(_, (index, one))| (index, &*one.name)).collect()
}

/// An image reference without tag and digest.
fn repository(image: &str) -> &str {
    let image = image.split_once('@').map_or(image, |(name, _)| name);
    match image.rsplit_once(':') {
        // A colon before the last slash is a registry's port.
        Some((name, tag)) if !tag.contains('/') => name,
        _ => image,
    }
}
