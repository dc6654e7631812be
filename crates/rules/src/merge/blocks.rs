//! What a rule adds to containers that are there.

use std::collections::HashSet;

use vestibule_patch::{Pointer, View};

use super::{Failure, Merge, place};
use crate::rule::{Block, Select, Which};
use crate::subject::text;

impl<'r> Merge<'_, 'r, '_, '_> {
    pub(super) fn block(&mut self, index: usize, block: &'r Block) -> Result<(), Failure> {
        let container = self.scene.pod.field("spec").field("containers").item();
        for (pointer, scope) in self.selected(&block.select) {
            for entry in &block.lists {
                let list = pointer.child(entry.member);
                let schema = container.field(entry.member);
                let items = self.unclaimed(&entry.items, &format!("{scope}/{}", entry.member), index);
                let mut sorted = self.sort(&list, entry.member, schema, items)?;
                self.override_items(&list, schema, &sorted)?;
                if entry.member == "ports" {
                    let mut free = Vec::new();
                    for item in sorted.new {
                        if !self.listens_elsewhere(item, std::slice::from_ref(&item.overlay), &scope)? {
                            free.push(item);
                        }
                    }
                    sorted.new = free;
                }
                if sorted.new.is_empty() {
                    continue;
                }
                let insertions = match entry.member {
                    "env" => place::variables(&self.existing(&list), sorted.new),
                    // Of two sources that set one variable the later counts, and the user's must.
                    "envFrom" => place::at(0, sorted.new),
                    _ => place::at(sorted.length, sorted.new),
                };
                self.insert(&list, sorted.length, insertions)?;
            }
            self.parts(&pointer, &scope, index, container, &block.parts)?;
        }
        Ok(())
    }

    /// The places and names of the containers that a block is for.
    pub(super) fn selected(&self, select: &Select) -> Vec<(Pointer, String)> {
        let lists: &[&str] = if select.init { &["containers", "initContainers"] } else { &["containers"] };
        let mut selected = Vec::new();
        for list in lists {
            let pointer = self.scene.layout.spec.child(list);
            let users = selectable(&self.existing(&pointer), select, &self.scene.owned);
            selected.extend(users.into_iter().map(|(index, name)| (pointer.item(index), name)));
        }
        selected
    }
}

/// Index and name of the containers that `select` means; those that rules brought are never meant.
pub(crate) fn selectable(
    containers: &[View<'_>],
    select: &Select,
    owned: &HashSet<&str>,
) -> Vec<(usize, String)> {
    let named = |container: &View<'_>| text(Some(*container), "name").unwrap_or_default();
    let all = containers.iter().enumerate().map(|(index, container)| (index, named(container), *container));
    let users = all.filter(|(_, name, _)| !owned.contains(name.as_str())).enumerate();
    let meant = users.filter(|(position, (_, name, container))| {
        !select.exclude.contains(name)
            && match &select.which {
                Which::All => true,
                Which::Names(names) => names.contains(name),
                Which::Index(index) => index == position,
                Which::Images(images) => {
                    let image = text(Some(*container), "image").unwrap_or_default();
                    images.iter().any(|wanted| *wanted == image || *wanted == repository(&image))
                }
            }
    });
    meant.map(|(_, (index, name, _))| (index, name)).collect()
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
