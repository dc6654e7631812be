//! Applies one item of `containerPatches`, a block: the items and members that it adds to the containers it selects.

use std::sync::Arc;

use vestibule_patch::{List, Pointer, Schema};

use super::{ALL_CONTAINER_LISTS, Failure, Merge, insertions, list_index};
use crate::rule::{Block, BlockList, Item};

impl<'r> Merge<'_, 'r, '_, '_> {
    pub(super) fn block(&mut self, number: usize, block: &'r Block) -> Result<(), Failure> {
        let container = self.draft.shape.container;
        let lists: Vec<_> = block.lists.iter().map(|entry| (entry, container.field(entry.member))).collect();
        for (pointer, name) in self.selected_by_index(&block.select) {
            for (entry, schema) in &lists {
                self.block_list(&pointer.child(entry.member), &name, number, entry, *schema)?;
            }
            self.parts(&pointer, &name, number, container, &block.parts)?;
        }
        Ok(())
    }

    /// Adds the items of `entry` to `list`, a list of the container `name`.
    fn block_list(
        &mut self,
        list: &Pointer,
        name: &Arc<str>,
        number: usize,
        entry: &'r BlockList,
        schema: Schema<'_>,
    ) -> Result<(), Failure> {
        let items = self.not_overridden(&entry.items, number, || format!("{name}/{}", entry.member));
        let mut sorted = self.sort(list, entry.member, schema, items)?;
        self.draft.known.note(sorted.present, Some(name), false);
        if entry.member == "ports" {
            sorted.new = self.free_ports(sorted.new, name, sorted.length)?;
        }
        if sorted.new.is_empty() {
            return Ok(());
        }
        let insertions = match entry.member {
            "env" => insertions::variables(self.draft.by_keys(list), || self.existing(list), sorted.new),
            // If two sources set one variable, the later one counts, and that must be the user's.
            "envFrom" => insertions::at(0, sorted.new),
            _ => insertions::at(sorted.length, sorted.new),
        };
        self.draft.known.note(insertions.iter().map(|(_, item)| *item), Some(name), true);
        self.insert(list, sorted.length, insertions)?;
        // The status looks up each item again.
        if entry.items.len() >= list_index::FEW && !matches!(schema.list(), List::Map(_)) {
            self.index(list, entry.member, schema, entry.items.iter().map(|item| &item.overlay));
        }
        Ok(())
    }

    /// The `ports` that no other container has. They will be inserted into a list of `length` ports of the container `name`.
    fn free_ports(
        &mut self,
        ports: Vec<&'r Item>,
        name: &str,
        length: usize,
    ) -> Result<Vec<&'r Item>, Failure> {
        let mut free = Vec::new();
        for port in ports {
            let overlay = std::slice::from_ref(&port.overlay);
            if !self.yields_to_ports(port, overlay, name, length + free.len(), &ALL_CONTAINER_LISTS)? {
                free.push(port);
            }
        }
        Ok(free)
    }
}
